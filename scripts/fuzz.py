"""Coverage-guided fuzzing of everything that reads hostile bytes.

Each target of `tests/promises/fuzz_targets.py` runs in a process of its own. Inputs that reach new
code are added to a copy of the corpus; a fault ends the target and leaves its input beside it.
`--keep N` adds the N smallest new inputs of each target to the corpus of the repository.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "promises" / "corpus"
PACKAGES = {
    "segapsith": ROOT,
    "segapsith_plugins": ROOT / "plugins",
    "segapsith_store": ROOT / "store",
}
"""Packages whose code guides the search, and the folder of each."""
LONGEST = 4096
"""Bytes of an input at most."""


def fuzz(name: str, runs: int, corpus: Path) -> None:
    """Run one target in this process; atheris ends the process."""
    import atheris

    sys.path.insert(0, str(ROOT / "tests" / "promises"))
    with atheris.instrument_imports(include=list(PACKAGES), exclude=modules_with_kernels()):
        for module in modules():
            if not module.endswith("__main__"):
                with contextlib.suppress(ImportError):  # of an extra that is not installed
                    importlib.import_module(module)
        import fuzz_targets

        target = fuzz_targets.targets()[name]

        def one(data: bytes) -> None:
            fuzz_targets.survives(target, data)

        # Kernels are compiled before the clock of an input runs.
        for path in sorted(corpus.iterdir()):
            one(path.read_bytes())

    faults = corpus.parent / f"fault-{name}-"
    atheris.Setup(
        [
            sys.argv[0],
            f"-runs={runs}",
            f"-max_len={LONGEST}",
            "-timeout=20",
            "-print_final_stats=1",
            f"-artifact_prefix={faults}",
            str(corpus),
        ],
        one,
    )
    atheris.Fuzz()


def modules() -> dict[str, Path]:
    """Return the files of all modules by name.

    All are imported before the first input: what is imported later would not be instrumented.
    """
    files = {}
    for package, folder in PACKAGES.items():
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            files[".".join(parts).removesuffix(".__init__")] = path
    return files


def modules_with_kernels() -> list[str]:
    """Return modules that are compiled from the bytecode of their functions, which must stay as it is."""
    return [
        name for name, path in modules().items() if "@kernel" in path.read_text(encoding="utf-8")
    ]


def keep_smallest(name: str, corpus: Path, number: int) -> int:
    """Copy the smallest new inputs to the corpus of the repository; return how many."""
    known = {hashlib.sha1(path.read_bytes()).hexdigest() for path in (CORPUS / name).glob("*")}
    new = sorted(
        (path for path in corpus.iterdir() if path.name not in known),
        key=lambda path: (path.stat().st_size, path.name),
    )
    for path in new[:number]:
        shutil.copy(path, CORPUS / name / path.name)
    return len(new[:number])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all if none is given")
    parser.add_argument("--runs", type=int, default=20_000, help="inputs per target")
    parser.add_argument("--keep", type=int, default=0, help="new inputs to add to the corpus")
    parser.add_argument("--folder", type=Path, help="where inputs and faults are written")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="fuzz-"))
    if args.one:
        fuzz(args.one, args.runs, folder / args.one)
        return 0
    names = args.targets or sorted(path.name for path in CORPUS.iterdir())
    faults = 0
    for name in names:
        corpus = folder / name
        corpus.mkdir(parents=True, exist_ok=True)
        for path in (CORPUS / name).glob("*"):
            shutil.copy(path, corpus / path.name)
        began = time.monotonic()
        command = [sys.executable, __file__, "--one", name, "--runs", str(args.runs)]
        ended = subprocess.run(
            [*command, "--folder", str(folder)], check=False, capture_output=True, text=True
        )
        seconds = time.monotonic() - began
        added = keep_smallest(name, corpus, args.keep) if args.keep else 0
        verdict = "ok" if ended.returncode == 0 else f"FAULT, exit code {ended.returncode}"
        print(f"{name}: {args.runs} runs in {seconds:.0f} s, {added} inputs added, {verdict}")
        if ended.returncode:
            faults += 1
            print(ended.stderr[-3000:], file=sys.stderr)
    print(f"inputs and faults are in {folder}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Plugins that other people packaged: installed from wheels beside a wheel of this program.

Everything runs in a fresh environment without the network. Its libraries are those of the
environment that runs the tests; the program and the plugins are what the wheels hold.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from segapsith import hookimpl
from segapsith.api.wire import Wire
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve
from segapsith.testing import CHECKS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
THIRD_PARTY = Path(__file__).parents[1] / "third_party"

SUBJECTS = {
    "flood": "river water bridge rain storm dam flood bank",
    "vote": "minister party ballot candidate election vote parliament law",
    "match": "team goal player coach stadium referee season league",
}


def body(subject: str, number: int) -> str:
    """Two paragraphs on one subject, each text with some of its words and some of its own."""
    words = SUBJECTS[subject].split()
    some = [words[(number + step) % len(words)] for step in range(5)]
    own = [f"{subject}{letter * (number + 2)}" for letter in "xyz"]
    first = " ".join(f"The {word} came again." for word in [*some, *own] * 2)
    second = " ".join(f"They saw {word} there." for word in [*own, *some] * 2)
    return f"{first}\n\n{second}"


DOCUMENTS = [(f"{s}-{n}", s.title(), body(s, n)) for s in SUBJECTS for n in range(5)]


class Machine:
    """An environment of its own, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        self.program = folder / "env" / "bin" / "segapsith"

    def run(self, *arguments: object, code: int = 0, path: Path | None = None) -> Any:
        """A command: its JSON if it was asked for, else what it said."""
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("SEGAPSITH", "PYTHON"))
        }
        environment["NUMBA_DISABLE_JIT"] = "1"  # compiling afresh would take longer than the work
        if path is not None:
            environment["PYTHONPATH"] = str(path)
        done = subprocess.run(
            [str(self.program), *map(str, arguments)],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        if "--json" in arguments and code == 0:
            return json.loads(done.stdout), done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    pytest.importorskip("hatchling", reason="hatchling builds the wheels: pip install hatchling")
    if os.name == "nt":
        pytest.skip("the paths of the fresh environment are those of Unix")
    folder = tmp_path_factory.mktemp("machine")
    wheels = folder / "wheels"
    for project in (ROOT, THIRD_PARTY / "segapsith_thirdparty"):
        quietly([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels], project)
    environment = folder / "env"
    quietly([sys.executable, "-m", "venv", "--without-pip", environment], folder)
    machine = Machine(folder)
    site = quietly(
        [machine.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder
    )
    # a plain line adds the libraries behind the wheels; links to checkouts there are not followed
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(site.strip(), "libraries.pth").write_text("\n".join(sorted(libraries)) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", machine.python, "--disable-pip-version-check"]
    built = sorted(wheels.glob("*.whl"))
    quietly([*pip, "install", "--no-index", "--no-deps", "--no-compile", *built], folder)
    lines = [json.dumps({"id": u, "title": t, "text": b, "lang": "en"}) for u, t, b in DOCUMENTS]
    (folder / "wire.jsonl").write_text("\n".join(lines) + "\n")
    telegrams = [f"{n} {t}\n{b}\n" for n, (_, t, b) in enumerate(DOCUMENTS)]
    (folder / "telegrams.txt").write_text("++++\n".join(telegrams))
    return machine


def quietly(command: list[Any], folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_comes_from_its_wheel(machine: Machine) -> None:
    found = quietly(
        [machine.python, "-c", "import segapsith; print(segapsith.__file__)"], machine.folder
    )
    assert Path(found.strip()).is_relative_to(machine.folder / "env")


def test_plugins_are_listed_with_their_package_and_licence(machine: Machine) -> None:
    rows, _ = machine.run("plugins", "--json")
    theirs = {(r["kind"], r["name"]) for r in rows if r["package"] == "segapsith-thirdparty"}
    assert theirs == {
        ("source", "telegrams"),
        ("segmenter", "halves"),
        ("similarity", "overlap-coefficient"),
        ("clusterer", "round-robin"),
    }
    (telegrams,) = [r for r in rows if r["name"] == "telegrams"]
    assert (telegrams["version"], telegrams["licence"], telegrams["error"]) == ("2.5", "MIT", None)
    rows, _ = machine.run("plugins", "--json", "--no-plugins")
    assert {r["package"] for r in rows} == {"segapsith"}


def test_a_source_reads_what_no_built_in_understands(machine: Machine) -> None:
    wire = machine.folder / "telegrams.txt"
    theirs, _ = machine.run("ingest", wire, "--format", "telegrams", "--store", "a.db", "--json")
    assert theirs["new"] == len(DOCUMENTS)
    guessed, _ = machine.run("ingest", wire, "--store", "b.db", "--json")
    assert guessed["new"] == len(DOCUMENTS)
    ours, _ = machine.run("ingest", wire, "--no-plugins", "--store", "c.db", "--json")
    assert ours["new"] == 1
    said = machine.run("ingest", wire, "--no-plugins", "--format", "telegrams", code=78)
    assert "no source is called 'telegrams'" in said


def test_a_segmenter_a_measure_and_a_clusterer_change_the_result(machine: Machine) -> None:
    wire = machine.folder / "wire.jsonl"

    def learned(store: str, *options: str) -> Any:
        return machine.run("ingest", wire, "--store", store, "--json", *options)[0]

    plain = learned("plain.db")
    halves = learned("halves.db", "--segmenter", "halves")
    assert halves["units"] == 2 * len(DOCUMENTS) != plain["units"]
    lenient = learned("lenient.db", "--placement", "overlap-coefficient", "--set", "threshold=0.4")
    strict = ("--placement", "overlap-coefficient", "--set", "threshold=0.4", "--set", "power=9.0")
    sharp = learned("sharp.db", *strict)
    assert lenient["domains_new"] < sharp["domains_new"]
    stores = ("plain.db", "halves.db", "lenient.db", "sharp.db")
    digests = {machine.run("status", "--store", s, "--json")[0]["digest"] for s in stores}
    assert len(digests) == len(stores)

    def kappa(clusterer: str) -> float:
        options = ("--clusterer", clusterer, "--min-units", "2", "--store", "plain.db", "--json")
        return float(machine.run("validate", *options)[0]["kappa"]["greedy"])

    assert kappa("round-robin") < kappa("ahc")


def test_check_runs_on_an_installed_plugin(machine: Machine) -> None:
    said = machine.run("plugins", "check", "telegrams")
    assert "source 'telegrams' of segapsith-thirdparty 2.5" in said
    assert "6 of 6 checks passed" in said


def offer(folder: Path, package: str, module: str, code: str) -> None:
    """An installed package, as the interpreter sees one: a module and what says so."""
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[segapsith]\n{module} = {module}\n")


MEASURE = """
from segapsith import hookimpl
from segapsith_thirdparty.overlap_coefficient import OverlapCoefficient
@hookimpl
def register_similarit{ending}():
    return {{"{name}": OverlapCoefficient}}
"""


@pytest.fixture(scope="module")
def broken(machine: Machine) -> Path:
    """Packages that each do something wrong, installed beside the good ones."""
    folder = machine.folder / "broken"
    folder.mkdir()
    offer(folder, "acme-absent", "absent", "import no_such_library\n")
    offer(folder, "acme-exit", "leaving", "raise SystemExit(3)\n")
    offer(folder, "acme-taken", "taken", MEASURE.format(ending="ies", name="cosine"))
    offer(folder, "acme-twin", "twin", MEASURE.format(ending="ies", name="overlap-coefficient"))
    offer(folder, "acme-misspelt", "misspelt", MEASURE.format(ending="ys", name="lost"))
    offer(
        folder,
        "acme-none",
        "nothing",
        MEASURE.format(ending="ies", name="x").replace("return", "1;"),
    )
    return folder


def test_broken_plugins_are_named_and_the_program_goes_on(machine: Machine, broken: Path) -> None:
    rows, _ = machine.run("plugins", "--json", path=broken)
    errors = {r["package"]: r["error"] for r in rows if r["error"]}
    assert "No module named 'no_such_library'" in errors["acme-absent"]
    assert "SystemExit" in errors["acme-exit"]
    assert "'cosine' is taken by package segapsith" in errors["acme-taken"]
    # of two third parties the first by package name is used, and the other one is told
    assert "'overlap-coefficient' is taken by package acme-twin" in errors["segapsith-thirdparty"]
    assert "register_similaritys" in errors["acme-misspelt"]
    assert "did you mean 'register_similarities'?" in errors["acme-misspelt"]
    (cosine,) = [r for r in rows if r["name"] == "cosine"]
    assert cosine["package"] == "segapsith"
    run, said = machine.run("ingest", "wire.jsonl", "--store", "broken.db", "--json", path=broken)
    assert run["new"] == len(DOCUMENTS)
    for package in ("acme-absent", "acme-exit", "acme-taken", "acme-misspelt"):
        assert f"of package {package}" in said


def test_a_broken_plugin_that_is_asked_for_is_70(machine: Machine, broken: Path) -> None:
    said = machine.run("ingest", "wire.jsonl", "--placement", "absent", code=70, path=broken)
    assert "acme-absent" in said
    machine.run("plugins", "check", "absent", code=70, path=broken)


def test_strict_plugins_fails_and_no_plugins_works(machine: Machine, broken: Path) -> None:
    said = machine.run("plugins", "--strict-plugins", code=70, path=broken)
    assert "acme-absent" in said and "acme-misspelt" in said
    machine.run("ingest", "wire.jsonl", "--strict-plugins", "--store", "s.db", code=70, path=broken)
    assert not (machine.folder / "s.db").exists()
    options = ("--no-plugins", "--strict-plugins", "--store", "n.db", "--json")
    run, said = machine.run("ingest", "wire.jsonl", *options, path=broken)
    assert run["new"] == len(DOCUMENTS) and "acme" not in said


def test_an_unknown_setting_is_named_with_its_package(machine: Machine) -> None:
    machine.run("ingest", "wire.jsonl", "--store", "set.db")
    options = ("--clusterer", "round-robin", "--min-units", "2", "--store", "set.db")
    said = machine.run("validate", *options, "--set", "kk=3", code=78)
    assert "'kk'" in said and "did you mean 'k'?" in said
    code = "import segapsith; segapsith.clusterer('round-robin', kk=3)"
    done = subprocess.run([machine.python, "-c", code], capture_output=True, text=True, check=False)
    wanted = "clusterer 'round-robin' (package segapsith-thirdparty): there is no setting 'kk'"
    assert wanted in done.stderr
    options = ("--placement", "overlap-coefficient", "--set", "power=-1.0")
    said = machine.run("ingest", "wire.jsonl", *options, "--store", "new.db", code=78)
    assert "package segapsith-thirdparty" in said and "power=-1.0 should be > 0" in said


# -- what a stranger writes who has read docs/plugins/ and nothing else ------------------


def stranger(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, THIRD_PARTY / "strangers" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("module", "kind", "name"),
    [
        ("rare_words", "similarity", "rare-words"),
        ("sentence_blocks", "segmenter", "sentence-blocks"),
    ],
)
def test_a_strangers_plugin_passes_and_works(
    module: str, kind: str, name: str, tmp_path: Path
) -> None:
    plugin = stranger(module)
    registry = load_plugins(plugin)
    assert not registry.problems
    for check in CHECKS[kind]:
        check(registry.offers[kind, name].factory)
    role = "placement" if kind == "similarity" else kind
    with Wire(tmp_path / "w.db", resolve({role: name}, environment={}), registry) as wire:
        documents = [{"id": u, "title": t, "text": b, "lang": "en"} for u, t, b in DOCUMENTS]
        assert wire.ingest(documents).units_kept
        assert wire.verify().sound


def test_built_in_plugins_that_read_no_text_are_loaded_when_they_are_asked_for() -> None:
    code = (
        "import sys; from segapsith.plugin.registry import load_plugins;"
        "registry = load_plugins(only_own=True); registry.names('segmenter');"
        "lazy = not any('clusterers' in name or name.startswith('scipy') for name in sys.modules);"
        "print(lazy, 'ahc' in registry.names('clusterer'), registry.find('exporter', 'none'),"
        "('similarity', 'lsa') in registry.offers)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["True", "True", "None", "True"]


def test_a_folder_of_plugins_that_wait_offers_one_kind() -> None:
    registry = load_plugins(only_own=True)
    for kind in list(registry._waiting):
        before = set(registry.loaded)
        registry.names(kind)
        assert {k for k, _ in set(registry.loaded) - before} == {kind}


def test_beside_a_plugin_of_others_all_are_loaded_so_that_no_name_is_taken() -> None:
    class Taking:
        @hookimpl
        def register_clusterers(self) -> dict[str, type]:
            return {"ahc": dict}

    registry = load_plugins(Taking(), only_own=True)
    assert not registry._waiting
    assert "taken by package segapsith" in registry.problems[0].reason

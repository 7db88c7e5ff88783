#!/usr/bin/env python
"""Where the processor time of a command goes, by stage of the pipeline.

    .venv/bin/python scripts/stages.py ingest stories.jsonl --store wire.db
    .venv/bin/python scripts/stages.py --functions 30 ingest stories.jsonl --store wire.db

The command runs in this process, and a timer of processor time looks at its stack 500 times a second.
The time since the last look belongs to the innermost function of this project, so a kernel counts for
the function that called it. `scripts/bench ingest --stages` uses this.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

INTERVAL = 0.002

STAGES = {
    "segapsith_plugins.sources": "reading bytes",
    "segapsith.io": "reading bytes",
    "segapsith.intake.fingerprints": "copies",
    "segapsith.intake.near_duplicates": "copies",
    "segapsith.intake.language": "language",
    "segapsith.intake.language_model": "language",
    "segapsith.intake": "reception",
    "segapsith.engine.arrivals": "reception",
    "segapsith_plugins.annotators": "annotation",
    "segapsith.languages": "annotation",
    "segapsith.tokens": "links, bags, terms",
    "segapsith.engine.reading": "links, bags, terms",
    "segapsith.engine.state": "links, bags, terms",
    "segapsith.lexicon.multiword_terms": "links, bags, terms",
    "segapsith.lexicon.term_acceptance": "links, bags, terms",
    "segapsith.lexicon.proper_names": "links, bags, terms",
    "segapsith.lexicon.vocabulary": "links, bags, terms",
    "segapsith_plugins.segmenters": "segmentation",
    "segapsith.engine.network_state": "word space",
    "segapsith.lexicon.word_vectors": "word space",
    "segapsith.lexicon.eigen": "word space",
    "segapsith.lexicon.cooccurrence": "word pairs",
    "segapsith.lexicon.network": "word pairs",
    "segapsith.domains": "placing",
    "segapsith.engine": "records",
    "segapsith_store": "saving",
}
"""The stage of each module, by the longest name that it begins with."""

PROJECT = ("segapsith", "segapsith_plugins", "segapsith_store")
LOADING = ("importlib._bootstrap", "numba.core.caching", "numba.core.compiler")
STARTING = "start: imports, kernels"


class Sampler:
    """Processor seconds by stage and by function."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()
        self._stage_of: dict[str, str] = {}
        self._last = time.process_time()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, _signal: int, frame: FrameType | None) -> None:
        now = time.process_time()
        spent, self._last = now - self._last, now
        own: FrameType | None = None
        starting = False
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith(LOADING):
                starting = True
            elif own is None and module.partition(".")[0] in PROJECT:
                own = frame
            frame = frame.f_back
        module = own.f_globals["__name__"] if own else "other"
        name = f"{module}.{own.f_code.co_qualname}" if own else "other"
        self.stages[STARTING if starting else self._stage(module)] += spent
        self.functions[f"{name} (loading)" if starting else name] += spent

    def _stage(self, module: str) -> str:
        stage = self._stage_of.get(module)
        if stage is None:
            fitting = [name for name in STAGES if f"{module}.".startswith(f"{name}.")]
            stage = STAGES[max(fitting, key=len)] if fitting else "other"
            self._stage_of[module] = stage
        return stage


def shown(title: str, spent: Counter[str], n: int | None = None) -> None:
    total = sum(spent.values())
    print(f"{title}: {total:.2f} s of processor time")
    for name, seconds in spent.most_common(n):
        print(f"  {seconds:7.2f} s  {100 * seconds / max(total, 1e-9):5.1f} %  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", type=int, default=0, help="also the N slowest functions")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command and its options")
    chosen = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.argv = ["segapsith", *chosen.command]
    sampler = Sampler()
    sampler.start()
    code: object = 0
    try:
        from segapsith.cli import main as command_line

        command_line()
    except SystemExit as ended:
        code = ended.code
    finally:
        sampler.stop()
    shown("by stage", sampler.stages)
    if chosen.functions:
        shown("by function", sampler.functions, chosen.functions)
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    sys.exit(main())

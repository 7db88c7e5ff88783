#!/usr/bin/env python
"""Several workers against one process, and what an archive of any size would cost.

The first part asks the same questions of one store with one process and with workers: the answers
must be equal. It prints wall time, processor time and the ratio. The store is made from `tdt2`.

    scripts/bench scale                               order, validate, overhead of a task
    scripts/bench scale --workers processes:2         with another executor (default: dask:2)
    scripts/bench scale --units 2000 --shuffles 4     a small run
    scripts/bench scale --store wire.db               validate a copy of this store only

The second part computes a curve from measured stage times (seconds of processor per story): what
one writer and n workers need for 10^5 to 10^9 stories.

    scripts/bench scale --simulate                    with the stage times of docs/concepts/scale.md
    scripts/bench scale --simulate --read 0.002 --place 0.0004 --save 0.0002

Two whole commands follow, each in a process of its own with one numeric thread: `validate order` and
`reproduce gvsm-6 --quick`. The bar is 1.6 times with two workers on two free cores. Beside the wall
time there is processor time: of tasks and of the rest in one process, of the parent and of its
workers. So `Amdahl` is the most that two workers can give, and `expected` what two free cores would
give with the overheads that were measured, also on a busy machine.

    scripts/bench scale --commands                    only these two
    scripts/bench scale --commands --shuffles 4       a small run

The exit code is 1 if answers differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(
    os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)


@dataclass(frozen=True, slots=True)
class Stages:
    """Seconds of processor time per story, and bytes per story in the store."""

    read: float
    """Parse, normalise, annotate, segment: any number of workers can do it."""
    place: float
    """Receive, place, count: one process, in the order of arrival."""
    save: float
    """The transaction: one process."""
    bytes: float

    def wall(self, n_stories: float, n_workers: int) -> float:
        """Return the seconds for stories with workers that read ahead of one writer.

        Reading and writing overlap, so the slower of both decides (Amdahl with a pipeline).
        """
        writer = (self.place + self.save) * n_stories
        return (
            max(writer, self.read * n_stories / n_workers)
            if n_workers > 1
            else (writer + self.read * n_stories)
        )

    def most_useful_workers(self) -> int:
        """Return the number of workers above which the writer is the limit."""
        return max(1, math.ceil(self.read / (self.place + self.save)))


MEASURED = Stages(read=0.000315, place=0.000722, save=0.000183, bytes=4500)
"""4,000 stories of Reuters-21578, `scripts/bench ingest --stages`; see docs/concepts/scale.md."""


def simulate(stages: Stages, workers: list[int]) -> Iterator[str]:
    """Yield the lines of the curve."""
    writer = stages.place + stages.save
    yield (
        f"per story: {1e6 * stages.read:.0f} us reading (workers), {1e6 * writer:.0f} us writing"
        f" (one process), {stages.bytes:.0f} bytes"
    )
    yield f"useful workers beside the writer of one store: {stages.most_useful_workers()}"
    head = "".join(f"{'one process' if n == 1 else f'{n} workers':>14}" for n in workers)
    yield f"{'stories':>14}{'processor':>14}{head}{'store':>12}"
    for exponent in range(5, 10):
        n_stories = 10.0**exponent
        cells = "".join(f"{duration(stages.wall(n_stories, n)):>14}" for n in workers)
        processor = duration((stages.read + writer) * n_stories)
        yield f"{n_stories:14,.0f}{processor:>14}{cells}{size(stages.bytes * n_stories):>12}"


def duration(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def size(n_bytes: float) -> str:
    """Return a size in GB or TB."""
    return f"{n_bytes / 1e12:.1f} TB" if n_bytes >= 1e12 else f"{n_bytes / 1e9:.1f} GB"


# -- one process against workers ---------------------------------------------------------------


def processor_seconds() -> float:
    """Return the processor time of this process and of the workers that have ended."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def asked(path: Path, workers: str, question: Callable[[Any], Any]) -> tuple[str, float, float]:
    """Return the answer, the wall time and the processor time."""
    import segapsith

    began, before = time.perf_counter(), processor_seconds()
    with segapsith.open(path, workers=workers) as wire:
        answer = question(wire).as_json()
    answer.pop("run", None)
    return (
        json.dumps(answer, sort_keys=True),
        time.perf_counter() - began,
        processor_seconds() - before,
    )


def compare(
    name: str, store: Path, workers: str, question: Callable[[Any], Any], folder: Path
) -> bool:
    """Ask one process and workers, print both, and return whether the answers are equal."""
    results = []
    for number, choice in enumerate(("1", workers)):
        copy = folder / f"{number}.db"
        shutil.copy(store, copy)
        results.append(asked(copy, choice, question))
    (here, wall, processor), (there, wall_there, processor_there) = results
    print(
        f"{name:22} {wall:8.1f} s {processor:8.1f} s | {wall_there:8.1f} s"
        f" {processor_there:8.1f} s | {wall / wall_there:5.2f} times"
        f" {'equal' if here == there else 'DIFFERENT'}",
        flush=True,
    )
    return here == there


def overhead(workers: str) -> float:
    """Return the seconds per task that does nothing."""
    from segapsith.parallel.choice import parse_workers
    from segapsith.parallel.packing import Frozen
    from segapsith.plugin.registry import load_plugins

    name, rest = parse_workers(workers)
    executor = load_plugins(only_own=True).make("executor", name, {"workers": rest} if rest else {})
    try:
        shared = {"offset": Frozen(0)}
        list(executor.map("check", range(20), shared))
        began = time.perf_counter()
        n_tasks = sum(1 for _ in executor.map("check", range(500), shared))
        return (time.perf_counter() - began) / n_tasks
    finally:
        executor.close()


# -- whole commands ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A command that has ended: what it printed and what it cost, in seconds."""

    out: str
    wall: float
    own: float
    """Processor time of the process."""
    workers: float
    """Processor time of the processes that it started."""
    tasks: float
    """Processor time of tasks in the process itself."""


def measure_command(note: Path, arguments: list[str]) -> int:
    """Run a command here, with tasks timed, and write its cost to a file."""
    from segapsith.cli.app import run
    from segapsith.parallel import serial
    from segapsith.parallel.tasks import Task

    spent, found = [0.0], serial.find_task

    def timed(name: str) -> Task:
        function = found(name)

        def task(item: Any, shared: Any) -> Any:
            before = time.process_time()
            try:
                return function(item, shared)
            finally:
                spent[0] += time.process_time() - before

        return task

    serial.find_task = timed  # type: ignore[assignment]
    code = run(arguments)
    times = os.times()
    cost = (times.user + times.system, times.children_user + times.children_system, spent[0])
    note.write_text(json.dumps(cost))
    return code


def measured(folder: Path, arguments: list[str]) -> Measured:
    """Run a command in a process of its own, with one numeric thread."""
    note = folder / "cost.json"
    program = [sys.executable, __file__, "--measure", str(note), "--", *arguments]
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    began = time.perf_counter()
    done = subprocess.run(
        program, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, text=True, check=True
    )
    wall = time.perf_counter() - began
    return Measured(done.stdout, wall, *json.loads(note.read_text()))


def compare_command(name: str, arguments: list[str], workers: str, folder: Path) -> bool:
    """Run a command with one process and with workers; return whether both print the same."""
    one = measured(folder, [*arguments, "--workers", "1"])
    many = measured(folder, [*arguments, "--workers", workers])
    rest = one.own - one.tasks
    digits = "".join(filter(str.isdecimal, workers.partition(":")[2]))
    n_workers = int(digits) if digits and "//" not in workers else 2
    print(
        f"{name}: one process {one.wall:.1f} s (processor: tasks {one.tasks:.1f} s, rest {rest:.1f}"
        f" s); {workers} {many.wall:.1f} s (parent {many.own:.1f} s, workers {many.workers:.1f} s)"
    )
    print(
        f"{'':4}{one.wall / many.wall:.2f} times; Amdahl"
        f" {one.own / (rest + one.tasks / n_workers):.2f}, expected"
        f" {one.own / (many.own + many.workers / n_workers):.2f};"
        f" {'equal' if one.out == many.out else 'DIFFERENT'}",
        flush=True,
    )
    return one.out == many.out


def learned(folder: Path, n_units: int) -> Path:
    """Make a store of ready units."""
    import segapsith
    from segapsith.io.count_matrices import read_matrix

    matrix = read_matrix(DATA / "tdt2" / "matrix.npz")[:n_units]
    path = folder / "wire.db"
    with segapsith.open(path) as wire:
        wire.learn(
            {
                "id": f"u{row}",
                "words": {
                    f"w{matrix.indices[i]}": int(matrix.data[i])
                    for i in range(matrix.indptr[row], matrix.indptr[row + 1])
                },
            }
            for row in range(matrix.shape[0])
        )
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", default="dask:2")
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--shuffles", type=int, default=20)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--commands", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    for name in ("read", "place", "save", "bytes"):
        parser.add_argument(f"--{name}", type=float, default=getattr(MEASURED, name))
    options = parser.parse_args()
    if options.measure is not None:
        return measure_command(options.measure, options.arguments)
    if options.simulate:
        stages = Stages(options.read, options.place, options.save, options.bytes)
        print("\n".join(simulate(stages, [1, 2, 4, 16])))
        return 0
    print(f"overhead of a task with {options.workers}: {1e3 * overhead(options.workers):.2f} ms")
    print(f"{'':22} {'one process':>21} | {options.workers:>21} |")
    print(f"{'':22} {'wall':>10} {'processor':>10} | {'wall':>10} {'processor':>10} |")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        store = options.store or learned(folder, options.units)
        questions: dict[str, Callable[[Any], Any]] = {
            "validate": lambda wire: wire.validation.run()
        }
        if options.store is None:
            n_orders = options.shuffles
            questions["order"] = lambda wire: wire.validation.order(shuffles=n_orders)
            questions["curve"] = lambda wire: wire.validation.curve()
        if options.commands:
            questions = {}
        equal = [
            compare(name, store, options.workers, question, folder)
            for name, question in questions.items()
        ]
        if options.store is None:
            shuffles = ["--shuffles", str(options.shuffles)]
            order = ["validate", "order", *shuffles, "--store", str(store), "--json"]
            table = ["reproduce", "gvsm-6", "--quick", "--data", str(DATA), "--json"]
            for arguments in (order, table):
                name = " ".join(arguments[:2])
                equal.append(compare_command(name, arguments, options.workers, folder))
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())

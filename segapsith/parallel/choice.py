"""Which executor the setting `workers` selects.

>>> parse_workers("4"), parse_workers("dask:tcp://host:8786"), parse_workers("1")
(('processes', '4'), ('dask', 'tcp://host:8786'), ('serial', ''))
"""

from __future__ import annotations

import os

__all__ = ["MAX_DEATHS", "WHY_GIVEN_UP", "available_processors", "look_ahead", "parse_workers"]

MAX_DEATHS = 3
"""Number of workers that one task may end before it is given up."""

WHY_GIVEN_UP = (
    "too little memory, or a fault in native code of a plugin; what was committed is safe. Run the"
    " same command with fewer workers to continue"
)
"""What a task that ended its workers may suffer from, and what to do."""

AHEAD = 4
"""Items per worker that are read before the first of them is done."""


def parse_workers(text: str) -> tuple[str, str]:
    """Return the name of an executor and what follows its colon.

    A number is that of processes, `auto` the number of processors.
    """
    given = text.strip()
    if given == "auto":
        given = str(available_processors())
    if given.isdecimal():
        return ("serial", "") if int(given) == 1 else ("processes", given)
    name, _, rest = given.partition(":")
    return name, rest


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def look_ahead(n_workers: int) -> int:
    """Return the number of items that may be read before the first of them is done."""
    return AHEAD * n_workers

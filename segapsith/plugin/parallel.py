"""Annotating in several processes; the result is the same for any number of them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.contracts import Annotator
from segapsith.plugin.registry import load_plugins

__all__ = ["ParallelAnnotator"]

SHARE = 25
"""Documents that a worker is given at a time."""

_annotator: Annotator | None = None  # one in each worker


class ParallelAnnotator:
    """An annotator by name, at work in `workers` processes; annotations come in order.

    A worker makes its own annotator, so only documents and annotations travel.
    """

    def __init__(
        self, name: str, settings: Mapping[str, Any], workers: int, only_own: bool = False
    ) -> None:
        self._pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(name, dict(settings), only_own),
        )

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        waiting = list(documents)
        parts = [waiting[i : i + SHARE] for i in range(0, len(waiting), SHARE)]
        for done in self._pool.map(_annotate, parts, [lexicon] * len(parts)):
            yield from done

    def close(self) -> None:
        """Ends the workers."""
        self._pool.shutdown(cancel_futures=True)


def _begin(name: str, settings: Mapping[str, Any], only_own: bool) -> None:
    global _annotator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    # the process is our own, so its alarm signal is free
    _annotator = load_plugins(only_own=only_own, time_limits=True).make("annotator", name, settings)


def _annotate(documents: list[Document], lexicon: Lexicon) -> list[Annotation]:
    assert _annotator is not None
    return list(_annotator.annotate(documents, lexicon))

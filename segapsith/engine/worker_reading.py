"""Reading texts in workers: the second stage of ingest, as a task.

A worker gets names and settings, and makes the annotator and the segmenter itself. What the clock froze
travels in parts, because most of them do not change at each tick.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.engine.components import Cutter
from segapsith.engine.reading import Readings, ReadUnit, content_places, read
from segapsith.model import Document, Lexicon, Network
from segapsith.parallel.packing import Frozen
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor
from segapsith.plugin.guards import GuardedAnnotator
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.settings import PluginValue

__all__ = [
    "ReadingPlugins",
    "WorkerReader",
    "annotator_of",
    "lemmas_of_part",
    "read_part",
    "registry_of",
]

PART = 64
"""Documents of one item."""


@dataclass(frozen=True, slots=True)
class ReadingPlugins:
    """What a worker makes its annotator and its segmenter from."""

    annotator: str
    annotator_settings: Mapping[str, PluginValue]
    segmenter: str
    segmenter_settings: Mapping[str, PluginValue]
    only_own: bool = False
    """Whether plugins of other packages are left out."""


class WorkerReader:
    """Reads documents in the workers of an executor; readings come in order."""

    def __init__(self, executor: Executor, plugins: ReadingPlugins) -> None:
        self._executor = executor
        self._plugins = Frozen(plugins)
        self._frozen: dict[str, tuple[object, Frozen]] = {}

    def read(
        self, documents: Sequence[Document], lexicon: Lexicon, networks: Mapping[str, Network]
    ) -> Iterator[Readings]:
        """Yield the readings of documents, whose language is set."""
        shared = {
            "plugins": self._plugins,
            "lexicon": self._once("lexicon", lexicon, lexicon),
            **self._network(networks),
        }
        for results in self._executor.map("read", _parts(documents), shared):
            yield from map(_unpacked, results)

    def lemmas(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[list[str]]:
        """Yield the content words of each document, without units."""
        shared = {
            "plugins": self._plugins,
            "lexicon": self._once("lexicon", lexicon, lexicon),
        }
        for lemmas in self._executor.map("annotate", _parts(documents), shared):
            yield from lemmas

    def _network(self, networks: Mapping[str, Network]) -> dict[str, Frozen]:
        """Return the parts of the networks; all languages have the same arrays."""
        if not networks:
            return {}
        first = next(iter(networks.values()))
        n_words = len(first.significance)
        links = (first.starts, first.neighbours, first.weights)
        parts = {
            "links": self._once("links", first.neighbours, links),
            "vectors": self._once("vectors", first.vectors, first.vectors),
            "significance": self._once("significance", first.significance, first.significance),
            "words": self._once("words", first.significance, first.words[:n_words]),
        }
        for lang, network in sorted(networks.items()):
            rows = self._frozen.get(f"rows {lang}")
            if rows is None or rows[0] is not first.significance:
                # words that are newer than the network are unknown to it
                known = np.fromiter(network.rows.values(), np.int64, len(network.rows))
                rows = (first.significance, Frozen(known[known < n_words]))
                self._frozen[f"rows {lang}"] = rows
            parts[f"rows {lang}"] = rows[1]
            parts[f"values {lang}"] = Frozen((network.epoch, network.mean_cohesion))
        return parts

    def _once(self, name: str, owner: object, value: Any) -> Frozen:
        """Return a value to share; the same one as long as its owner is the same object."""
        held = self._frozen.get(name)
        if held is None or held[0] is not owner:
            held = self._frozen[name] = (owner, Frozen(value))
        return held[1]


def _parts(documents: Iterable[Document]) -> Iterator[list[Document]]:
    rest = iter(documents)
    while part := list(islice(rest, PART)):
        yield part


class PackedReadings(NamedTuple):
    """Readings as they travel: some 400 bytes for a story of 130 words."""

    vocabulary: list[str]
    words: NDArray[np.uint16] | NDArray[np.int32]
    """As two bytes each if the vocabulary is small."""
    joins: NDArray[np.uint8]
    ends: NDArray[np.int32]
    n_units: NDArray[np.int32]
    """The number of units of each text."""
    places: NDArray[np.int32]
    """Start, end, first word, last word and whether it is kept, of each unit."""
    cohesion: NDArray[np.float64]
    inferred: dict[int, Mapping[str, float]]
    """The inferred words of units that have some, by the place of the unit."""


def _packed(readings: Readings) -> PackedReadings:
    units = [unit for of_text in readings.units for unit in of_text]
    places = [(u.start, u.end, u.first_word, u.last_word, u.kept) for u in units]
    words: NDArray[np.uint16] | NDArray[np.int32] = readings.words
    if len(readings.vocabulary) <= 1 << 16:
        words = readings.words.astype(np.uint16)
    return PackedReadings(
        readings.vocabulary,
        words,
        readings.joins,
        np.array(readings.ends, np.int32),
        np.array([len(of_text) for of_text in readings.units], np.int32),
        np.array(places, np.int32).reshape(-1, 5),
        np.array([unit.cohesion for unit in units]),
        {place: unit.inferred for place, unit in enumerate(units) if unit.inferred},
    )


def _unpacked(packed: PackedReadings) -> Readings:
    units = [
        ReadUnit(start, end, first, last, cohesion, bool(is_kept), packed.inferred.get(place, {}))
        for place, ((start, end, first, last, is_kept), cohesion) in enumerate(
            zip(packed.places.tolist(), packed.cohesion.tolist(), strict=True)
        )
    ]
    rest = iter(units)
    return Readings(
        packed.vocabulary,
        packed.words.astype(np.int32),
        packed.joins,
        packed.ends.tolist(),
        [list(islice(rest, n)) for n in packed.n_units.tolist()],
    )


def read_part(documents: list[Document], shared: Shared) -> list[PackedReadings]:
    """Read some documents: the task `read`."""
    readings = read(
        documents,
        annotator=annotator_of(shared),
        segmenter=_segmenter(shared),
        lexicon=shared["lexicon"],
        networks={
            document.lang or "": _network_of(document.lang or "", shared) for document in documents
        },
    )
    return list(map(_packed, readings))


def lemmas_of_part(documents: list[Document], shared: Shared) -> list[list[str]]:
    """Return the content words of some documents: the task `annotate`."""
    annotator = annotator_of(shared)
    return [
        [annotation.lemmas[i] for i in content_places(annotation)]
        for annotation in annotator.annotate(documents, shared["lexicon"])
    ]


def registry_of(shared: Shared) -> Registry:
    """Return the plugins of this worker, loaded once."""

    def load() -> Registry:
        # only the main thread of a process has an alarm signal
        limits = threading.current_thread() is threading.main_thread()
        return load_plugins(only_own=shared["plugins"].only_own, time_limits=limits)

    return shared.once("registry", load, of="plugins")


def annotator_of(shared: Shared) -> GuardedAnnotator:
    """Return the annotator of this worker, made once."""

    def make() -> GuardedAnnotator:
        plugins: ReadingPlugins = shared["plugins"]
        return registry_of(shared).make("annotator", plugins.annotator, plugins.annotator_settings)

    return shared.once("annotator", make, of="plugins")


def _segmenter(shared: Shared) -> Cutter:
    def make() -> Cutter:
        plugins: ReadingPlugins = shared["plugins"]
        return registry_of(shared).make("segmenter", plugins.segmenter, plugins.segmenter_settings)

    return shared.once("segmenter", make, of="plugins")


def _network_of(lang: str, shared: Shared) -> Network:
    words = shared["words"]

    def rows() -> dict[str, int]:
        return {words[number]: number for number in shared[f"rows {lang}"].tolist()}

    def make() -> Network:
        starts, neighbours, weights = shared["links"]
        epoch, mean_cohesion = shared[f"values {lang}"]
        return Network(
            epoch,
            rows=shared.once("rows", rows, of=f"rows {lang}"),  # they change with the words
            words=words,
            starts=starts,
            neighbours=neighbours,
            weights=weights,
            significance=shared["significance"],
            vectors=shared["vectors"],
            mean_cohesion=mean_cohesion,
        )

    return shared.once(f"network {lang}", make)

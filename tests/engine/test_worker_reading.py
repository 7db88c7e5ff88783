"""Workers read texts as this process does, with what the clock froze."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.reading import Readings, ReadUnit
from segapsith.engine.worker_reading import PART, WorkerReader, _packed, _unpacked
from segapsith.errors import ConfigurationError
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith.parallel.packing import Frozen, pack, unpack
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve


def test_texts_read_from_bytes_give_the_same_store(
    packed: Any, open_wire: Callable[..., Wire]
) -> None:
    stories = sample.lines("en")[:60] + sample.lines("fr")[:20]
    digests = []
    for name, workers in (("here", 1), ("there", 2)):
        wire = open_wire(f"{name}.db", workers=workers)
        wire.network.build(sample.lines("fr")[20:50])
        wire.ingest(stories)
        digests.append(wire.status()["digest"])
    assert digests[0] == digests[1]
    assert packed.n_items >= len(stories) // PART
    assert packed.n_sent["plugins"] == 1  # frozen values travel once
    assert max(packed.n_sent.values()) <= packed.n_items


def test_readings_travel_in_few_bytes_and_come_back_equal() -> None:
    units = [
        [ReadUnit(0, 40, 0, 3, 0.25, True, {}), ReadUnit(40, 90, 3, 5, 1.0, False, {"gold": 0.5})],
        [],
    ]
    words, joins = np.array([0, 1, 0, 2, 1], np.int32), np.array([1, 0, 0, 2, 0], np.uint8)
    readings = Readings(["oil", "price", "state\nowned"], words, joins, [5, 5], units)
    again = _unpacked(unpack(pack(_packed(readings))))
    assert again.words.dtype == words.dtype and again.words.tolist() == words.tolist()
    assert again.joins.tolist() == joins.tolist()
    assert (again.vocabulary, again.ends, again.units) == (readings.vocabulary, [5, 5], units)


def test_a_story_takes_a_few_hundred_bytes(packed: Any, open_wire: Callable[..., Wire]) -> None:
    wire, stories = open_wire(workers=2), sample.lines("en")[:60]
    with wire:
        reader = wire.components.reader
        assert isinstance(reader, WorkerReader)
        documents = [Document(title=s["title"], body=s["text"], lang="en") for s in stories]
        readings = list(reader.read(documents, Lexicon(), {"en": Network()}))
    size = sum(len(pack(_packed(one))) for one in readings)
    assert size < 400 * len(documents)


class Given:
    """A plugin that no worker can import."""

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        raise AssertionError("it is not called")

    @hookimpl
    def register_annotators(self) -> Mapping[str, Callable[..., object]]:
        return {"given": Given}


def test_a_plugin_that_was_given_as_an_object_cannot_be_used_by_workers() -> None:
    settings = resolve({"annotator": "given", "workers": "2"}, environment={})
    wire = Wire(":memory:", settings, load_plugins(Given()))
    with pytest.raises(ConfigurationError, match="workers import plugins by name"):
        wire.ingest([])


def test_at_most_two_epochs_are_in_memory(
    packed: Any, open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read beyond a tick, and what was frozen before the last one is forgotten."""
    epochs: list[weakref.ref[Frozen]] = []
    digests, in_memory, in_worker = [], [], []
    n_parts = {"given": 0, "read": 0}
    original = packed.map

    def counted(items: Iterable[object]) -> Iterator[object]:
        for item in items:
            n_parts["given"] += 1
            yield item

    def noted(task: str, items: Iterable[object], shared: Mapping[str, Frozen]) -> Iterator[Any]:
        if task != "read":
            yield from original(task, items, shared)
            return
        assert n_parts["given"] == n_parts["read"], "an epoch began before the last one was read"
        digests.append(shared["lexicon"].digest)
        epochs.append(weakref.ref(shared["lexicon"]))
        for results in original(task, counted(items), shared):
            n_parts["read"] += 1
            gc.collect()
            in_memory.append(len({id(one) for one in (epoch() for epoch in epochs) if one}))
            held = [value.value for value in packed._values._values.values()]
            in_worker.append(sum(isinstance(value, Lexicon) for value in held))
            yield results

    monkeypatch.setattr(packed, "map", noted)
    with open_wire(workers=2) as wire:
        wire.ingest(sample.lines("en")[:300])
    assert len(set(digests)) >= 4, "too few epochs to see anything"
    assert max(in_memory) <= 2 and max(in_worker) <= 2

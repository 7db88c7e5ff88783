"""Workers read texts as this process does, with what the clock froze."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from segapsith.api.factory import Factory
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.worker_reading import PART
from segapsith.errors import ConfigurationError
from segapsith.model import Annotation, Document, Lexicon
from segapsith.parallel.packing import pack
from segapsith.parallel.tasks import Recent, SharedValues, perform, result_of
from segapsith.plugin.contracts import SharedValue
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve


class Packed:
    """An executor that sends everything as bytes, to a worker in this process."""

    n_workers = 1

    def __init__(self) -> None:
        self._values, self._held = SharedValues(), Recent()
        self.n_sent: dict[str, int] = {}
        """How often each shared value was sent, by its name."""
        self.n_items = 0

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        given = dict(shared or {})
        names = {name: one.digest for name, one in given.items()}
        for item in items:
            self.n_items += 1
            new = {}
            for name, one in given.items():
                if one.digest not in self._held:
                    new[one.digest] = one.data
                    self.n_sent[name] = self.n_sent.get(name, 0) + 1
            self._held.use(names.values())
            yield result_of(perform(task, pack(item), self._values.load(names, new)))

    def close(self) -> None:
        pass


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> Packed:
    executor = Packed()
    monkeypatch.setattr(Factory, "executor", property(lambda _: executor))
    return executor


def test_texts_read_from_bytes_give_the_same_store(
    packed: Packed, open_wire: Callable[..., Wire]
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

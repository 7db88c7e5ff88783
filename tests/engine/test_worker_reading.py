"""Workers read texts as this process does, with what the clock froze."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.worker_reading import PART
from segapsith.errors import ConfigurationError
from segapsith.model import Annotation, Document, Lexicon
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

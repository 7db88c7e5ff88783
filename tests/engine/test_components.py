"""What the engine learns with: a reader takes the place of annotator and segmenter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segapsith.engine.components import Components
from segapsith.engine.ingest import Engine
from segapsith.engine.reading import Readings, read
from segapsith.model import Document, Lexicon, Network
from segapsith.plugin.registry import load_plugins
from segapsith.testing.memory_storage import MemoryStorage

REGISTRY = load_plugins()


class Elsewhere:
    """Reads as the plugins do, and counts."""

    def __init__(self) -> None:
        self.n_read = 0

    def read(
        self, documents: Sequence[Document], lexicon: Lexicon, networks: Mapping[str, Network]
    ) -> Iterator[Readings]:
        self.n_read += len(documents)
        return read(
            documents,
            annotator=REGISTRY.make("annotator", "simplemma"),
            segmenter=REGISTRY.make("segmenter", "paragraphs"),
            lexicon=lexicon,
            networks=networks,
        )

    def lemmas(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[list[str]]:
        raise AssertionError("no corpus is read")


def test_a_reader_takes_the_place_of_annotator_and_segmenter() -> None:
    elsewhere = Elsewhere()
    annotator = REGISTRY.make("annotator", "simplemma")
    segmenter = REGISTRY.make("segmenter", "paragraphs")
    summary = Engine(MemoryStorage(), Components(annotator, segmenter, elsewhere)).ingest(
        [Document("a", body="The river rose after the storm. Villages were flooded.")]
    )
    assert (summary.new, summary.units, elsewhere.n_read) == (1, 1, 1)


def test_a_document_without_a_language_is_english() -> None:
    language = Components(
        REGISTRY.make("annotator", "simplemma"), REGISTRY.make("segmenter", "paragraphs")
    ).language
    assert (language(Document("a")), language(Document("a", lang="fr"))) == ("en", "fr")

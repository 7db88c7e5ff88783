"""The task `prepare`: a portion of an archive to shards, in any process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from segapsith.api.preparation.portions import Item, Portion, read_portion
from segapsith.engine.arrivals import sound
from segapsith.engine.reading import learned_part
from segapsith.engine.worker_reading import annotator_of, registry_of
from segapsith.intake import fingerprints
from segapsith.intake.documents import (
    clean_bag,
    cleaned,
    language_of,
    marked,
    text_hash,
    texts_version,
)
from segapsith.intake.language import language_version
from segapsith.io.inputs import Inputs
from segapsith.io.shards import ShardHeader, write_shard
from segapsith.model import Document, PreparedText, Reject
from segapsith.parallel.tasks import Shared
from segapsith.plugin.guards import GuardedAnnotator

__all__ = ["Recipe", "prepare_portion", "prepared_items"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides the shards besides the inputs and the annotator."""

    lang: str
    format: str | None
    name: str
    """A hash of all settings and versions, and of the names of the inputs."""


def prepare_portion(portion: Portion, shared: Shared) -> list[bytes]:
    """Return the shards of a portion: the task `prepare`."""
    recipe: Recipe = shared["recipe"]
    inputs: Inputs = shared.once("inputs", lambda: _inputs(recipe, shared), of="recipe")
    annotator = annotator_of(shared)
    language = language_of(recipe.lang)
    version = language_version(recipe.lang)
    return [
        write_shard(
            ShardHeader(
                recipe.name,
                portion.made_from,
                part,
                is_last,
                texts_version(),
                failures=tuple(failures),
            ),
            prepared_items(items, annotator, language, version),
        )
        for part, items, is_last, failures in read_portion(portion, inputs)
    ]


def _inputs(recipe: Recipe, shared: Shared) -> Inputs:
    registry = registry_of(shared)
    names = registry.names("source") if recipe.format is None else [recipe.format]
    return Inputs([], {name: registry.make("source", name) for name in names}, recipe.format)


def prepared_items(
    items: Sequence[Item],
    annotator: GuardedAnnotator,
    language: Callable[[Document], str],
    version: str,
) -> list[Item]:
    """Return items that can be stored, with what depends on their texts alone."""
    stored = [_cleaned(item) for item in items]
    named = [_named(item, language) if isinstance(item, Document) else None for item in stored]
    texts = [text for text in named if text is not None]
    words = annotator.prepare_words([replace(document, lang=lang) for document, _, lang in texts])
    ready = iter(
        [
            replace(
                document,
                prepared=PreparedText(
                    document.title,
                    document.body,
                    digest,
                    bytes(fingerprints.signature(document.text)),
                    lang,
                    version,
                    tokens,
                ),
            )
            for (document, digest, lang), tokens in zip(texts, words, strict=True)
        ]
    )
    return [item if text is None else next(ready) for item, text in zip(stored, named, strict=True)]


def _cleaned(item: Item) -> Item:
    """Return an item that can be stored; whether it is accepted is decided at ingest."""
    if isinstance(item, Reject):
        return sound(item)
    document = replace(cleaned(item), prepared=None)
    return document if document.bag is None else replace(document, bag=clean_bag(document.bag))


def _named(
    document: Document, language: Callable[[Document], str]
) -> tuple[Document, str, str] | None:
    """Return a text with its hash and language; None if it is not one that will be read as it is.

    That is a unit without text, a text that is rejected or too long to be learned whole, or one
    whose title a notice changes.
    """
    if document.bag is not None or isinstance(sound(document), Reject):
        return None
    if marked(document).title != document.title or learned_part(document) is not document:
        return None
    return document, text_hash(document), language(document)

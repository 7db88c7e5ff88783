"""Label retrieval: how often `classify LABEL` finds the item that a label belongs to, first.

A set is ingested and grouped into topics and sections. Then every label of a stable domain, topic or
section is classified like any text. The answer is the most similar domain of its first unit, or the
topic or section of that domain. Items are split into two halves by their numbers, which shows how
much the share varies. Neither half is unseen: the rules were chosen with both in view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segapsith import progress
from segapsith.api.wire import Wire
from segapsith.engine.classify import Classifier
from segapsith.settings import resolve
from segapsith_reproduce import Options, Table
from segapsith_reproduce.data_sets import lines
from segapsith_store import Store

__all__ = ["Retrieval", "label_retrieval", "retrieved"]

SETS = ("bbc-news", "orangesum-fr")
BARS = {"domains": 0.85, "topics": 0.9}
"""Share of the labels that should find their item."""
QUICK = 600
"""Number of documents of each set with `options.quick`."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The labels of one level in one half that find their item in first place."""

    level: str
    half: str
    n_items: int
    n_found: int

    @property
    def share(self) -> float | None:
        return round(self.n_found / self.n_items, 3) if self.n_items else None


def label_retrieval(data: Path, options: Options) -> Table:
    """Return the share of labels by which `classify` finds their item, by set, level and half."""
    rows: list[list[str | int | float | None]] = []
    for name in progress.steps(options.sets or SETS):
        options.tell(f"{name}: learning")
        documents = lines(data, name)[: QUICK if options.quick else None]
        lang = name.rpartition("-")[2] if len(name.rpartition("-")[2]) == 2 else "en"
        with Wire(":memory:", resolve({"lang": lang}, environment={})) as wire:
            wire.ingest(
                {
                    "id": str(item["id"]), "date": item.get("date"), "lang": lang,
                    "title": item.get("title") or "", "text": item.get("text") or "",
                }
                for item in documents
            )  # fmt: skip
            options.tell(f"{name}: grouping")
            wire.topics(limit=0)
            wire.sections(limit=0)
            options.tell(f"{name}: classifying labels")
            for result in retrieved(wire, lang):
                rows.append([name, result.level, result.half, result.n_items, result.share,
                             BARS.get(result.level)])  # fmt: skip
    return Table(
        "Label retrieval: classify LABEL finds its item in first place",
        ["set", "level", "half", "items", "found first", "bar"],
        rows,
        ["stable items: at least 15 units; halves by the number of the item"],
    )


def retrieved(wire: Wire, lang: str) -> list[Retrieval]:
    """Return how many labels of stable domains, topics and sections find their item, by half."""
    stable = wire.settings.maintenance.stable
    topics = [t for t in wire.topics(regroup=False, top=1) if t.lang == lang and t.units >= stable]
    sections = [s for s in wire.sections(regroup=False, top=1) if s.lang == lang]
    domains = wire.domains(min_units=stable, lang=lang, top=1)
    topic_of = {d: t.id for t in wire.topics(regroup=False, top=1) for d in t.domains}
    section_of = {t: s.id for s in sections for t in s.topics}
    answer = wire.read(lambda store: _first_domain(store, wire, lang))

    def topic_for(text: str) -> int | None:
        domain = answer(text)
        return None if domain is None else topic_of.get(domain)

    def section_for(text: str) -> int | None:
        topic = topic_for(text)
        return None if topic is None else section_of.get(topic)

    levels: Mapping[str, tuple[Mapping[int, str], Callable[[str], int | None]]] = {
        "domains": ({d.id: d.label for d in domains if d.status == "open"}, answer),
        "topics": ({t.id: t.label for t in topics}, topic_for),
        "sections": ({s.id: s.label for s in sections}, section_for),
    }
    return [
        _found(level, half, {n: labels[n] for n in sorted(labels)[place::2]}, find)
        for level, (labels, find) in levels.items()
        for place, half in enumerate(("first", "second"))
    ]


def _found(
    level: str, half: str, labels: Mapping[int, str], find: Callable[[str], int | None]
) -> Retrieval:
    hits = sum(find(label) == number for number, label in labels.items())
    return Retrieval(level, half, len(labels), hits)


def _first_domain(store: Store, wire: Wire, lang: str) -> Callable[[str], int | None]:
    """Return a function from a text to the most similar domain of its first unit."""
    classifier = Classifier(store, wire.components, lang)

    def first(text: str) -> int | None:
        units: Sequence[dict[str, object]] = classifier.classify(text, top=1)["units"]
        domains = units[0]["domains"] if units else []
        assert isinstance(domains, list)
        return int(domains[0]["id"]) if domains else None

    return first

"""A demonstration on the bundled sample: ingest, domains, validation, agreement with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segapsith.demo import sample
from segapsith.demo.sample.baseline import best_single_pass
from segapsith.evaluation.metrics import bcubed
from segapsith.model import Document, Lexicon
from segapsith_store.queries.documents import iterate_assignments

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["MIN_UNITS", "agreement", "baseline", "demonstrate"]

MIN_UNITS = {"en": 6, "fr": 6, "de": 2, "es": 2}
"""Number of units that make a domain of the sample stable: it covers only two weeks, and its
parts in German and Spanish have few stories."""


def demonstrate(wire: Wire) -> dict[str, Any]:
    """Ingest every language, and return domains, validation and agreement with the labels."""
    languages: dict[str, Any] = {}
    for lang in sample.LANGS:
        summary = wire.ingest(sample.lines(lang), name=f"sample {lang}")
        languages[lang] = {
            "ingest": summary.as_json(),
            "summary": (
                f"{summary.read} read, {summary.new} new, {summary.duplicate} duplicate,"
                f" {summary.corrected} corrected; {summary.units} units, {summary.domains_new}"
                " domains"
            ),
        }
    for lang in sample.LANGS:
        languages[lang] |= {
            "domains": wire.domains(lang=lang, top=7, limit=12),
            "validation": wire.validate(min_units=MIN_UNITS[lang], lang=lang),
            "agreement": agreement(wire, lang),
            "baseline": baseline(wire, lang),
        }
    return {"languages": languages, "status": wire.status()}


def agreement(wire: Wire, lang: str) -> dict[str, float]:
    """Return B-cubed scores of the domains against the subjects of the paragraphs."""
    rows = wire.read(lambda store: list(iterate_assignments(store)))
    pairs = sample.domains_of_paragraphs(sample.gold_of_paragraphs(lang), rows)
    score = bcubed([domain for domain, _ in pairs], [subject for _, subject in pairs])
    return {"precision": score.precision, "recall": score.recall, "f1": score.f1}


def baseline(wire: Wire, lang: str) -> dict[str, float]:
    """Return the best B-cubed F1 of a TF-IDF single pass over the same paragraphs and lemmas."""
    texts = {item["id"]: item for item in sample.lines(lang)}
    paragraphs = sample.gold_of_paragraphs(lang)
    documents = [
        Document(
            uid=f"{uid}-{start}",
            body=f"{texts[uid]['title']}\n\n{texts[uid]['text']}"[start:end],
            lang=lang,
        )
        for uid, start, end, _ in paragraphs
    ]
    annotator = wire.factory.learning().annotator
    bags = [
        [lemma for lemma, content in zip(a.lemmas, a.content, strict=True) if content]
        for a in annotator.annotate(documents, Lexicon())
    ]
    f1, threshold = best_single_pass(bags, [subject for *_, subject in paragraphs])
    return {"f1": f1, "threshold": threshold}

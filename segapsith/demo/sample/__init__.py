"""The bundled sample wire in four languages, and the subject of each of its paragraphs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from segapsith.model import Record

__all__ = ["LANGS", "WHOLE", "domains_of_paragraphs", "gold_of_paragraphs", "lines", "path"]

WHOLE = ("en", "fr")
"""Languages of which the sample is a whole wire, long enough to compare methods on."""

LANGS = (*WHOLE, "de", "es")
"""Languages of the sample; the parts in German and Spanish are short and have stories of the English
one, under the same subjects."""


def path(lang: str, what: str = "wire") -> Path:
    """Return the file of a language: its stories (`wire`) or their labels (`gold`)."""
    return Path(str(files(__name__) / f"{what}.{lang}.jsonl"))


def lines(lang: str, what: str = "wire") -> list[dict[str, Any]]:
    """Return the JSON objects of such a file."""
    return [json.loads(line) for line in path(lang, what).read_text("utf-8").splitlines()]


def gold_of_paragraphs(lang: str) -> list[tuple[str, int, int, str]]:
    """Return the document, start, end and subject of each paragraph, in the last version of a text."""
    latest: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for item, gold in zip(lines(lang), lines(lang, "gold"), strict=True):
        latest[item["id"]] = (item, gold)
    paragraphs = []
    for uid, (item, gold) in latest.items():
        start = len(item["title"]) + 2
        for paragraph, subject in zip(item["text"].split("\n\n"), gold["paragraphs"], strict=True):
            paragraphs.append((uid, start, start + len(paragraph), str(subject)))
            start += len(paragraph) + 2
    return paragraphs


def domains_of_paragraphs(
    paragraphs: Iterable[tuple[str, int, int, str]], assignments: Iterable[Record]
) -> list[tuple[int, str]]:
    """Return the domain and subject of each paragraph; its domain is that of the unit that covers
    most of it.

    A paragraph in no domain gets a negative number of its own.
    """
    units: dict[str, list[Record]] = {}
    for row in assignments:
        units.setdefault(str(row["document"]), []).append(row)
    result = []
    for number, (uid, start, end, subject) in enumerate(paragraphs):
        overlap = [
            (min(end, row["end"]) - max(start, row["start"]), -row["unit"], row["domain"])
            for row in units.get(uid, [])
        ]
        size, _, domain = max(overlap, default=(0, 0, None))
        result.append((domain if size > 0 and domain is not None else -1 - number, subject))
    return result

"""Two months of `orangesum-fr` with the default settings, maintained each week."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.api.wire import Wire
from segapsith.settings import resolve
from segapsith_reproduce import Options, Table

__all__ = ["month"]

MONTHS = ("2020-05", "2020-06")
N_DOMAINS = 20
"""Number of domains whose words are shown."""
N_WORDS = 10
MIN_WEIGHT = 0.1
"""A word with more than this weight belongs to a domain."""
FIGURES = ("units", "domains with 15 units or more", "units in them", "words in them")
WEEK = 7
"""Number of nights after which domains are merged and split, and units reassigned."""
QUICK = 600
"""Number of articles with `options.quick`."""


def _articles(data: Path, options: Options) -> list[dict[str, Any]]:
    with gzip.open(data / "orangesum-fr" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [item for line in lines if (item := json.loads(line))["date"][:7] in MONTHS]
    items.sort(key=lambda item: (item["date"], str(item["id"])))
    return items[: QUICK if options.quick else None]


def _stories(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        yield {
            "id": str(item["id"]), "date": item["date"], "lang": "fr",
            "title": item["title"] or "", "text": item["text"] or "",
        }  # fmt: skip


def _maintain(wire: Wire) -> None:
    """Merge and split domains and reassign units, as a night does."""
    wire.domains.merge_similar()
    wire.domains.split_broad()
    wire.domains.reassign()


def month(data: Path, options: Options) -> Table:
    """Return the figures of two months with the default settings, and words of domains."""
    items = _articles(data, options)
    with Wire(":memory:", resolve({"lang": "fr"}, environment={})) as wire:
        days = groupby(items, key=lambda item: item["date"][:10])
        for number, (day, of_day) in enumerate(days, 1):
            options.tell(f"{day} …")
            wire.ingest(_stories(list(of_day)))
            if number % WEEK == 0:
                _maintain(wire)
        _maintain(wire)
        stable = wire.settings.maintenance.stable
        all_domains = wire.domains(min_units=1, top=1)
        domains = wire.domains(min_units=stable, top=None)
    words = {w["word"] for d in domains for w in d["words"] if w["weight"] > MIN_WEIGHT}
    n_units = sum(d["units"] for d in all_domains)
    inside = sum(d["units"] for d in domains)
    figures = (n_units, len(domains), inside, len(words))
    rows: list[list[Any]] = [
        [name, figure, ""] for name, figure in zip(FIGURES, figures, strict=True)
    ]
    rows.append(["share in them", round(inside / max(n_units, 1), 3), ""])
    # evenly spaced in the list, which is sorted by size: large and small domains
    ranks = np.unique(np.linspace(0, max(len(domains) - 1, 0), N_DOMAINS).astype(int))
    for rank in ranks.tolist() if domains else []:
        domain = domains[rank]
        best = ", ".join(w["word"] for w in domain["words"][:N_WORDS])
        rows.append([f"domain {domain['id']}", domain["units"], best])
    return Table(
        f"One month of agency news: orangesum-fr, {' and '.join(MONTHS)}, {len(items):,} articles",
        ["what", "here", "ten best words"],
        rows,
        [
            "default settings; each week domains are merged and split, and units reassigned",
            f"words: those with a weight above {MIN_WEIGHT}",
            "domains by size, from the largest to the smallest with at least 15 units",
            "segapsith-figures compares one month, with the settings of the paper, with print",
        ],
    )

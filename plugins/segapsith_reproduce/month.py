"""The one-month experiment of the paper on French agency copy: two months of `orangesum-fr`."""

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
SHOWN = 20
"""Domains whose words are printed."""
WORDS = 10
ABOVE = 0.1
"""Weight above which a word is one of a domain's (algorithms §2.4)."""
PRINTED = {
    "units": 7823,
    "domains with 15 units or more": 71,
    "units in them": 4935,
    "words in them": 4380,
}
WEEK = 7
"""Nights after which domains are looked at again."""
QUICK = 600


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


def _look_again(wire: Wire) -> None:
    """What a night does to domains after it has read."""
    wire.consolidate()
    wire.narrow()
    wire.adopt()


def month(data: Path, options: Options) -> Table:
    """What two months give, night by night, beside what the paper printed of one."""
    items = _articles(data, options)
    with Wire(":memory:", resolve({"lang": "fr"}, environment={})) as wire:
        days = groupby(items, key=lambda item: item["date"][:10])
        for number, (day, of_day) in enumerate(days, 1):
            options.tell(f"{day} …")
            wire.ingest(_stories(list(of_day)))
            if number % WEEK == 0:
                _look_again(wire)
        _look_again(wire)
        stable = wire.settings.maintenance.stable
        everything = wire.domains(min_units=1, top=1)
        found = wire.domains(min_units=stable, top=None)
    words = {w["word"] for d in found for w in d["words"] if w["weight"] > ABOVE}
    n_units = sum(d["units"] for d in everything)
    inside = sum(d["units"] for d in found)
    figures = (n_units, len(found), inside, len(words))
    rows: list[list[Any]] = [
        [name, ours, printed, ""]
        for (name, printed), ours in zip(PRINTED.items(), figures, strict=True)
    ]
    rows.append(["share in them", round(inside / max(n_units, 1), 3), round(4935 / 7823, 3), ""])
    # large and small ones alike: every so many of the list, by size
    chosen = np.unique(np.linspace(0, max(len(found) - 1, 0), SHOWN).astype(int))
    for place in chosen.tolist() if found else []:
        domain = found[place]
        best = ", ".join(w["word"] for w in domain["words"][:WORDS])
        rows.append([f"domain {domain['id']}", domain["units"], None, best])
    return Table(
        f"One month of agency copy: orangesum-fr, {' and '.join(MONTHS)}, {len(items):,} articles",
        ["what", "here", "printed", "ten best words"],
        rows,
        [
            f"default settings, domains merged, split and units adopted each week; words above {ABOVE}",
            "domains by size, from the largest to the smallest with 15 units",
        ],
    )

"""How often a label finds the item that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.settings import resolve
from segapsith_reproduce import TABLES, Options
from segapsith_reproduce.streams.label_retrieval import Retrieval, retrieved

TEXTS = {
    "River flood closes roads near the town": "The river flood closed roads, and the mayor asked"
    " for sandbags along the embankment of the town. ",
    "Festival gives film award to young actress": "The film festival gave its award to the"
    " actress, and the director of the comedy thanked the jury. ",
}


def stories(n: int) -> list[dict[str, object]]:
    return [
        {"id": f"{place}-{k}", "title": f"{title} {k}", "text": text * 4}
        for k in range(n)
        for place, (title, text) in enumerate(TEXTS.items())
    ]


def test_the_share_is_that_of_the_labels_that_find_their_item() -> None:
    assert Retrieval("domains", "first", 4, 3).share == 0.75
    assert Retrieval("domains", "first", 0, 0).share is None


@pytest.mark.slow
def test_labels_find_their_domains_and_wrong_ones_do_not() -> None:
    settings = resolve({"lang": "en", "duplicate_window": 0}, environment={})
    with Wire(":memory:", settings) as wire:
        wire.ingest(stories(16))
        wire.topics(limit=0)
        results = [r for r in retrieved(wire, "en") if r.level == "domains"]
        assert sum(r.n_items for r in results) == sum(r.n_found for r in results) == 2
        one, other = wire.domains(min_units=15)
        wire.domains.rename(one.id, "nothing that anybody wrote")
        wire.domains.rename(other.id, one.label)  # the label of the other one
        results = [r for r in retrieved(wire, "en") if r.level == "domains"]
        assert sum(r.n_found for r in results) == 0


@pytest.mark.slow
def test_the_table_has_every_level_and_half_of_a_set(
    write_set: Callable[[str, list[dict[str, object]]], None], tmp_path: Path
) -> None:
    write_set("floods", stories(16))
    table = TABLES["labels"].compute(tmp_path, Options(sets=("floods",)))
    rows = table.as_json()["rows"]  # type: ignore[union-attr]  # a table of our own
    assert [(row["level"], row["half"]) for row in rows] == [
        (level, half) for level in ("domains", "topics", "sections") for half in ("first", "second")
    ]

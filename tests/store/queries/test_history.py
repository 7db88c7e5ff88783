"""The domains as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import UsageError
from segapsith_store.queries.domains import Domain

OpenWire = Callable[..., Wire]


def dated(n: int) -> list[dict[str, Any]]:
    """The sample wire with a day for every three stories."""
    return [
        {**item, "date": f"2020-05-{1 + i // 3:02}T12:00:00Z"}
        for i, item in enumerate(sample.lines("en")[:n])
    ]


def unlabelled(domains: Sequence[Domain]) -> list[Domain]:
    """Domains without their labels, which are derived and compare all domains of the present."""
    assert all(domain.label for domain in domains)
    return [replace(domain, label="") for domain in domains]


def test_after_a_run_is_what_was_listed_then(open_wire: OpenWire) -> None:
    wire, items = open_wire(), dated(60)
    recorded = {}
    for first in (0, 20, 40):
        run = wire.ingest(items[first : first + 20]).run
        recorded[run] = wire.domains()
    merged = wire.domains.merge([d["id"] for d in wire.domains()[:2]])["run"]
    recorded[merged] = wire.domains()
    named = wire.domains.rename(wire.domains()[0]["id"], "a name")["run"]
    recorded[named] = wire.domains()
    corrected = wire.ingest([{**items[0], "text": items[40]["text"] + " More to come."}]).run
    recorded[corrected] = wire.domains()
    for run, listed in recorded.items():
        assert unlabelled(wire.domains(as_of=run)) == unlabelled(listed)
        assert unlabelled(wire.domains(as_of=str(run), limit=2, min_units=2)) == unlabelled(
            [d for d in listed if d["units"] >= 2][:2]
        )
    assert [d.label for d in wire.domains(as_of=corrected)] == [d.label for d in listed]
    assert "a name" in [d.label for d in wire.domains(as_of=named)]
    assert "a name" not in [d.label for d in wire.domains(as_of=merged)]


def test_on_a_day_of_the_stream_is_a_store_that_read_no_further(open_wire: OpenWire) -> None:
    items = dated(60)
    wire = open_wire()
    wire.ingest(items)
    wire.domains.merge(
        [d["id"] for d in wire.domains()[:2]]
    )  # came later than any day of the stream
    for day in (4, 11):
        until = open_wire(f"until{day}.db")
        until.ingest(items[: 3 * day])
        then = wire.domains(as_of=f"2020-05-{day:02}")
        assert unlabelled(then) == unlabelled(until.domains())
    assert wire.domains(as_of="2020-05") != []
    assert wire.domains(as_of="2020-04") == []
    assert wire.domains(as_of="2999-01-01") == wire.domains()


def test_what_is_forgotten_or_undone_is_said(open_wire: OpenWire) -> None:
    wire, items = open_wire(), dated(12)
    run = wire.ingest(items[:6]).run
    wire.ingest(items[6:])
    wire.runs.undo()
    with pytest.raises(UsageError, match="was undone"):
        wire.domains(as_of=2)
    with pytest.raises(UsageError, match="no run 77"):
        wire.domains(as_of="77")
    with pytest.raises(UsageError, match="should be a date"):
        wire.domains(as_of="yesterday")
    with pytest.raises(UsageError, match="should be a date"):
        wire.domains(since="2020-13-45")
    assert wire.domains.forgotten_since(run) == 0
    wire.forget(items[0]["id"])
    assert wire.domains.forgotten_since(run) == 1
    assert sum(d["units"] for d in wire.domains(as_of=run)) == sum(
        d["units"] for d in wire.domains()
    )


def test_days_and_trends_are_in_the_list(open_wire: OpenWire) -> None:
    wire = open_wire(duplicate_window=0)
    old = [
        {"id": f"o{i}", "date": f"2026-03-{1 + i % 20:02}", "words": {"river": 1, "flood": 1 + i}}
        for i in range(40)
    ]
    burst = [
        {"id": f"n{i}", "date": f"2026-03-{24 + i % 4:02}", "words": {"strike": 1, "union": 1 + i}}
        for i in range(24)
    ]  # fmt: skip
    early = [{"id": "s", "date": "2026-03-02", "words": {"strike": 9, "union": 1}}]
    wire.learn([*old, *early, *burst])
    states = {d["label"].split(",")[0]: d["trend"]["state"] for d in wire.domains()}
    assert states["flood" if "flood" in states else "river"] == "quiet"
    assert states["strike" if "strike" in states else "union"] == "rising"
    strike = next(d for d in wire.domains() if d["trend"]["state"] == "rising")
    shown = wire.domains.show(strike["id"])
    assert sum(shown["days"].values()) == shown["units"] == 25
    assert [b["day"] for b in shown["bursts"]][:1] == ["2026-03-24"]
    rows = wire.read(
        lambda store: dict(
            store.rows("SELECT day, units FROM domain_days WHERE domain = ?", [strike["id"]])
        )
    )
    assert rows == shown["days"]


def test_typical_sentences_are_of_the_domain(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:60])
    largest = wire.domains()[0]
    shown = wire.domains.show(largest["id"])
    assert shown["sentences"]
    best = {w["word"] for w in shown["words"][:20]}
    for sentence in shown["sentences"]:
        assert sentence["unit"] in shown["unit_ids"]
        assert any(word[:4] in sentence["text"].lower() for word in best)

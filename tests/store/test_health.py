"""The condition of a store file."""

from __future__ import annotations

import os
from collections.abc import Callable

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store import health
from segapsith_store.queries import subscriptions

NOW = "2026-03-02T00:00:00+00:00"


def test_sizes_runs_and_feeds_of_a_small_store(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:5])
    subscriptions.add(wire.writer, "https://a.example/wire")
    sizes = health.sizes(wire.writer)
    assert sizes.file_bytes == os.path.getsize(wire.path)
    assert sizes.bytes_per_document == sizes.file_bytes // 5
    assert sizes.text_bytes > 0
    assert [run.command for run in health.history(wire.writer)] == ["ingest"]
    feeds = health.checks(wire.writer, NOW)
    assert (feeds.subscribed, feeds.due, feeds.failing, feeds.waiting) == (1, 1, 0, 0)
    assert feeds.next_check_at == NOW
    assert health.quick_faults(wire.writer) == []


def test_a_reference_to_a_missing_row_is_a_fault(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:5])
    wire.writer._db.conn.execute("PRAGMA foreign_keys = OFF")
    wire.writer.change(lambda c: c.execute("UPDATE assignments SET domain = 99").rowcount)
    assert health.quick_faults(wire.writer)[0] == "assignments: a reference leads nowhere"

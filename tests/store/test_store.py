"""The store: made whole, migrated with a copy first, read while others write."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.domains.values import Bag, DomainWords
from segapsith.errors import ForeignStoreError
from segapsith_store import Store, codecs, connections, migrations, schema, writing
from segapsith_store import store as store_module


def test_a_new_store_has_every_table_view_and_mark(tmp_path: Path) -> None:
    with Store.writing(tmp_path / "s.db"):
        pass
    with sqlite3.connect(tmp_path / "s.db") as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        assert {t.name for t in schema.TABLES} | {v.name for v in schema.VIEWS} <= names
        assert connection.execute("PRAGMA application_id").fetchone()[0] == schema.APPLICATION_ID
        assert connection.execute("PRAGMA user_version").fetchone()[0] == schema.SCHEMA
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA page_size").fetchone()[0] == connections.PAGE
        for view in schema.VIEWS:
            connection.execute(f'SELECT * FROM "{view.name}"').fetchall()
    connection.close()


def test_every_column_is_explained() -> None:
    for table in schema.TABLES:
        assert table.about
        assert all(name and kind and about for name, kind, about in table.columns), table.name
    assert all(view.about for view in schema.VIEWS)


def test_views_read_well(tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en")[:30])
        stories = dict(wire.writer.rows("SELECT uid, title FROM stories"))
        assert stories["en-001"] == sample.lines("en")[0]["title"]
        row = wire.writer.row('SELECT document, start, "end", text FROM unit_texts LIMIT 1')
        assert row is not None
        texts = {i["id"]: f"{i['title']}\n\n{i['text']}" for i in sample.lines("en")}
        assert row[3] == texts[row[0]][row[1] : row[2]]
        days = wire.writer.number("SELECT sum(units) FROM domain_days")
        assert days == wire.writer.number("SELECT sum(units) FROM domain_sizes")


def test_an_older_store_is_copied_and_then_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    with Wire(path) as wire:
        wire.ingest(sample.lines("en")[:30])
        before = wire.status()["digest"]
        n_documents = wire.status()["documents"] + wire.status()["duplicates"]

    def add_table(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE later (x)")

    version = schema.SCHEMA
    monkeypatch.setitem(migrations.MIGRATIONS, "add_table", add_table)
    for module in (schema, connections, migrations):
        monkeypatch.setattr(module, "SCHEMA", version + 1)
    with pytest.raises(ForeignStoreError, match="any command that writes"):
        Store.reading(path)
    with Store.writing(path) as store:
        assert store.number("SELECT count(*) FROM later") == 0
    with Wire(path) as wire:
        assert wire.status()["digest"] == before
        assert wire.verify().sound
    copy = tmp_path / f"s.db.schema-{version}.backup"
    with sqlite3.connect(copy) as old:
        assert old.execute("PRAGMA user_version").fetchone()[0] == version
        assert old.execute("SELECT count(*) FROM documents").fetchone()[0] == n_documents
    old.close()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store.writing(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {schema.SCHEMA + 7}")
    connection.close()
    for opened in (Store.reading, Store.writing):
        with pytest.raises(ForeignStoreError, match="newer release"):
            opened(path)


def test_texts_are_found_by_the_beginning_of_their_hash(tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en")[:30])
        store = wire.writer
        asked: list[str] = []
        store._db.conn.set_trace_callback(asked.append)
        hashes = [row[0] for row in store.rows("SELECT hash FROM versions ORDER BY id")]
        alike = hashes[0][: schema.HASH_BEGIN] + "0" * (64 - schema.HASH_BEGIN)
        asked.clear()
        assert store.known_texts([*hashes[:3], alike]) == set(hashes[:3])
        assert [story.uid for story in store.stories_with(hashes[0])] == ["en-001"]
        assert store.stories_with(alike) == []
        store._db.conn.set_trace_callback(None)
        for question in asked:
            plan = [row[3] for row in store.rows(f"EXPLAIN QUERY PLAN {question}")]
            assert any(step.startswith("SEARCH") and "versions_hash" in step for step in plan), plan


@pytest.mark.slow
def test_a_batch_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en")[:20])
        before = wire.status()["digest"]

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(writing, "_write_domains", full)
        with pytest.raises(Exception, match="free some room"):
            wire.ingest(sample.lines("en"))
        monkeypatch.undo()
        assert wire.status()["digest"] == before
        wire.ingest(sample.lines("en"))
        assert wire.verify().sound


@pytest.mark.slow
def test_measuring_runs_can_be_undone(tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en")[:80])
        before = wire.status()["digest"]
        wire.validate(min_units=3)
        wire.cluster(k=3)
        assert wire.writer.number("SELECT count(*) FROM clusterings") == 1
        wire.runs.undo()
        wire.runs.undo()
        assert wire.writer.number("SELECT count(*) FROM clusterings") == 0
        assert wire.writer.number("SELECT count(*) FROM comparisons") == 0
        assert wire.status()["digest"] == before


numbers = st.lists(st.integers(0, 2**31 - 1), max_size=20)


@settings(deadline=None)  # kernels are compiled on first use
@given(st.lists(numbers, max_size=4), st.integers(1, 2**31))
def test_words_of_units_and_domains_come_back(tables: list[list[int]], large: int) -> None:
    columns = [np.array(values, dtype=np.int32) for values in tables]
    bags = [Bag(some, some[::-1], np.maximum(some, 1)) for some in columns]
    blobs = [bytes(blob) for blob in codecs.bags_bytes(bags)]
    assert blobs == [plain_table(w, c, g - 1) for w, c, g in bags]
    for bag, blob in zip(bags, blobs, strict=True):
        for ours, theirs in zip(codecs.bag_from(blob), bag, strict=True):
            assert ours.dtype == np.int32 and np.array_equal(ours, theirs)
    wide = [some.astype(np.int64) for some in columns]
    domains = [
        DomainWords(s, w[::-1] + large, w * large, 3) for s, w in zip(columns, wide, strict=True)
    ]
    blobs = [bytes(blob) for blob in codecs.domains_bytes(domains)]
    assert blobs == [plain_table(d.words, d.occurrences, d.weights) for d in domains]
    for domain, blob in zip(domains, blobs, strict=True):
        sums = codecs.domain_from(blob, 3)
        assert sums.n_units == 3 and np.array_equal(sums.words, domain.words)
        assert np.array_equal(sums.occurrences, domain.occurrences)
        assert np.array_equal(sums.weights, domain.weights)


def plain_table(*columns: np.ndarray) -> bytes:
    """The layout as docs/reference/store.md has it, in the plainest words."""
    widths = []
    for column in columns:
        top = max(map(int, column), default=0)
        widths.append(next(width for width in (1, 2, 4, 8) if top < 256**width))
    values = [
        int(value).to_bytes(width, "little")
        for width, column in zip(widths, columns, strict=True)
        for value in column
    ]
    return bytes(widths) + b"".join(values)


@pytest.mark.parametrize("blob", [b"", b"\1\1", b"\1\1\3", b"\1\1\1\0\0", b"\0\0\0"])
def test_damaged_words_are_not_read(blob: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        codecs.bag_from(blob)


def test_a_bag_without_weight_is_not_kept() -> None:
    one = np.ones(1, np.int32)
    with pytest.raises(ValueError, match="weigh more"):
        codecs.bags_bytes([Bag(one, one, one), Bag(one, one, 0 * one)])


@given(numbers)
def test_arrays_come_back(values: list[int]) -> None:
    small = np.array(values, dtype=np.int32)
    large = np.array(values, dtype=np.int64) * 7
    assert np.array_equal(codecs.words_from(codecs.words_bytes(small)), small)
    assert np.array_equal(codecs.integers_from(codecs.integers(large)), large)
    named = codecs.named_arrays_from(codecs.named_arrays({"a": large, "b": small}))
    assert np.array_equal(named["a"], large)


def _log_size(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


def _write(store: Store) -> None:
    store.change(
        lambda c: (
            c.execute(
                "INSERT OR REPLACE INTO facts VALUES ('note', ?)", [json.dumps("x" * 100_000)]
            ).rowcount
        )
    )


def test_a_large_log_is_emptied_after_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setattr(store_module, "LOG_LIMIT", 300_000)
    with Store.writing(path) as store:
        for _ in range(20):
            _write(store)
            assert _log_size(path) <= 300_000


def test_a_log_that_others_read_may_grow_to_twice_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setattr(store_module, "LOG_WAIT", 0.0)
    with Store.writing(path) as store:
        with Store.reading(path) as reader:
            reader.freeze()
            for _ in range(3):
                _write(store)
            monkeypatch.setattr(store, "_log_limit", 100_000)
            monkeypatch.setattr(store_module, "LOG_LIMIT", 100_000)
            _write(store)
            refused = _log_size(path)
            assert store._log_limit == 2 * refused > 200_000
            assert not connections.lock_holder(str(path)).empties_log  # type: ignore[union-attr]
        store._log_limit = 0
        _write(store)
        assert _log_size(path) == 0 and store._log_limit == 100_000


def test_text_that_is_forgotten_while_others_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setattr(store_module, "FORGET_WAIT", 0.0)
    with Wire(path) as wire:
        wire.ingest(sample.lines("en")[:5])
        with Store.reading(path) as reader:
            reader.freeze()
            wire.forget("en-001")
        assert f"forgotten text is still in {path}-wal" in caplog.text
        caplog.clear()
        wire.forget("en-002")
        assert not caplog.text and _log_size(path) < 300_000

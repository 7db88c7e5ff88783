#!/usr/bin/env python
"""Write a small store of the current schema, for the tests of all later releases.

    .venv/bin/python scripts/old_store.py [--output DIR]

Writes schema-N.db.gz and schema-N.json (the number of rows of each table), by default into
tests/store/schemas. Run it before a release, and never again for a schema that was released:
`tests/store/test_migrations.py` opens each store with the current program.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.model import Reject
from segapsith.operations.nightly import STEPS, NightlyRun, run_night
from segapsith.settings import resolve
from segapsith_store.queries import subscriptions
from segapsith_store.schema import SCHEMA, TABLES
from segapsith_store.seal import seal

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "store" / "schemas"


def filled(path: Path) -> dict[str, int]:
    """Fill a store with something in nearly every table, seal it, and return the rows by table."""
    chosen = resolve({"batch_size": 8}, environment={})
    items = [*sample.lines("en")[:20], *sample.lines("fr")[:6]]
    with Wire(path, chosen) as wire:
        wire.ingest(items)
        wire.ingest([{**items[0], "text": items[1]["text"]}, {**items[2], "id": "a copy"}])
        wire.network.build(sample.lines("en")[30:34])
        first, second, third, *_ = (d["id"] for d in wire.domains(lang="en"))
        wire.domains.merge([first, second])
        wire.domains.rename(third, "a name")
        wire.domains.lock([third])
        wire.domains.retire([wire.domains(lang="en")[-1]["id"]])
        wire.forget(items[5]["id"])
        wire.cluster(k=2)
        subscriptions.add(wire.writer, "https://example.org/wire", "The wire")
        offline = ("open", "merge", "topics", "sections", "validate", "alarms", "journal", "seal")
        steps = [step for step in STEPS if step.name in offline]
        run_night(NightlyRun(wire, now=lambda: "2026-03-02T02:30:00+00:00"), steps)
        wire.ingest([Reject("y", "it is not there")])
        wire.ingest(sample.lines("en")[40:72])
        wire.tune(target_new_rate=0.4, keep=True)
        wire.ingest(sample.lines("en")[100:116])
        wire.refresh_labels()
        seal(wire.writer)
        counts = {t.name: wire.writer.number(f"SELECT count(*) FROM {t.name}") for t in TABLES}
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="DIR")
    folder: Path = parser.parse_args().output
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "old.db"
        counts = filled(path)
        copy = Path(name) / "copy.db"
        Wire(path).read(lambda store: store.backup(copy))
        data = gzip.compress(copy.read_bytes(), mtime=0)
    (folder / f"schema-{SCHEMA}.db.gz").write_bytes(data)
    text = json.dumps(counts, indent=1, sort_keys=True) + "\n"
    (folder / f"schema-{SCHEMA}.json").write_text(text, encoding="utf-8")
    empty = sorted(table for table, rows in counts.items() if not rows)
    print(f"schema {SCHEMA}: {len(data):,} bytes; empty tables: {', '.join(empty) or 'none'}")


if __name__ == "__main__":
    main()

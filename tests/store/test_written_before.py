"""Stores written before the packages were made: the same digest, and the same learning after it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.settings import resolve
from segapsith_store import Store
from segapsith_store.digest import digest

FOLDER = Path(__file__).parent / "written_before"
EXPECTED: dict[str, dict[str, str]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


@pytest.fixture(params=sorted(EXPECTED))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A store as it was written then: `small`, with runs `undone`, with documents `forgotten`."""
    name = str(request.param)
    path = tmp_path / f"{name}.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.db.gz").read_bytes()))
    return name, path


def _digest(wire: Wire) -> str:
    return str(wire.status()["digest"])


def test_a_store_written_before_has_the_same_digest(store: tuple[str, Path]) -> None:
    name, path = store
    with Store.writing(path) as reader:  # an older schema is brought up to date
        assert digest(reader) == EXPECTED[name]["digest"]


def test_a_store_written_before_goes_on_learning_to_the_same_digest(
    store: tuple[str, Path],
) -> None:
    name, path = store
    expected = EXPECTED[name]
    english, french = sample.lines("en"), sample.lines("fr")
    with Wire(path, resolve({"batch_size": 16}, environment={})) as wire:
        wire.ingest([*english[60:110], *french[40:70]])
        assert _digest(wire) == expected["after_ingest"]
        wire.domains.merge([domain["id"] for domain in wire.domains(lang="en")][-4:-2])
        wire.topics()
        wire.runs.undo()
        wire.domains.merge_similar()
        wire.domains.split_broad()
        wire.domains.reassign()
        assert _digest(wire) == expected["after_curation"]
        wire.forget(english[25]["id"])
        assert _digest(wire) == expected["after_forget"]

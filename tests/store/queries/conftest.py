"""A store with a few stories, shared by the tests of the queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.settings import resolve


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a store with 80 stories, topics, sections and one validation. Read only."""
    path = tmp_path_factory.mktemp("queries") / "wire.db"
    with Wire(path, resolve({"lang": "en"}, environment={})) as wire:
        wire.ingest(sample.lines("en")[:80])
        wire.topics(limit=0)
        wire.sections(k=2, limit=0)
        wire.validate(min_units=1, stability=0)
    return path


@pytest.fixture
def sampled(sample_path: Path) -> Wire:
    """A reader of that store."""
    return Wire(sample_path, resolve({"lang": "en"}, environment={}))

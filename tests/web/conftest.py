"""A store in two languages, and clients of the application on it."""

from __future__ import annotations

import datetime
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from segapsith import federate, web
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.settings import resolve

TOKEN = "a-token-for-the-tests"
HOST = "http://127.0.0.1:8787"
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="session")
def shown_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a store with two nights of stories, topics and two validations. Read only."""
    path = tmp_path_factory.mktemp("web") / "wire.db"
    with Wire(path, resolve({}, environment={})) as wire:
        wire.ingest([{**item, "lang": "en"} for item in sample.lines("en")[:60]])
        wire.ingest([{**item, "lang": "fr"} for item in sample.lines("fr")[:30]])
        wire.topics(limit=0)
        wire.validate(min_units=1, stability=0, lang="en")
        wire.ingest([{**item, "lang": "en"} for item in sample.lines("en")[60:110]])
        wire.sections(limit=0)
        wire.validate(min_units=1, stability=0, lang="en")
    return path


def mixed_stories(lang: str, count: int) -> list[dict[str, Any]]:
    """Short stories of sentences of the sample wire; every 90th has no date, one title is long."""
    rng, own = random.Random(count), sample.lines(lang)
    start = datetime.datetime(2026, 1, 1, 6, tzinfo=datetime.UTC)
    stories: list[dict[str, Any]] = []
    for i in range(count):
        at = rng.randrange(len(own) - 3)
        sentences = [
            sentence
            for one in own[at : at + 3]
            for sentence in re.split(r"(?<=[.!?])\s+", one["text"])
        ]
        date = (start + datetime.timedelta(minutes=90 * i)).isoformat()
        stories.append(
            {
                "id": f"{lang}-{i}",
                "title": own[at]["title"] + (", and more of it" * 20 if i == 7 else ""),
                "text": " ".join(rng.sample(sentences, min(4, len(sentences)))),
                "lang": lang,
                "source": own[at]["source"],
                "date": date if i % 90 else None,
            }
        )
    return stories


@pytest.fixture(scope="session")
def large_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a store of 2,000 stories in two languages with sections and two validations."""
    path = tmp_path_factory.mktemp("large") / "wire.db"
    english = mixed_stories("en", 1200)
    with Wire(path, resolve({}, environment={})) as wire:
        wire.ingest(english[:1000])
        wire.ingest(mixed_stories("fr", 800))
        wire.sections(limit=0)
        wire.validate(min_units=1, stability=0, lang="en")
        wire.ingest(english[1000:])
        wire.validate(min_units=1, stability=0, lang="en")
    return path


@pytest.fixture
def client(shown_path: Path) -> Iterator[TestClient]:
    """A client with the token, that may only read."""
    application = web.app(shown_path, token=TOKEN)
    with TestClient(application, HOST, headers=BEARER, follow_redirects=False) as one:
        yield one


@pytest.fixture
def own_path(shown_path: Path, tmp_path: Path) -> Path:
    """The path of a copy of the store that a test may change."""
    path = tmp_path / "own.db"
    shutil.copy(shown_path, path)
    return path


@pytest.fixture
def steering(own_path: Path) -> Iterator[TestClient]:
    """A client that may change a copy of the store, as a page of it would."""
    application = web.app(own_path, token=TOKEN, allow_changes=True, wait_seconds=0.1)
    headers = {**BEARER, "origin": HOST}
    with TestClient(application, HOST, headers=headers, follow_redirects=False) as one:
        yield one


@pytest.fixture
def digest() -> Callable[[Path], str]:
    """Returns the digest of a store."""
    return lambda path: Wire(path).status().digest


@pytest.fixture
def view(own_path: Path, tmp_path: Path) -> Path:
    """The directory of a view of a store and its copy, so every domain is in both."""
    other = Path(shutil.copy(own_path, tmp_path / "other.db"))
    federate([own_path, other], tmp_path / "view", min_units=2)
    return tmp_path / "view"


@pytest.fixture
def federated(own_path: Path, view: Path) -> Iterator[TestClient]:
    application = web.app(own_path, token=TOKEN, federation=view)
    with TestClient(application, HOST, headers=BEARER, follow_redirects=False) as one:
        yield one

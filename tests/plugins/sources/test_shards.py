"""Shards as a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.shards import Shards

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(Shards)


def test_its_samples_are_claimed(
    sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample("prepared/stories.shard")) == "prepared"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(Shards, "prepared")


def test_stories_come_with_what_was_prepared(
    items: Items, sample: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith_plugins.sources.shards.texts_version", lambda: "sample rules")
    story, reject, unit = items(Shards, sample("prepared/stories.shard"))
    assert isinstance(story, Document) and story.prepared is not None
    assert story.title == "Storm cuts power" and story.prepared.is_of(story)
    assert story.prepared.words is not None
    assert list(story.prepared.words.lemmas)[:3] == ["storm", "cut", "power"]
    assert reject == Reject("line 2", "it is a list, not an object")
    assert isinstance(unit, Document) and unit.bag == {"river": 2} and unit.prepared is None


def test_a_damaged_shard_is_one_reject(items: Items, sample: Callable[[str], bytes]) -> None:
    (reject,) = items(Shards, sample("prepared/stories.shard")[:-1])
    assert isinstance(reject, Reject) and reject.name == "sample"
    assert reject.reason.startswith("the shard is damaged")

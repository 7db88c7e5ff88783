"""Search by words, period, language and source agrees with a search text by text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.queries.browsing import story_search
from segapsith_store.queries.browsing.story_search import (
    MARKS,
    StoryHits,
    StoryQuery,
    find_stories,
    read_columns,
)

STORIES = sample.lines("en")[:80]


def find(wire: Wire, query: StoryQuery, **more: int) -> StoryHits:
    return wire.read(
        lambda store: find_stories(store, query, read_columns(store), limit=200, **more)
    )


def has(item: dict[str, str], word: str) -> bool:
    text = f"{item.get('title', '')} {item['text']}".lower()
    return word in re.findall(r"\w+", text)


@pytest.mark.parametrize("word", ["bank", "the", "storm", "xyzzy"])
def test_the_stories_with_a_word_are_found(sampled: Wire, word: str) -> None:
    hits = find(sampled, StoryQuery(word))
    expected = {item["id"] for item in STORIES if has(item, word)}
    assert {hit.id for hit in hits.stories} == expected and hits.total == len(expected)
    assert all(MARKS[0] in hit.snippet and MARKS[1] in hit.snippet for hit in hits.stories)
    assert sum(hits.days.values()) == sum(hit.date is not None for hit in hits.stories)


def test_a_period_language_and_source_restrict(sampled: Wire) -> None:
    days = sorted({item["date"][:10] for item in STORIES if item.get("date")})
    middle = days[len(days) // 2]
    late = find(sampled, StoryQuery(since=middle))
    early = find(sampled, StoryQuery(until=middle))
    both = find(sampled, StoryQuery(since=middle, until=middle))
    assert late.total + early.total - both.total == find(sampled, StoryQuery()).total
    assert find(sampled, StoryQuery(lang="fr")).total == 0
    assert find(sampled, StoryQuery(lang="en")).total == find(sampled, StoryQuery()).total
    assert find(sampled, StoryQuery(source="nobody")).total == 0


def test_too_many_hits_are_ordered_by_date(sampled: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_search, "MOST_RANKED", 3)
    hits = find(sampled, StoryQuery("the"))
    days = [hit.date[:10] for hit in hits.stories if hit.date]
    assert not hits.ranked and days == sorted(days, reverse=True)


def test_pages_follow_each_other(sampled: Wire) -> None:
    for query in (StoryQuery("the"), StoryQuery("the", newest=True)):
        whole = find(sampled, query).stories
        first = sampled.read(lambda s, q=query: find_stories(s, q, read_columns(s), limit=5))
        second = sampled.read(
            lambda s, q=query: find_stories(s, q, read_columns(s), limit=5, offset=5)
        )
        assert [*first.stories, *second.stories] == whole[:10]


def test_reading_again_gives_the_same_columns(sampled: Wire) -> None:
    first = sampled.read(read_columns)
    again = sampled.read(lambda store: read_columns(store, first))
    assert (again.documents == first.documents).all() and again.names == first.names
    assert first.languages() == ["en"] and sum(first.count_sources().values()) == 80


def test_documents_restrict_the_search(sampled: Wire) -> None:
    columns = sampled.read(read_columns)
    some = np.unique(columns.documents)[1:4]
    hits = sampled.read(lambda s: find_stories(s, StoryQuery(), columns, documents=some))
    assert hits.total == 3

"""Full-text search."""

from __future__ import annotations

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError, UsageError
from segapsith_store.queries.search import describe_document, matching_documents, search


def test_every_hit_contains_all_the_words(sampled: Wire) -> None:
    word = sampled.domains(limit=1, top=1)[0].words[0].word
    result = sampled.read(lambda store: search(store, word))
    assert result.domains
    assert all(word in hit.words or hit.matches >= 2 for hit in result.domains)
    assert len(sampled.read(lambda store: search(store, word, 1)).documents) <= 1
    assert sampled.read(lambda store: search(store, f"{word} nowhereatall")).documents == []


def test_marks_of_the_query_language_are_taken_literally(sampled: Wire) -> None:
    for query in ('"', "a OR b", "title:x", "(", "x*"):
        sampled.read(lambda store, query=query: search(store, query))
    with pytest.raises(UsageError, match="at least one word"):
        sampled.read(lambda store: search(store, "  "))


def test_a_document_is_described_as_it_is_found(sampled: Wire) -> None:
    summaries = sampled.read(lambda store: matching_documents(store, "the"))
    assert summaries
    for summary in summaries[:3]:
        described = sampled.read(lambda store, uid=summary.id: describe_document(store, uid))
        assert described == summary
    with pytest.raises(MissingInputError, match="no document is called 'nobody'"):
        sampled.read(lambda store: describe_document(store, "nobody"))

"""Ready units, many at once: the same as each by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith import limits
from segapsith.domains.index import DomainIndex
from segapsith.engine.arrivals import sound, sound_all
from segapsith.engine.state import State
from segapsith.intake.bag_batch import BagBatch, Row
from segapsith.model import Document, Reject

words = st.text("abé𝄞 \ufffd", min_size=1, max_size=4)
bags = st.lists(st.dictionaries(words, st.integers(1, 12_345), min_size=1), max_size=6)


def rows(given: list[dict[str, int]]) -> list[Mapping[str, int]]:
    """The bags as rows of one matrix."""
    names = sorted({word for bag in given for word in bag})
    return [
        Row(
            names,
            np.array([names.index(word) for word in sorted(bag)], dtype=np.int32),
            np.array([bag[word] for word in sorted(bag)], dtype=np.int64),
        )
        for bag in given
    ]


def plain_hash(bag: Mapping[str, int]) -> str:
    content = "\0".join([*sorted(bag), str([bag[word] for word in sorted(bag)])])
    return hashlib.sha256(content.encode()).hexdigest()


@settings(deadline=None)  # kernels are compiled on first use
@given(bags)
def test_a_row_is_the_bag_that_it_was_made_of(given: list[dict[str, int]]) -> None:
    for row, bag in zip(rows(given), given, strict=True):
        assert row == bag
        assert (len(row), sorted(row.values())) == (len(bag), sorted(bag.values()))
        assert {word: row[word] for word in bag} == bag
        assert "nowhere" not in row


@pytest.mark.slow
@settings(deadline=None)  # kernels are compiled on first use
@given(bags)
def test_hashes_are_those_of_each_bag(given: list[dict[str, int]]) -> None:
    wanted = [plain_hash(bag) for bag in given]
    assert list(BagBatch.of(given).hashes()) == wanted
    assert list(BagBatch.of(rows(given)).hashes()) == wanted
    mixed = [pair[place % 2] for place, pair in enumerate(zip(given, rows(given), strict=True))]
    assert list(BagBatch.of(mixed).hashes()) == wanted


@pytest.mark.slow
@settings(deadline=None)  # kernels are compiled on first use
@given(bags, st.data())
def test_numbers_and_weights_are_those_of_units_one_at_a_time(
    given: list[dict[str, int]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(given)))
    alone, together = State(DomainIndex()), State(DomainIndex())
    bag_batch = BagBatch.of(given)
    found = []
    for places in (range(cut), range(cut, len(given))):
        if places:
            units, sizes = together.bags("en", bag_batch, list(places))
            found += [(units.bag(number), size) for number, size in enumerate(sizes)]
    for (bag, n_words), named in zip(found, given, strict=True):
        assert n_words == sum(named.values())
        repeated = [word for word in sorted(named) for _ in range(named[word])]
        wanted = alone.bag("en", alone.numbered("en", repeated))
        for ours, theirs in zip(bag, wanted, strict=True):
            assert np.array_equal(ours, theirs)
    assert list(together.vocabulary.words) == list(alone.vocabulary.words)


WRONG = (
    {},
    {"a": 0},
    {"a": True},
    {"a": 1.5},
    {"a": 10**30},
    {"": 1},
    {"a" * (limits.MAX_WORD_CHARS + 1): 1},
    {"a": limits.MAX_BAG_WORDS, "b": 1},
)


@settings(deadline=None)  # kernels are compiled on first use
@given(st.lists(st.one_of(st.sampled_from(WRONG), st.just({"a": 2, "b\0": 1}), st.just({"c": 1}))))
def test_units_are_sound_together_as_each_by_itself(given: list[dict[str, int]]) -> None:
    items: list[Document | Reject] = [
        Document(uid="x" * (990 + 4 * place), bag=bag) for place, bag in enumerate(given)
    ]
    items.insert(len(items) // 2, Document(body="A text."))
    found, bag_batch = sound_all(items)
    assert found == [sound(item) for item in items]
    taken = [item.bag for item in found if isinstance(item, Document) and item.bag is not None]
    assert list(bag_batch.hashes()) == [plain_hash(bag) for bag in taken]


units = st.builds(
    Document,
    uid=st.sampled_from(["", "u", " u", "u\0", "x" * (limits.MAX_UID_CHARS + 1)]),
    title=st.sampled_from(["", "", "", "T"]),
    body=st.sampled_from(["", "", "", "\ud800"]),
    date=st.sampled_from([None, "1998-01-04", "soon\0"]),
    lang=st.sampled_from([None, "en", "\0"]),
    source=st.sampled_from(["", "reuters", "\ud800"]),
    metadata=st.sampled_from([{}, {}, {"label": "hail"}, {"label": 1}, {"label\0": "hail"}]),
    bag=st.just({"c": 1}),
)


@given(st.lists(st.one_of(st.just(Document("u", source="s", bag={"d": 2})), units)))
def test_other_fields_are_sound_together_as_each_by_itself(given: list[Document]) -> None:
    found, _ = sound_all(given)
    assert found == [sound(item) for item in given]

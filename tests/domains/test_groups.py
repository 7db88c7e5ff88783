"""How groups of domains keep their numbers, and what distinguishes them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.groups import DomainGroups, contrasts, match_topics
from segapsith.domains.values import DomainWords


def _slow_identified(grouped: DomainGroups, units: dict[int, int], before: dict[int, int]) -> Any:
    """The rule, literally: more than half of a topic's units; of several, most units, then age."""
    members: dict[int, set[int]] = {}
    for domain, label in zip(grouped.domains.tolist(), grouped.groups.tolist(), strict=True):
        members.setdefault(label, set()).add(domain)
    result: dict[int, int | None] = {}
    for label, domains in sorted(members.items()):
        heirs = []
        for topic in set(before.values()):
            old = {d for d in before if before[d] == topic and d in units}
            stayed = sum(units[d] for d in old & domains)
            if 2 * stayed > sum(units[d] for d in old):
                heirs.append((-stayed, topic))
        result[label] = min(heirs)[1] if heirs else None
    return result


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 4)), min_size=1))
def test_a_topic_keeps_its_number_while_most_of_it_stays(
    entries: list[tuple[int, int, int]],
) -> None:
    units = {i + 1: n for i, (n, _, _) in enumerate(entries)}
    before = {i + 1: 10 + topic for i, (_, _, topic) in enumerate(entries) if topic < 4}
    labels = np.unique([label for _, label, _ in entries], return_inverse=True)[1]
    grouped = DomainGroups(np.arange(1, len(entries) + 1), labels.astype(np.int64))
    assert match_topics(grouped, units, before) == _slow_identified(grouped, units, before)


def test_the_order_of_the_groups_does_not_matter_to_identity() -> None:
    units, before = {1: 3, 2: 2, 3: 2}, {1: 5, 2: 5, 3: 6}
    for labels in permutations(range(3)):
        found = match_topics(DomainGroups(np.array([1, 2, 3]), np.array(labels)), units, before)
        assert found[labels[0]] == 5 and found[labels[2]] == 6 and found[labels[1]] is None


def _sums(words: dict[int, int]) -> DomainWords:
    numbers = sorted(words)
    weights = np.array([words[w] for w in numbers], np.int64)
    return DomainWords(np.array(numbers, np.int32), np.full(len(numbers), 4), weights, 4)


def test_words_of_all_sections_come_after_those_of_one() -> None:
    one = _sums({1: 10, 2: 6, 3: 5})
    two = _sums({1: 10, 4: 6, 5: 5})
    first, second = contrasts([one, two])
    assert one.words[first].tolist() == [2, 3, 1]
    assert two.words[second].tolist() == [4, 5, 1]
    assert contrasts([]) == []

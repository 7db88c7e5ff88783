"""Which changes of domains the nightly run makes, and the index that they are tried on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from segapsith.api.maintenance import is_nightly, open_domains
from segapsith.api.wire import Wire
from segapsith.settings import Value, resolve


@pytest.mark.parametrize(
    ("given", "splits", "reassigns"),
    [
        ({"split_and_reassign": True}, True, True),
        ({"split_and_reassign": False}, False, False),
        ({"split_and_reassign": True, "split_similarity": 0.0}, False, True),
        ({"split_and_reassign": True, "reassign_similarity": 0.0}, True, False),
        ({"split_and_reassign": True, "placement": "cosine"}, False, False),
    ],
)
def test_a_step_of_the_night_needs_its_similarity_and_the_built_in_placement(
    given: dict[str, Value], splits: bool, reassigns: bool
) -> None:
    settings = resolve(given, environment={})
    assert is_nightly(settings, "split") is splits
    assert is_nightly(settings, "reassign") is reassigns


def test_the_index_holds_the_open_domains_of_a_language(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn([{"id": str(n), "words": {f"word{n}": 3, f"other{n}": 2}} for n in range(3)])
    wire.domains.retire([2])
    with wire.reading() as store:
        placing = wire.placing(store)
        assert sorted(open_domains(store, placing)) == [1, 3]
        assert sorted(open_domains(store, placing, lang="xx")) == []

"""The series of validations."""

from __future__ import annotations

from segapsith.api.wire import Wire
from segapsith_store.queries.validations import list_validations, read_clustering


def test_a_validation_is_in_the_series_with_its_main_figures(sampled: Wire) -> None:
    (row,) = sampled.read(list_validations)
    assert (row.lang, row.min_units, row.last) == ("", 1, 0)
    assert row.kappa is not None and row.units == row["units"]
    assert sampled.read(lambda store: list_validations(store, "fr")) == []
    assert sampled.read(lambda store: list_validations(store, limit=1)) == [row]


def test_a_run_without_a_clustering_has_none(sampled: Wire) -> None:
    assert sampled.read(lambda store: read_clustering(store, 1)) is None

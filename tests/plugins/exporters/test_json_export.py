"""A snapshot as JSON lines."""

import io
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith import Snapshot
from segapsith.plugin.registry import load_plugins
from segapsith.testing import exporter_checks
from segapsith_plugins.exporters import json_export
from segapsith_plugins.exporters.json_export import JsonExport


def lines(snapshot):
    out = io.BytesIO()
    JsonExport().export(snapshot, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("check", exporter_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(JsonExport)


def test_a_unit_is_a_line_with_its_group_and_words():
    rows = csr_array(np.array([[2.0, 0.0, 0.5], [0.0, 0.0, 0.0]]))
    snapshot = Snapshot("s", np.array([7, 3]), np.array([1, -1]), rows, ["storm", "rain", "été\n"])
    assert lines(snapshot) == [
        {"unit": 7, "label": 1, "words": {"storm": 2, "été\n": 0.5}},
        {"unit": 3, "label": None, "words": {}},
    ]


def test_entries_that_stand_twice_are_summed_and_zeros_left_out():
    rows = csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 3])), (1, 2))
    (line,) = lines(Snapshot("s", np.array([1]), np.array([0]), rows, ["a", "b"]))
    assert line["words"] == {"b": 3}
    assert rows.nnz == 3


def test_what_is_not_finite_is_not_written():
    rows = csr_array(np.array([[np.nan]]))
    with pytest.raises(ValueError, match="not finite"):
        lines(Snapshot("s", np.array([1]), np.array([0]), rows, ["a"]))


def test_it_is_offered():
    registry = load_plugins(json_export, installed=False)
    assert registry.names("exporter") == ["jsonl"]
    registry.make("exporter", "jsonl").export(
        Snapshot("s", np.zeros(0, int), np.zeros(0, int), csr_array((0, 0)), []), io.BytesIO()
    )

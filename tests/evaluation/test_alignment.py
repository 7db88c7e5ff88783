"""Two labellings brought together, and the files that labels come from."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.errors import InputError, UsageError
from segapsith.evaluation.alignment import Side, align, by_text, read_labels

spans = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(1, 20)), max_size=12
)


def side(parts: list[tuple[str, int, int]]) -> Side:
    return Side(
        "side", [d for d, _, _ in parts], list(range(len(parts))), [s for _, s, _ in parts],
        [s + n for _, s, n in parts],
    )  # fmt: skip


@pytest.mark.slow
@settings(deadline=None)
@given(spans, spans)
def test_an_item_meets_what_overlaps_it_most(
    left: list[tuple[str, int, int]], right: list[tuple[str, int, int]]
) -> None:
    ours, theirs = align(side(left), side(right))
    result = dict(zip(ours.tolist(), theirs.tolist(), strict=True))
    for item, (document, start, length) in enumerate(left):
        common = [
            len(set(range(start, start + length)) & set(range(s, s + n))) if d == document else -1
            for d, s, n in right
        ]
        if common and max(common) * 2 >= length:
            assert common[result[item]] == max(common)
        else:
            assert item not in result


def test_a_label_for_the_whole_document_holds_for_all_its_units() -> None:
    units = Side("units", ["a", "a", "b"], [1, 2, 3], [0, 10, 0], [10, 20, 9])
    whole = Side("whole", ["a", "z"], ["x", "y"])
    for left, right, turned in ((units, whole, False), (whole, units, True)):
        ours, theirs = align(left, right)
        if turned:
            ours, theirs = theirs, ours
        assert (ours.tolist(), theirs.tolist()) == ([0, 1], [0, 0])


def test_units_without_text_meet_by_their_document() -> None:
    bags = Side("bags", ["a", "b"], [1, 2], [0, 0], [0, 0])
    assert [part.tolist() for part in align(bags, bags)] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.jsonl.gz", "gold.csv"])
def test_labels_are_read_from_lines_and_tables(tmp_path: Path, name: str) -> None:
    lines = (
        "id,label\na1,sport\na2,trade\na3,\n"
        if name.endswith("csv")
        else '{"id": "a1", "labels": ["sport", "x"]}\n{"id": "a2", "labels": ["trade"]}\n\n'
        '{"id": "a3", "labels": []}\n'
    )
    path = tmp_path / name
    path.write_bytes(gzip.compress(lines.encode()) if name.endswith("gz") else lines.encode())
    result = read_labels(path)
    assert (list(result.documents), list(result.labels)) == (["a1", "a2"], ["sport", "trade"])
    assert result.n_several == (0 if name.endswith("csv") else 1)


def test_a_table_of_bertopic_is_read_by_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "topics.csv"
    path.write_text(
        "Document,Topic,Name,Representation,Probability\n"
        '"Flood\n\nThe river  rose.",0,0_river_flood,"[\'river\']",0.9\n'
        "Rain.,-1,-1_the_of,[],0.0\n"
    )
    result = read_labels(path)
    assert list(result.documents) == [by_text("Flood The river rose.")]
    assert (list(result.labels), result.field) == (["0_river_flood"], "topic")


def test_a_table_of_bertopic_may_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "topics.jsonl"
    path.write_text('{"Document": "x", "Topic": 3, "Name": "3_x", "id": "a"}\n')
    result = read_labels(path)
    assert (list(result.documents), list(result.labels)) == (["a"], ["3_x"])


def test_exported_assignments_are_a_read_labels(tmp_path: Path) -> None:
    path = tmp_path / "assignments.jsonl"
    path.write_text('{"document": "a", "unit": 1, "start": 0, "end": 9, "domain": 4}\n')
    result = read_labels(path)
    assert (result.starts, result.ends, result.labels) == ([0], [9], [4])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gold.txt", "x", r"\.jsonl or \.csv"),
        ("gold.jsonl", "{", "gold.jsonl"),
        ("gold.jsonl", "[1]", "not a JSON object"),
        ("gold.jsonl", '{"label": 1}', "there is no id"),
        ("gold.jsonl", '{"id": 1}', "no item has a label .*found id"),
        ("gold.jsonl", '{"id": 1, "label": null}', "no item has a label"),
        ("gold.jsonl", '{"id": 1, "label": 2, "start": "x", "end": 3}', "should be numbers"),
        ("gold.jsonl.gz", "not gzip", "gold.jsonl.gz"),
        (
            "gold.jsonl",
            '{"id": 1, "label": 2, "start": 1, "end": 3}\n{"id": 2, "label": 2}',
            "some",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises((InputError, UsageError), match=message):
        read_labels(path)


def test_nothing_meets_nothing() -> None:
    assert [part.tolist() for part in align(side([]), side([]))] == [[], []]
    assert align(side([]), side([]))[0].dtype == np.int64

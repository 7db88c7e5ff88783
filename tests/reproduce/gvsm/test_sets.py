"""The sets of the GVSM tables: found by folder, named as in print, with all words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from segapsith.errors import InputError, MissingInputError, UsageError
from segapsith_reproduce import Options, reproduce
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.gvsm import sets
from segapsith_reproduce.gvsm.sets import (
    chosen_sets,
    document_set,
    folder_of,
    missing_sets,
    printed_sets,
    tf_idf_rows,
)
from segapsith_reproduce.printed import shipped
from tests.reproduce.gvsm.conftest import WriteMatrix


def test_sets_of_the_paper_are_found_by_folder(data: Path) -> None:
    assert chosen_sets(data, Options()) == ["tr31", "20 ng", "k1b"]
    assert "tr41" in missing_sets(data) and "k1b" not in missing_sets(data)
    (data / "tr11").rename(data / "tr41")
    assert chosen_sets(data, Options()) == ["tr41", "tr31", "20 ng", "k1b"]


def test_other_sets_are_used_on_request(data: Path) -> None:
    assert chosen_sets(data, Options(sets=("tr11", "20ng-mini", "K1B"))) == ["20 ng", "k1b", "tr11"]
    with pytest.raises(UsageError, match=r"no set of this table is called 'trr31'.*did you mean"):
        chosen_sets(data, Options(sets=("trr31",)))
    with pytest.raises(MissingInputError, match="has no set wap"):
        chosen_sets(data, Options(sets=("wap",)))
    with pytest.raises(MissingInputError, match="has none of"):
        chosen_sets(data / "tr31", Options())


def test_quick_uses_small_sets_if_they_are_there(data: Path) -> None:
    assert chosen_sets(data, Options(quick=True)) == ["tr31"]
    (data / "tr31").rename(data / "other")
    assert chosen_sets(data, Options(quick=True)) == ["20 ng", "k1b"]


def test_words_of_one_document_are_used(data: Path) -> None:
    documents = document_set(data / "k1b")
    counts, classes = documents.matrix, documents.classes
    rows = tf_idf_rows(document_set(data / "k1b"))
    assert len(classes) == rows.shape[0] == 19
    single = np.flatnonzero(np.bincount(counts.indices, minlength=30) == 1)
    assert len(single) and all(rows[:, [column]].nnz == 1 for column in single.tolist())
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    np.testing.assert_allclose(np.delete(lengths, 4), 1.0)
    assert lengths[4] == 0


def test_raw_texts_are_stemmed_without_stop_words(data: Path) -> None:
    documents = document_set(data / "20ng-mini")
    counts, classes = documents.matrix, documents.classes
    assert counts.shape == (8, 7)  # six stems and one of a title; neither "the" nor "and"
    assert classes == ["rec.boats"] * 4 + ["sci.stars"] * 4
    assert counts.sum() == 8 * 3 + 2


def test_numbers_are_no_words_and_names_with_digits_are() -> None:
    counts = sets._stemmed_counts(["The 486dx of 1993 used 33 mhz, i486 did not", "mhz"])
    assert counts.shape == (2, 5)  # 486dx, use, mhz, i486, did
    assert counts.sum() == 6


def test_labels_that_do_not_fit_are_named(data: Path) -> None:
    (data / "tr31" / "labels.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="20 rows, but there are 2 labels"):
        document_set(data / "tr31")


@pytest.mark.parametrize("content", [b"", b"PK", b"documents"])
def test_a_damaged_matrix_is_named(data: Path, content: bytes) -> None:
    (data / "tr31" / "matrix.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"tr31/matrix\.npz is not a sparse matrix"):
        document_set(data / "tr31")


def test_other_sets_are_not_counted_as_sets_of_the_paper(data: Path) -> None:
    notes = reproduce("gvsm-1", data, Options(sets=("tr31", "tr11"))).as_json()["notes"]
    assert "Sets: tr31, tr11 (1 of 13)." in notes


# --- sets that are added -----------------------------------------------------------------

N_OF_A_SET = 6 * 3
"""Cells of a set in tables 5 to 7: models by algorithms."""


def write(data: Path, name: str, write_matrix: WriteMatrix) -> None:
    """Put a small set into the folder under the name of a set of the paper."""
    rng = np.random.default_rng(3)
    classes = np.repeat([0, 1, 2], 6)
    if name == "20 ng":
        (data / "20ng-mini").mkdir()
        words = np.array(["harbour", "sailing", "anchor", "galaxy", "telescope", "planet"])
        with gzip.open(data / "20ng-mini" / "docs.jsonl.gz", "wt", encoding="utf-8") as out:
            for i, label in enumerate(classes.tolist()):
                text = " ".join(rng.choice(words[2 * label : 2 * label + 3], 8))
                out.write(json.dumps({"id": str(i), "label": str(label), "text": text}) + "\n")
        return
    counts = rng.poisson(0.3 + 2.0 * (np.arange(24)[None, :] // 8 == classes[:, None]))
    write_matrix(folder_of(name), counts, [str(label) for label in classes])


@pytest.mark.parametrize("name", printed_sets())
def test_a_set_that_is_added_has_its_printed_sizes(
    name: str, tmp_path: Path, write_matrix: WriteMatrix
) -> None:
    write(tmp_path, name, write_matrix)
    found = reproduce("gvsm-1", tmp_path, Options())
    assert isinstance(found, Comparison)
    printed = {cell.keys["measure"] for cell in shipped("gvsm-1") if cell.keys["set"] == name}
    assert {cell.ours.keys["measure"] for cell in found.compared} == printed
    assert {cell.ours.keys["set"] for cell in found.compared} == {name}
    missing = ", ".join(missing_sets(tmp_path))
    assert len(missing_sets(tmp_path)) == 12 and any(missing in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["gvsm-5", "gvsm-6", "gvsm-7"])
@pytest.mark.parametrize("names", [("tr41", "k1b"), ("Classic", "20 ng")])
def test_sets_that_are_added_have_their_printed_scores(
    table: str, names: tuple[str, ...], tmp_path: Path, write_matrix: WriteMatrix
) -> None:
    for name in names:
        write(tmp_path, name, write_matrix)
    found = reproduce(table, tmp_path, Options(quick=True, repetitions=1))
    assert isinstance(found, Comparison)
    compared = {(cell.ours.keys["set"], id(cell)) for cell in found.compared}
    for name in names:
        assert sum(of == name for of, _ in compared) == N_OF_A_SET


@pytest.mark.slow
@pytest.mark.parametrize("table", ["gvsm-2", "gvsm-3", "gvsm-4", "gvsm-8"])
def test_means_are_over_all_sets_that_are_there(
    table: str, tmp_path: Path, write_matrix: WriteMatrix
) -> None:
    for name in ("tr31", "tr41", "k1b"):
        write(tmp_path, name, write_matrix)
    found = reproduce(
        table, tmp_path, Options(repetitions=1, quick=True, sets=("tr31", "tr41", "k1b"))
    )
    assert isinstance(found, Comparison)
    assert any("(3 of 13)" in note for note in found.notes)
    of_measures = [c for c in shipped(table) if c.keys["measure"] != "run-time"]
    assert len(found.compared) == len(of_measures)

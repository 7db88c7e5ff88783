"""The sets of the GVSM tables: found by folder, named as in print, with all words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from segapsith.errors import InputError, MissingInputError, UsageError
from segapsith_reproduce import Options
from segapsith_reproduce.gvsm import sets
from segapsith_reproduce.gvsm.sets import chosen_sets, document_set, missing_sets, tf_idf_rows


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

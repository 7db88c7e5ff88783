"""Count matrices as units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith.api.wire import Wire
from segapsith.errors import InputError
from segapsith.io.count_matrices import count_matrix
from segapsith.io.inputs import Inputs
from segapsith.model import Document, Reject


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    folder = tmp_path / "tdt"
    folder.mkdir()
    save_npz(folder / "matrix.npz", csr_array(np.array([[2, 0, 1], [0, 3, 0], [0, 0, 0]])))
    (folder / "labels.txt").write_text("b\na\na\n")
    (folder / "dates.txt").write_text("1998-02-01\n1998-01-01\n1998-03-01\n")
    return folder / "matrix.npz"


def test_rows_come_in_the_order_of_their_dates_with_their_labels(matrix: Path) -> None:
    found = [item for item in count_matrix(matrix) if isinstance(item, Document)]
    assert [item.uid for item in found] == ["tdt:1", "tdt:0", "tdt:2"]
    assert [item.bag for item in found] == [{"w1": 3}, {"w0": 2, "w2": 1}, {}]
    assert found[0].metadata == {"label": "a"}
    assert found[0].date == "1998-01-01"


def test_words_may_have_names(matrix: Path) -> None:
    matrix.with_name("words.txt").write_text("flood\nstrike\ntown\n")
    assert next(iter(count_matrix(matrix))).bag == {"strike": 3}  # type: ignore[union-attr]  # a document


def test_the_inputs_know_them(matrix: Path) -> None:
    assert len(list(Inputs([str(matrix)], {}, None, True).items())) == 3


def test_what_is_no_count_is_refused(tmp_path: Path) -> None:
    save_npz(tmp_path / "matrix.npz", csr_array(np.array([[0.5, 0.0], [0.0, 2.0]])))
    first, second = count_matrix(tmp_path / "matrix.npz")
    assert isinstance(first, Reject)
    assert isinstance(second, Document)
    (tmp_path / "dates.txt").write_text("1998-01-01\n")
    with pytest.raises(InputError, match="2"):
        list(count_matrix(tmp_path / "matrix.npz"))
    (tmp_path / "bad.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="not a sparse matrix"):
        list(count_matrix(tmp_path / "bad.npz"))


def test_a_ready_unit_has_no_text_whatever_its_source_says(tmp_path: Path) -> None:
    unit = Document(uid="u", title="A title", body="A body.", bag={"storm": 2, "rain": 1})
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest([unit, Document(uid="v", body="Rain and a storm.", lang="en")])
        kept = wire.writer.row("SELECT title, body, metadata, words FROM versions WHERE id = 1")
        assert kept == ("", "", '{"title": "A title"}', b"")
        assert wire.verify().sound, wire.verify().faults
        wire.forget("u")
        assert wire.verify().sound

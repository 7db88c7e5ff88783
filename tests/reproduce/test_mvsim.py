"""The tables of MVSim in the layout of the paper, on small sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith.errors import InputError, MissingInputError, UsageError
from segapsith_reproduce import Options, reproduce
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.printed import shipped

pytestmark = pytest.mark.slow


def with_set(data: Path, name: str, classes: list[str], **matrices: Any) -> None:
    (data / name).mkdir()
    (data / name / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    for matrix, values in matrices.items():
        save_npz(data / name / f"{matrix}.npz", csr_array(values))


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Sets with a class of one document, empty rows and columns, a document without links."""
    rng = np.random.default_rng(1)
    classes = ["a"] * 9 + ["b"] * 9 + ["alone"]
    counts = rng.poisson(0.4, (19, 30)) + 2 * np.eye(19, 30, dtype=int)
    counts[4] = 0
    counts[:, 7] = 0
    links = (rng.random((19, 19)) < 0.2).astype(int)
    links[3] = links[:, 3] = 0
    with_set(tmp_path, "cornell", classes, content=counts, links=links)
    with_set(tmp_path, "imdb", classes, keywords=counts, actors=counts[:, ::-1])
    return tmp_path


def compared(name: str, data: Path, **more: Any) -> Comparison:
    result = reproduce(name, data, Options(quick=True, **more))
    assert isinstance(result, Comparison)
    return result


def test_sizes_are_those_of_the_matrices(odd: Path) -> None:
    found = compared("mvsim-1", odd)
    rows = {(row["set"], row["measure"]): row["ours"] for row in found.as_json()["rows"]}
    assert rows["Cornell", "documents"] == 19
    assert rows["Cornell", "clusters"] == 3
    assert rows["IMDb", "keywords"] == 30
    assert any("cora, citeseer" in note for note in found.notes)


def test_each_set_has_its_printed_methods_and_mvsim(odd: Path) -> None:
    found = compared("mvsim-2", odd)
    assert len(found.compared) == 3 * 2
    assert all(0 <= float(cell.ours.ours) <= 100 for cell in found.cells)
    printed = {cell.keys["set"] for cell in shipped("mvsim-2")}
    assert {cell.keys["set"] for cell in found.unmatched} == printed - {"Cornell", "Movie"}


def test_a_set_that_is_put_there_is_used(odd: Path) -> None:
    for name in ("citeseer", "wisconsin", "texas", "washington", "cora"):
        (odd / name).symlink_to(odd / "cornell")
    options = {"sets": ("citeseer", "wisconsin")}
    assert len(compared("mvsim-2", odd, **options).compared) == 6
    entropy = compared("mvsim-3", odd, **options)
    assert [cell.ours.keys["set"] for cell in entropy.compared] == ["CiteSeer"] * 3
    assert all(0 <= float(cell.ours.ours) <= np.log(3) for cell in entropy.cells)
    assert len(compared("mvsim-1", odd, **options).compared) == 8
    by_print = compared("mvsim-1", odd, sets=("CiteSeer", "Wisconsin", "movie"))
    assert len({cell.ours.keys["set"] for cell in by_print.compared}) == 3


def test_the_best_settings_are_named(odd: Path) -> None:
    rows = compared("mvsim-2", odd, sets=("cornell",)).as_json()["rows"]
    settings = {row["model"]: row["settings"] for row in rows}
    assert settings["MVSim"]["combine"] == "max"
    assert settings["chi-Sim"]["k"] in (0.8, 1.0)


def test_the_same_settings_for_all_sets_are_shown_too(odd: Path) -> None:
    found = compared("mvsim-2", odd)
    by_model = {c.ours.keys["model"]: c.ours for c in found.cells}
    for model in ("chi-Sim", "MVSim"):
        assert 0 <= by_model[model].more["fixed"] <= float(by_model[model].ours)
    assert by_model["LSA"].more["fixed"] is None
    assert any(
        "for all sets" in note and "of 4 χ-Sim and MVSim cells" in note for note in found.notes
    )


def test_citations_have_more_rounds_to_choose_from(odd: Path, tmp_path: Path) -> None:
    (odd / "cora").symlink_to(odd / "cornell")
    stored = tmp_path / "results.jsonl"
    reproduce("mvsim-2", odd, Options(sets=("cora", "cornell"), results=stored))
    cells = [json.loads(line)["cell"] for line in stored.read_text().splitlines()]
    more = [cell for cell in cells if '"iterations": 12' in cell]
    assert {tuple(cell.split()[1:3]) for cell in more} == {("cora", "chi-sim"), ("cora", "mvsim")}


def test_split_matrices_have_as_many_words_each(messages: Path) -> None:
    found = compared("mvsim-4", messages)
    assert [cell.ours.keys["model"] for cell in found.cells] == ["MVSim 1x500", "MVSim 2x500"]
    assert all(cell.printed is not None for cell in found.cells)


def test_other_sets_and_options_are_refused(odd: Path) -> None:
    with pytest.raises(UsageError, match=r"no set of this table is called 'cornel'.*did you mean"):
        reproduce("mvsim-2", odd, Options(sets=("cornel",)))
    with pytest.raises(UsageError, match="does not accept --repetitions"):
        reproduce("mvsim-2", odd, Options(repetitions=2))
    with pytest.raises(MissingInputError, match="has none of"):
        reproduce("mvsim-2", odd / "cornell", Options())


def test_an_incomplete_set_is_named_and_left_out(odd: Path) -> None:
    (odd / "cora").mkdir()
    (odd / "cora" / "labels.txt").write_text("a\nb\n")
    found = compared("mvsim-1", odd)
    assert any(note.startswith("Missing or incomplete") and "cora" in note for note in found.notes)
    with pytest.raises(MissingInputError, match="none of cora"):
        reproduce("mvsim-1", odd, Options(sets=("cora",)))
    save_npz(odd / "cornell" / "links.npz", csr_array(np.ones((19, 3))))
    with pytest.raises(InputError, match="19 rows and 3 columns"):
        reproduce("mvsim-2", odd, Options(sets=("cornell",)))

"""The tables: how they are found, and that their figures are those of the data."""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError, UsageError
from segapsith.settings import resolve
from segapsith_reproduce import TABLES, Options, Reproduction, Table, reproduce
from segapsith_reproduce.inferred import SETS, Units, auc, pairs

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]


def test_every_table_has_a_function_and_a_line_of_help() -> None:
    for found in TABLES.values():
        module, _, name = found.home.partition(":")
        assert callable(getattr(importlib.import_module(f"segapsith_reproduce.{module}"), name))
        assert found.about and "\n" not in found.about


def test_an_unknown_table_and_absent_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table is called 'nothing'"):
        reproduce("nothing", tmp_path)
    with pytest.raises(MissingInputError, match="has no directory choi"):
        Reproduction("a table", "nowhere:table", ("choi",)).compute(tmp_path, Options())


def test_a_table_is_a_list_of_named_cells() -> None:
    found = Table("one", ["set", "Pk"], [["choi", 8.5]], ["a note"])
    assert found.as_json() == {
        "title": "one",
        "rows": [{"set": "choi", "Pk": 8.5}],
        "notes": ["a note"],
    }


def test_the_command_lists_the_tables(command: Run) -> None:
    code, out, _ = command("reproduce", "--json")
    assert code == 0
    assert json.loads(out) == {name: found.about for name, found in TABLES.items()}
    code, _, err = command("reproduce", "choi")
    assert code == 2 and "--data" in err


# -- segmentation --------------------------------------------------------------------------


def write_set(folder: Path, name: str, documents: list[dict[str, object]]) -> None:
    (folder / name).mkdir()
    with gzip.open(folder / name / "docs.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(document) + "\n" for document in documents)


RIVER = "The river and the flood took the bridge near the dam ."
MARKET = "The bank and the broker sold the share for a dividend ."


def test_a_table_of_segmentation_has_every_contender(tmp_path: Path) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 6 + [MARKET] * 6, "segments": [6, 6]}
    write_set(tmp_path, "clinical", [joined, {**joined, "id": "2"}])
    without = reproduce("clinical", tmp_path)
    assert any("segmenters that need a network are left out" in note for note in without.notes)
    write_set(tmp_path, "reuters21578", [{"id": i, "text": RIVER * 3} for i in range(20)])
    write_set(tmp_path, "20ng", [{"id": i, "text": MARKET * 3} for i in range(20)])
    found = reproduce("clinical", tmp_path).as_json()["rows"]
    by_name = {row["segmenter"]: row for row in found}
    assert {"cohesion", "cohesion + network", "segcohlex", "lcp", "TextTiling", "C99"} <= set(
        by_name
    )
    assert by_name["cohesion"]["Pk"] == 0 and by_name["cohesion"]["found"] == 1
    assert by_name["no boundary"]["found"] == 0.5
    assert by_name["every k"]["WindowDiff"] == 0  # it knows the mean length


def test_parts_of_a_set_are_scored_alone_and_together(tmp_path: Path) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 4 + [MARKET] * 4, "segments": [4, 4], "set": 1}
    write_set(tmp_path, "choi", [{**joined, "subset": "3-5"}, {**joined, "subset": "9-11"}])
    rows = reproduce("choi", tmp_path).as_json()["rows"]
    assert {r["part"] for r in rows} == {"3-5", "9-11", "all"}
    assert all(r["documents"] == (2 if r["part"] == "all" else 1) for r in rows)


def test_a_store_can_teach_the_contenders(command: Run, tmp_path: Path) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 6 + [MARKET] * 6, "segments": [6, 6]}
    write_set(tmp_path, "clinical", [joined])
    with Wire(tmp_path / "s.db", resolve({"lang": "en"}, environment={})) as wire:
        wire.network.build({"id": str(i), "text": t * 3} for i, t in enumerate([RIVER, MARKET] * 9))
    code, out, _ = command(
        "reproduce", "clinical", "--data", str(tmp_path), "--store", "s.db", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert "segcohlex" in {row["segmenter"] for row in found["rows"]}
    assert any("of the store s.db" in note for note in found["notes"])
    assert command("reproduce", "clinical", "--data", str(tmp_path), "--store", "no.db")[0] == 78
    write_set(tmp_path, "tdt2", [])
    code, _, err = command("reproduce", "order", "--data", str(tmp_path), "--store", "s.db")
    assert code == 2 and "segmentation" in err


# -- inferred words ------------------------------------------------------------------------


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(0)
    high, low = rng.integers(0, 5, 30).astype(float), rng.integers(0, 4, 20).astype(float)
    order = np.sign(high[:, None] - low[None, :])
    assert auc(high, low) == pytest.approx(((order + 1) / 2).mean())
    up, down = rng.integers(0, 3, 30), rng.integers(0, 3, 20)
    again = np.repeat(high, up), np.repeat(low, down)
    assert auc(high, low, (up, down)) == pytest.approx(auc(*again))


def test_pairs_share_a_label_or_none() -> None:
    labels = [frozenset(label) for label in ("a", "ab", "b", "c", "c")]
    same, different = pairs(labels, 3, 0)
    assert len(same) == len(different) > 0
    assert all(labels[i] & labels[j] and i != j for i, j in same.tolist())
    assert not any(labels[i] & labels[j] for i, j in different.tolist())


def test_the_similarity_of_pairs_is_eq_7() -> None:
    weights = np.array([[1.0, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 0.0, 0.0]])
    units = Units(csr_array(weights), csr_array((weights > 0).astype(float)))
    shares = (0.5 / 1.5, 1 / 2, 0.25 / 1.0, 1 / 2)
    found = units.similarity(np.array([[0, 1], [1, 1], [0, 2]]))
    assert found == pytest.approx([np.prod(shares) ** 0.25, 1.0, 0.0])


def test_the_table_of_inferred_words_compares_every_rule(tmp_path: Path) -> None:
    river, market = {"text": RIVER * 4, "labels": ["r"]}, {"text": MARKET * 4, "labels": ["m"]}
    texts = [river, river, market, market] * 3  # every second one serves for choosing
    write_set(tmp_path, "reuters21578", texts)
    write_set(tmp_path, "orangesum-fr", [{"text": t["text"], "tags": t["labels"]} for t in texts])
    rows = reproduce("inferred", tmp_path).as_json()["rows"]
    assert all(0 <= row["AUC"] <= 1 for row in rows)
    plain = [row["AUC"] for row in rows if row["rule"] == "words of the text"]
    assert len(plain) == 2 and plain[0] == 1.0
    assert all(row["from"] <= row["to"] for row in rows if row["factor"])
    assert [row["set"] for row in rows if row["rule"] == "chosen"] == list(SETS)
    assert len({(row["set"], row["share"], row["most"], row["factor"]) for row in rows}) == len(
        rows
    )

"""Inferred words: the area under the curve, pairs of texts, eq. 7, and the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith_reproduce import reproduce
from segapsith_reproduce.inferred import SETS, Units, auc, pairs

WriteSet = Callable[[str, list[dict[str, object]]], None]

RIVER = "The river and the flood took the bridge near the dam ."
MARKET = "The bank and the broker sold the share for a dividend ."


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


@pytest.mark.slow
def test_the_table_of_inferred_words_compares_every_rule(
    tmp_path: Path, write_set: WriteSet
) -> None:
    river, market = {"text": RIVER * 4, "labels": ["r"]}, {"text": MARKET * 4, "labels": ["m"]}
    texts = [river, river, market, market] * 3  # every second one serves for choosing
    write_set("reuters21578", texts)
    write_set("orangesum-fr", [{"text": t["text"], "tags": t["labels"]} for t in texts])
    rows = reproduce("inferred", tmp_path).as_json()["rows"]
    assert all(0 <= row["AUC"] <= 1 for row in rows)
    plain = [row["AUC"] for row in rows if row["rule"] == "words of the text"]
    assert len(plain) == 2 and plain[0] == 1.0
    assert all(row["from"] <= row["to"] for row in rows if row["factor"])
    assert [row["set"] for row in rows if row["rule"] == "chosen"] == list(SETS)
    assert len({(row["set"], row["share"], row["most"], row["factor"]) for row in rows}) == len(
        rows
    )

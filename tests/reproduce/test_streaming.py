"""The table of streams: every level, the best one, and the rivals in one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.errors import MissingInputError, UsageError
from segapsith_reproduce import Options, reproduce, streaming
from segapsith_reproduce.streams import embedding_rivals, rivals
from segapsith_reproduce.streams.levels import LEVELS
from tests.reproduce.conftest import WriteSet

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

TEXTS = {
    "boats": "The harbour pilot moored the sailing boat, with anchor, keel and rudder.",
    "stars": "A telescope follows the comet, the planet and the galaxy through its orbit.",
}


@pytest.fixture
def data(tmp_path: Path, write_set: WriteSet) -> Path:
    write_set(
        "new-set",
        [
            {
                "id": f"{name}-{n}", "event": name, "date": f"2020-01-{1 + n % 28:02}",
                "title": "", "text": f"{text} {name}{n}",
            }
            for n in range(20)
            for name, text in TEXTS.items()
        ],
    )  # fmt: skip
    return tmp_path


def test_a_set_that_nobody_knew_has_every_level_and_rival(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_rivals, "find_spec", lambda _: None)
    rows = reproduce("streaming", data, Options(sets=("new-set",))).as_json()["rows"]
    systems = [row["system"] for row in rows]
    assert systems[: len(LEVELS)] == list(LEVELS)
    assert [system.split()[0] for system in systems[len(LEVELS) :]] == [
        "best:", "single", "tuned", "Louvain", "k-means",
    ]  # fmt: skip
    for row in rows:
        if row["system"] in ("domains", "topics", "sections", "k-means 2"):
            figures = [
                row[name] for name in ("groups", "F1", "AMI", "ARI", "w F1", "w ARI", "C_det")
            ]
            assert figures == [2, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert next(row for row in rows if row["system"] == "domains")["ids"] == 1.0


def test_halves_score_other_documents(data: Path, command: Run) -> None:
    found = {}
    for half in ("first", "second"):
        code, out, _ = command(
            "reproduce", "streaming", "--data", str(data), "--set", "new-set", "--quick",
            "--half", half, "--json",
        )  # fmt: skip
        assert code == 0
        found[half] = json.loads(out)
        assert any(f"the {half} half" in note for note in found[half]["notes"])
    assert command("reproduce", "streaming", "--data", str(data), "--half", "third")[0] == 2
    with pytest.raises(UsageError, match="does not accept --half"):
        reproduce("order", data, Options(half="first"))


def test_rivals_with_embeddings_are_in_the_table(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[float("boat" in t), float("planet" in t)] for t in texts], np.float32)

    def topics(texts: Sequence[str], vectors: NDArray[np.float32], seed: int) -> Labels:
        return vectors.argmax(axis=1)

    monkeypatch.setattr(embedding_rivals, "find_spec", lambda _: True)
    monkeypatch.setattr(embedding_rivals, "embed", embed)
    monkeypatch.setattr(embedding_rivals, "bertopic_labels", topics)
    table = reproduce("streaming", data, Options(quick=True, sets=("new-set",)))
    f1 = {row[1]: row[5] for row in table.rows}
    assert f1["MiniLM 0.3"] == f1["BERTopic"] == 1.0
    assert not any("segapsith[rivals]" in note for note in table.notes)


def test_stored_figures_are_not_computed_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(quick=True, sets=("new-set",), results=tmp_path / "results.jsonl")
    table = reproduce("streaming", data, options)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("learned again")

    monkeypatch.setattr(streaming, "learn", fail)
    again = reproduce("streaming", data, options)
    assert [list(row) for row in again.rows] == [list(row) for row in table.rows]
    assert list(again.notes) == list(table.notes)


def test_a_missing_rival_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "find_spec", lambda _: None)
    monkeypatch.setattr(embedding_rivals, "find_spec", lambda _: None)
    table = reproduce("streaming", data, Options(quick=True, sets=("new-set",)))
    assert "Louvain" not in [row[1] for row in table.rows]
    assert any("networkx" in note for note in table.notes)
    assert any("segapsith[rivals]" in note for note in table.notes)


def test_without_any_set_the_sets_are_named(data: Path) -> None:
    with pytest.raises(MissingInputError, match="none of the sets tdt2"):
        reproduce("streaming", data)

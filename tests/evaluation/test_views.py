"""Views of the units of a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.errors import UsageError
from segapsith.evaluation.views import Origin, make_views, parse_views, side_by_side
from segapsith_store.codecs import integers_from


def origin(unit: int, text: str, **more: Any) -> Origin:
    given = {"version": unit, "start": 0, "end": len(text), "lang": "en", "source": "", **more}
    metadata = json.dumps(given.pop("metadata", {}))
    return Origin(unit=unit, text=text, metadata=metadata, **given)


def test_each_view_counts_what_belongs_to_the_unit() -> None:
    text = "Police met Luc Vasseur. He left for Lestrac and Albers."
    units = [
        origin(7, text, version=1, end=24, source="AFP", metadata={"keywords": ["Fraud", "court"]}),
        origin(5, text, version=1, start=24, source="AFP", metadata={"keywords": ["Fraud"]}),
        origin(9, "Rain on Lestrac.", source="AFP", lang="fr", metadata={"label": "x"}),
    ]
    words = csr_array(np.eye(3))
    made = make_views(("words", "names", "source", "keywords"), words, [5, 7, 9], units)
    assert made["words"] is words
    assert made["names"].shape == (3, 4)  # Lestrac is a French and an English one
    assert made["names"].sum(axis=1).tolist() == [2, 1, 1]
    assert made["source"].toarray().tolist() == [[1, 0], [1, 0], [0, 1]]
    assert made["keywords"].sum(axis=1).tolist() == [2, 2, 0]
    assert side_by_side(made).shape == (3, 3 + 4 + 2 + 2)


def test_labels_have_no_view() -> None:
    for name in ("label", "labels", "event", "topic", "section", "tags"):
        with pytest.raises(UsageError, match="no view is called"):
            parse_views(name)
    with pytest.raises(UsageError, match="did you mean 'names'"):
        parse_views("words,name")
    with pytest.raises(UsageError, match="names no view"):
        parse_views(" , ")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("views") / "s.db"
    with Wire(path) as wire:
        wire.ingest([*sample.lines("en")[:40], *sample.lines("fr")[:40]])
    return path


def clustered(store: Path, *more: str) -> int:
    return run(["cluster", "--store", str(store), "-k", "8", "--json", *more])


@pytest.mark.slow
def test_the_stored_units_are_clustered_in_several_views(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = ["--views", "words,names,source"]
    measure = ["--similarity", "mvsim", "--clusterer", "ahc", "--set", "linkage=ward"]
    assert clustered(store, *measure, *seen) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["clusters"] == 8
    assert clustered(store, *measure, *seen, "--set", "weights=names:3,words:2") == 0
    assert clustered(store, "--clusterer", "mvkm", *seen, "--lang", "fr") == 0
    assert clustered(store, *measure, *seen, "--sample", "40") == 0
    with Wire(store) as wire:
        kept = dict(
            wire.writer.rows(
                "SELECT id, settings FROM runs WHERE command = 'cluster' ORDER BY id LIMIT 1"
            )
        )
    assert json.loads(kept[first["run"]])["views"] == ["words", "names", "source"]


@pytest.mark.slow
def test_languages_stay_apart(store: Path) -> None:
    with Wire(store) as wire:
        found = wire.cluster(
            similarity="mvsim", clusterer="ahc", k=2, settings={"linkage": "average", "prune": 0.0},
            views=("words", "names", "source"),
        )  # fmt: skip
        assert found["clusters"] == 2
        units, labels = wire.writer.row(
            "SELECT units, labels FROM clusterings ORDER BY run DESC"
        ) or (b"", b"")
        languages = dict(
            wire.writer.rows(
                "SELECT a.unit, m.lang FROM assignments a JOIN domains m ON m.id = a.domain"
            )
        )
    label_of = dict(zip(integers_from(units).tolist(), integers_from(labels).tolist(), strict=True))
    assert {(languages[unit], label) for unit, label in label_of.items()} in (
        {("en", 0), ("fr", 1)},
        {("en", 1), ("fr", 0)},
    )


@pytest.mark.slow
def test_labels_do_not_change_the_views(tmp_path: Path) -> None:
    outcomes = []
    for turn in range(2):
        documents = [
            {
                **line,
                "label": str(i * turn),
                "tags": [str(i % (turn + 1))],
                "section": f"s{i * turn}",
            }
            for i, line in enumerate(sample.lines("en")[:40])
        ]
        with Wire(tmp_path / f"{turn}.db") as wire:
            wire.ingest(documents)
            found = wire.cluster(
                similarity="mvsim", clusterer="ahc", k=6, views=("words", "names", "source")
            )
            outcomes.append(found["sizes"])
    assert outcomes[0] == outcomes[1]


def test_what_cannot_be_done_is_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clustered(store, "--similarity", "cosine", "--views", "words") == 2
    assert "takes one matrix" in capsys.readouterr().err
    assert clustered(store, "--similarity", "mvsim", "--views", "words,keywords") == 2
    assert "no unit has an entry in the view keywords" in capsys.readouterr().err
    assert clustered(store, "--similarity", "mvsim", "--views", "words,label") == 2
    assert run(["cluster", "x.npz", "--similarity", "mvsim", "--views", "words"]) == 2


@pytest.mark.slow
def test_units_are_not_placed_by_a_measure_that_refuses_new_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("The river rose in the night.")
    for name in ("mvsim", "snos", "ctk"):
        given = ["ingest", str(text), "--store", str(tmp_path / "s.db"), "--placement", name]
        assert run(given) == 78
        assert "each unit is new" in capsys.readouterr().err

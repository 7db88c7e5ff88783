"""The segmentation tables: every contender, every part, with a reference network or a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from segapsith.api.wire import Wire
from segapsith.settings import resolve
from segapsith_reproduce import reproduce

Run = Callable[..., tuple[int, str, str]]
WriteSet = Callable[[str, list[dict[str, object]]], None]

RIVER = "The river and the flood took the bridge near the dam ."
MARKET = "The bank and the broker sold the share for a dividend ."


def test_a_table_of_segmentation_has_every_contender(tmp_path: Path, write_set: WriteSet) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 6 + [MARKET] * 6, "segments": [6, 6]}
    write_set("clinical", [joined, {**joined, "id": "2"}])
    without = reproduce("clinical", tmp_path)
    assert any("segmenters that need a network are left out" in note for note in without.notes)
    write_set("reuters21578", [{"id": i, "text": RIVER * 3} for i in range(20)])
    write_set("20ng", [{"id": i, "text": MARKET * 3} for i in range(20)])
    found = reproduce("clinical", tmp_path).as_json()["rows"]
    by_name = {row["segmenter"]: row for row in found}
    assert {"cohesion", "cohesion + network", "segcohlex", "lcp", "TextTiling", "C99"} <= set(
        by_name
    )
    assert by_name["cohesion"]["Pk"] == 0 and by_name["cohesion"]["found"] == 1
    assert by_name["no boundary"]["found"] == 0.5
    assert by_name["every k"]["WindowDiff"] == 0  # it knows the mean length


def test_parts_of_a_set_are_scored_alone_and_together(tmp_path: Path, write_set: WriteSet) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 4 + [MARKET] * 4, "segments": [4, 4], "set": 1}
    write_set("choi", [{**joined, "subset": "3-5"}, {**joined, "subset": "9-11"}])
    rows = reproduce("choi", tmp_path).as_json()["rows"]
    assert {r["part"] for r in rows} == {"3-5", "9-11", "all"}
    assert all(r["documents"] == (2 if r["part"] == "all" else 1) for r in rows)


def test_a_store_can_teach_the_contenders(
    command: Run, tmp_path: Path, write_set: WriteSet
) -> None:
    joined = {"id": "1", "sentences": [RIVER] * 6 + [MARKET] * 6, "segments": [6, 6]}
    write_set("clinical", [joined])
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
    write_set("tdt2", [])
    code, _, err = command("reproduce", "order", "--data", str(tmp_path), "--store", "s.db")
    assert code == 2 and "segmentation" in err

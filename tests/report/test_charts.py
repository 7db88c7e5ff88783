"""Every chart is well-formed SVG, and every text in it is escaped."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from markupsafe import Markup

from segapsith.domains.timeline import Timeline
from segapsith.evaluation.compare import average_linkage_tree
from segapsith.report.charts import curves, gauges, maps, tables, trees

NASTY = "<script>&'\""


def domains(size: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "label": f"{NASTY}{i}", "units": 50 - i, "words": [{"word": f"{NASTY}{i}"}]}
        for i in range(size)
    ]


def similar(size: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).random((size, size))
    values = (values + values.T) / 2
    np.fill_diagonal(values, 1)
    return values


TABLE = {
    "domains": [4, 9, 7],
    "clusters": [0, 1, 2],
    "cells": [[0, 1, 30], [1, 0, 20], [1, 2, 5], [2, 2, 10]],
}
POINT = {"k": 5, "kappa": 0.4, "share": 0.6, "threshold": 0.1, "run": 3, "at": "2026-01-01T00:00",
         "kappa_low": 0.3, "kappa_high": 0.5}  # fmt: skip
MANTEL = {"z": 90, "expected": 50.0, "sd": 3.0, "z_max": 120, "z_score": 13.3, "p": 0.001,
          "law": {"low": 40.0, "high": 60.0, "counts": [1, 5, 2]}}  # fmt: skip
KAPPA = {"greedy": 0.5, "hungarian": 0.5, "optimal": 0.52, "random": -0.01}
NAMES = {4: NASTY, 9: "nine", 7: "seven"}


@pytest.mark.parametrize(
    "drawn",
    [
        maps.draw(domains(12), similar(12), [0, 1] * 6, NASTY),
        trees.draw(domains(12), average_linkage_tree(similar(12)), [0, 1] * 6, NASTY),
        tables.heat(TABLE, NAMES, {}, NASTY),
        tables.ribbons(TABLE, NAMES, {0: NASTY}, {4: "split"}, NASTY),
        gauges.kappa(KAPPA, {"low": 0.4, "high": 0.6}),
        gauges.mantel(MANTEL),
        gauges.mantel({**MANTEL, "law": None, "z": 50, "z_max": 50}),
        gauges.bars([(NASTY, (3, 0))], ("a", NASTY), NASTY),
        gauges.shares({"confirmed": 0, "split": 0}, NASTY),
        curves.over_time([POINT, {**POINT, "kappa": 0.9}], NASTY),
        curves.over_clusters([POINT], 7, NASTY),
        curves.thresholds([POINT, {**POINT, "kappa": None}], NASTY),
        curves.day_bars(Timeline.of(["2026-01-01", "2026-01-02"]), {"2026-01-02": 3}),
        curves.day_bars(Timeline.of(["1987-01-01", "2026-01-02"]), {"2026-01-02": 3}),
        curves.day_bars(Timeline.of([]), {}),
    ],
)
def test_a_picture_is_sound_and_every_text_in_it_is_escaped(drawn: Markup) -> None:
    root = ElementTree.fromstring(str(drawn))
    assert root.attrib["aria-label"]
    assert all("script" not in element.tag and "nan" not in str(element.attrib).split("'")
               for element in root.iter())  # fmt: skip
    assert "nan" not in str(drawn)

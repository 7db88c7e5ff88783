"""Pictures: sound markup, escaped, and drawn where the numbers say."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from markupsafe import Markup

from segapsith.domains.timeline import Timeline
from segapsith.evaluation.compare import average_linkage_tree
from segapsith.report.charts import curves, gauges, maps, tables, trees
from segapsith.report.charts.svg import tag
from segapsith_reproduce import score_charts

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
        maps.drawn(domains(12), similar(12), [0, 1] * 6, NASTY),
        trees.drawn(domains(12), average_linkage_tree(similar(12)), [0, 1] * 6, NASTY),
        tables.heat(TABLE, NAMES, {}, NASTY),
        tables.ribbons(TABLE, NAMES, {0: NASTY}, {4: "split"}, NASTY),
        gauges.kappa(KAPPA, {"low": 0.4, "high": 0.6}),
        gauges.mantel(MANTEL),
        gauges.mantel({**MANTEL, "law": None, "z": 50, "z_max": 50}),
        gauges.bars([(NASTY, (3, 0))], ("a", NASTY), NASTY),
        gauges.shares({"confirmed": 0, "split": 0}, NASTY),
        curves.nights([POINT, {**POINT, "kappa": 0.9}], NASTY),
        curves.over_k([POINT], 7, NASTY),
        curves.thresholds([POINT, {**POINT, "kappa": None}], NASTY),
        curves.spark(Timeline.of(["2026-01-01", "2026-01-02"]), {"2026-01-02": 3}),
        curves.spark(Timeline.of(["1987-01-01", "2026-01-02"]), {"2026-01-02": 3}),
        curves.spark(Timeline.of([]), {}),
    ],
)
def test_a_picture_is_sound_and_every_text_in_it_is_escaped(drawn: Markup) -> None:
    root = ElementTree.fromstring(str(drawn))
    assert root.attrib["aria-label"]
    assert all("script" not in element.tag and "nan" not in str(element.attrib).split("'")
               for element in root.iter())  # fmt: skip
    assert "nan" not in str(drawn)


def test_an_element_escapes_what_it_is_given() -> None:
    assert str(tag("a", NASTY, href='"x"')) == (
        '<a href="&#34;x&#34;">&lt;script&gt;&amp;&#39;&#34;</a>'
    )


def test_a_map_keeps_the_distances_of_points_in_a_plane() -> None:
    points = np.random.default_rng(1).random((15, 2)) * 0.6
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    placed = maps.placed(1 - np.maximum(apart, 0.02) * (1 - np.eye(15)))
    found = np.linalg.norm(placed[:, None] - placed[None], axis=2)
    assert np.corrcoef(found.ravel(), apart.ravel())[0, 1] > 0.98
    assert (maps.placed(similar(9)) == maps.placed(similar(9))).all()


def test_discs_stay_in_the_picture_and_hardly_overlap() -> None:
    radii = np.full(30, 20.0)
    at = maps._spread(maps.placed(np.eye(30)), radii)
    assert (at > 20).all() and (at[:, 0] < maps.WIDTH - 20).all() and (at[:, 1] < maps.HEIGHT).all()
    between = np.linalg.norm(at[:, None] - at[None], axis=2)[~np.eye(30, dtype=bool)]
    assert between.min() > 38


def test_topics_are_the_cut_with_most_groups() -> None:
    blocks = np.kron(np.eye(3), np.full((3, 3), 0.7)) + 0.1
    np.fill_diagonal(blocks, 1)
    assert trees.cut(average_linkage_tree(blocks), [1, 1, 1, 5, 5, 5, 2, 2, 2]) == [
        3,
        3,
        3,
        1,
        1,
        1,
        2,
        2,
        2,
    ]
    assert trees.cut(average_linkage_tree(np.eye(2)), [1, 1]) == [0, 0]


def test_the_table_is_sorted_towards_its_diagonal() -> None:
    shuffled = np.random.default_rng(0).permutation(20)
    cells = [[row, int(shuffled[row]), 100 - row] for row in range(20)]
    table = {"domains": list(range(20)), "clusters": list(range(20)), "cells": cells}
    rows, columns = tables._sorted(tables._contingency(table), 40, 48)
    assert columns == [int(shuffled[row]) for row in rows]
    few, _ = tables._sorted(tables._contingency(table), 5, 48)
    assert few == [0, 1, 2, 3, 4]


def test_long_times_are_drawn_by_stretches_of_days() -> None:
    first = date(2000, 1, 1)
    calendar = [str(first + timedelta(days=i)) for i in range(900)]
    drawn = str(curves.spark(Timeline.of(calendar), dict.fromkeys(calendar, 2)))
    assert 50 <= drawn.count("Z") <= 60


def test_days_are_drawn_to_scale_and_a_gap_is_a_break_that_says_so() -> None:
    def places(drawn: str) -> list[float]:
        return [float(x) for x in re.findall(r"M([\d.]+) 26V", drawn)]

    ten = {"2026-03-01": 1, "2026-03-02": 1, "2026-03-11": 1}
    drawn = str(curves.spark(Timeline.of(ten), ten))
    one, two, eleven = places(drawn)
    assert (eleven - one) / (two - one) == pytest.approx(10, rel=0.01)
    assert 'class="break"' not in drawn
    old = {"1987-10-19": 1, "2026-03-01": 1, "2026-03-02": 1}
    drawn = str(curves.spark(Timeline.of(old), old))
    first, second, third = places(drawn)
    assert second - first > third - second
    assert drawn.count('class="break"') == 1
    assert "<title>38 years without stories</title>" in drawn
    assert "38 years without stories in between" in drawn


def test_a_pause_between_validations_is_marked() -> None:
    one = {"run": 1, "kappa": 0.5, "share": 0.5, "kappa_low": None, "kappa_high": None}
    ones = [{**one, "at": f"2026-0{month}-01T02:00:00+00:00"} for month in (1, 4)]
    assert "89 days" not in str(curves.nights(ones[:1], "one"))
    assert "2 months without" in str(curves.nights(ones, "two"))


def test_scores_stand_where_they_belong() -> None:
    found = [
        score_charts.Score("M5", f"{NASTY}a", 0.9, 0.85, 0.95, (0.96, 0.97)),
        score_charts.Score("M5", "b", 0.6, 0.6, 0.6),
        score_charts.Score("M10", "b", 0.8, 0.7, 0.9, (0.78, 0.8)),
    ]
    lines = {"M10": [(0.0, 0.5, 0.1), (0.5, 0.7, 0.0)], NASTY: [(0.5, 0.6, 0.0)]}
    drawn = score_charts.sheet(
        "all",
        [
            score_charts.by_set(f"sets {NASTY}", found),
            score_charts.against_printed("printed", found),
            score_charts.curves("curves", "p", lines),
            score_charts.by_set("none", []),
        ],
    )
    root = ElementTree.fromstring(drawn.partition("\n")[2])
    space = {"s": "http://www.w3.org/2000/svg"}
    told = [t.text for t in root.iterfind(".//s:circle/s:title", space)]
    assert sum("printed" in str(t) for t in told) == 4  # both cells, in two sections
    by_value = {
        str(c.findtext("s:title", "", space)): float(c.get("cx", "nan"))
        for c in root.iterfind(".//s:g[1]/s:circle", space)
    }
    assert by_value["M5, b: 0.600"] < min(x for t, x in by_value.items() if "M10" in t)
    assert "script>" not in drawn.replace("&lt;script&gt;", "")

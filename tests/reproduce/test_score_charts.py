"""Charts of scores: every cell is drawn, and every text is escaped."""

from __future__ import annotations

from xml.etree import ElementTree

from segapsith_reproduce import score_charts

NASTY = "<script>&'\""


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

"""SVG elements: every text and attribute is escaped."""

from __future__ import annotations

from segapsith.report.charts.svg import tag

NASTY = "<script>&'\""


def test_an_element_escapes_what_it_is_given() -> None:
    assert str(tag("a", NASTY, href='"x"')) == (
        '<a href="&#34;x&#34;">&lt;script&gt;&amp;&#39;&#34;</a>'
    )

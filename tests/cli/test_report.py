"""The report escapes what feeds contain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]


VECTORS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</style><script>alert(1)</script>",
    "{{ 7*7 }}",
    "&lt;b&gt;",
    "<iframe srcdoc='<script>'></iframe>",
]


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.update(value or "" for name, value in attrs if name in ("href", "src"))


@pytest.mark.slow
def test_the_report_escapes_whatever_a_feed_says(command: Command, tmp_path: Path) -> None:
    """Each vector stands in a story of its own, so that its headline is shown."""
    path = tmp_path / "nasty.jsonl"
    stories = sample.lines("en")[:100:5]
    path.write_text(
        "\n".join(
            json.dumps({"id": f"{v}{i}", "title": v, "text": stories[i]["text"], "source": v})
            for i, v in enumerate(VECTORS)
        )
    )
    command("ingest", str(path))
    assert command("report", "--output", "page.html", "--min-units", "1")[0] == 0
    html = Path("page.html").read_text(encoding="utf-8")
    found = _Elements()
    found.feed(html)
    assert not found.tags & {"script", "img", "iframe", "object", "link"}
    assert all(re.fullmatch(r"#[a-z]+(-\d+)?", link) for link in found.links), found.links
    assert not {name for name in found.attributes if name.startswith("on") or name == "style"}
    assert "default-src 'none'" in html
    for vector in VECTORS:
        assert str(escape(vector)) in html, vector  # shown as it stands, not run

"""The report: what it says, and how it behaves in a real browser."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import segapsith
from segapsith.demo import sample
from segapsith.report.page import last_run_of

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "<svg onload=alert(3)>",
    "</title><style>body{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(4)",
    "' autofocus onfocus=alert(5) x='",
    "x" * 400,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on two languages, two nights and three validations, with hostile headlines."""
    folder = tmp_path_factory.mktemp("report")
    english, french = sample.lines("en"), sample.lines("fr")
    nasty = [{**line, "title": HOSTILE[i % len(HOSTILE)]} for i, line in enumerate(english[80:])]
    with segapsith.open(folder / "wire.db") as wire:
        wire.ingest([*english[:80], *french[:60]])
        for seed in (0, 1):
            wire.validate(min_units=3, stability=0, lang="en", seed=seed)
        wire.ingest(nasty)
        wire.validate(min_units=3, stability=1, lang="en", k=[6, 10, 14])
        (folder / "report.html").write_text(wire.report(min_units=2, limit=40), encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    module = _helper()
    found = module.found()
    if found is None:
        reason = "no browser: the report is NOT tested (apt install chromium chromium-driver)"
        warnings.filterwarnings("default", message="no browser")
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with module.Browser(*found) as window:
        yield window


def _helper() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser", Path(__file__).parent / "browser.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- what it says ----------------------------------------------------------------------------


def test_every_picture_is_there(page: Path) -> None:
    html = page.read_text("utf-8")
    for label in (
        "map of", "tree of", "kappa 0", "Mantel Z", "domains by clusters", "clusters that contain",
        "number of domains by", "kappa over 3 validations", "kappa for other numbers",
        "units by day",
    ):  # fmt: skip
        assert f'aria-label="{label}' in html, label
    assert "Growing" in html and "Fading" in html and "% of the units" in html
    assert len(html) < 600_000


def test_nothing_from_a_feed_becomes_markup(page: Path) -> None:
    html = page.read_text("utf-8")
    assert (
        "<script" not in html
        and "<img" not in html
        and "onload=alert" not in re.sub(r"&lt;.*?&gt;", "", html)
    )
    assert "{{ 7 * 7 }}" in html
    assert not re.search(r"\sstyle=|\son\w+=(?!alert)", re.sub(r">[^<]*<", "><", html))


def test_the_same_store_gives_the_same_page(page: Path) -> None:
    with segapsith.open(page.with_name("wire.db")) as wire:
        assert wire.report(min_units=2, limit=40) == page.read_text("utf-8")


def test_news_are_reported_since_the_last_report(command: Command, tmp_path: Path) -> None:
    lines = sample.lines("en")
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, lines[:60])))
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, lines[60:120])))
    command("ingest", "one.jsonl")
    assert command("report", "--output", "page.html")[0] == 0
    assert last_run_of(Path("page.html")) == 1
    assert "no earlier run to compare with" in Path("page.html").read_text("utf-8")
    assert command("report", "--output", "page.html")[0] == 0
    assert "Nothing was learned since run 1" in Path("page.html").read_text("utf-8")
    command("ingest", "two.jsonl")
    assert command("report", "--output", "page.html", "--similarity", "cosine")[0] == 0
    html = Path("page.html").read_text("utf-8")
    assert "since run 1" in html and "(cosine)" in html
    assert last_run_of(Path("page.html")) == 2
    assert command("report", "--since", "77")[0] == 2
    assert command("report", "--similarity", "nobody")[0] == 78
    assert last_run_of(Path("nowhere.html")) is None


def test_a_large_store_gives_a_small_page_that_says_so(page: Path) -> None:
    with segapsith.open(page.with_name("wire.db")) as wire:
        html = wire.report(min_units=1, limit=12)
    assert html.count("<article") == 12
    assert re.search(r"The 12 largest of \d+ domains", html)


def test_an_empty_store_has_a_page_too(tmp_path: Path) -> None:
    with segapsith.open(tmp_path / "empty.db") as wire:
        wire.ingest([])
        assert "Nothing was learned" in wire.report()


# -- in a browser ----------------------------------------------------------------------------


def test_the_page_is_quiet_and_fits_every_screen(page: Path, browser: Any) -> None:
    browser.open(page)
    assert browser.run("return document.scripts.length") == 0
    for width in (320, 480, 768, 1280, 2560):
        browser.resize(width)
        across, room = browser.run(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert across <= room, f"{width} px: {across} > {room}"
    assert browser.said() == []
    assert len(browser.picture()) > 10_000


def test_a_page_with_gaps_fits_every_screen(tmp_path: Path, browser: Any) -> None:
    lines = sample.lines("en")[:60]
    years = ("1987", "1999", "2012", "2026")
    dated = [{**line, "date": f"{years[i % 4]}-03-0{1 + i % 5}"} for i, line in enumerate(lines)]
    with segapsith.open(tmp_path / "wire.db") as wire:
        wire.ingest(dated)
        (tmp_path / "gaps.html").write_text(wire.report(), encoding="utf-8")
    browser.open(tmp_path / "gaps.html")
    assert browser.run("return document.querySelectorAll('.spark .break').length") > 3
    for width in (320, 768, 1280):
        browser.resize(width)
        across, room = browser.run(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert across <= room, f"{width} px: {across} > {room}"
    cut = "e => e.scrollWidth > e.clientWidth + 1"
    assert (
        browser.run(f"return [...document.querySelectorAll('.broken')].filter({cut}).length") == 0
    )


def test_a_screen_reader_finds_its_way(page: Path, browser: Any) -> None:
    browser.open(page)
    found = browser.run(
        """
        const all = (query) => [...document.querySelectorAll(query)];
        const ids = all('[id]').map((e) => e.id);
        return {
          lang: document.documentElement.lang,
          title: document.title,
          levels: all('h1, h2, h3, h4').map((e) => Number(e.tagName[1])),
          landmarks: ['header', 'nav', 'main', 'footer'].map((name) => all(name).length),
          doubles: ids.filter((id, i) => ids.indexOf(id) !== i),
          dead: all('a').map((a) => a.getAttribute('href')).filter((h) => !document.querySelector(h)),
          unnamed: all('svg, nav, [role=region], section, article').filter(
            (e) => !e.getAttribute('aria-label') && !document.getElementById(
              e.getAttribute('aria-labelledby'))).map((e) => e.outerHTML.slice(0, 80)),
          silent: all('a').filter((a) => !(a.getAttribute('aria-label') || a.textContent.trim())).length,
          roleless: all('svg').filter((e) => !e.getAttribute('role')).length,
          uncaptioned: all('figure').filter((e) => !e.querySelector('figcaption')).length,
        };
        """
    )
    levels = found.pop("levels")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), levels
    assert found == {
        "lang": "en", "title": "Semantic domains", "landmarks": [1, 1, 1, 1], "doubles": [],
        "dead": [], "unnamed": [], "silent": 0, "roleless": 0, "uncaptioned": 0,
    }  # fmt: skip


def test_everything_is_reached_by_keyboard(page: Path, browser: Any) -> None:
    browser.open(page)
    browser.resize(320)
    reached: list[str] = []
    for _ in range(16):
        browser.press("Tab", 9)
        reached.append(
            browser.run(
                "const e = document.activeElement;"
                " return e.getAttribute('href') || e.getAttribute('aria-label') || e.tagName"
            )
        )
    assert reached[:3] == ["#main", "#changes", "#map"]
    browser.run("document.querySelector('.scroll').focus()")
    assert browser.run("return document.activeElement.getAttribute('aria-label')").startswith("map")
    browser.press("Tab", 9)
    assert browser.run("return document.activeElement.getAttribute('href')").startswith("#domain-")


_CONTRAST = """
const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => v / 255).map(
  (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = getComputedStyle(document.body).backgroundColor;
return ['body', '.soft', 'nav a', 'figcaption', '.w1, .w0', '.lang'].map((query) => {
  const e = document.querySelector(query);
  if (!e) return 99;
  const [a, b] = [light(getComputedStyle(e).color), light(ground)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05); });
"""


def test_light_dark_and_paper_can_be_read(page: Path, browser: Any) -> None:
    browser.open(page)
    grounds = []
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        assert min(browser.run(_CONTRAST)) >= 4.5, scheme
        grounds.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]
    browser.prefer("light", "print")
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.prefer("light")

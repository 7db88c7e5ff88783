"""The written pages stay readable: short lines, short paragraphs, plain words, links that resolve.

The checks are functions of a text, so that docstrings and help texts can be checked in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

MAX_LINE = 120
"""Characters of a line; tables and links may be longer."""

MAX_PARAGRAPH = 120
"""Words of a paragraph or of one item of a list."""

NOTEBOOKS = "docs/research/log/"
GENERATED = ("docs/reference/",)
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

IDIOMS = {
    r"from \d[\d.,]*(?: [\w%]+){0,2} on\b": "at least N",
    r"from (?:which|that|this|an?|its)(?: \w+){0,3} on(?=[.,;:)]|$)": "at least N",
    r"\bso many\b": "N",
    r"\bso much as\b": "at most",
    r"\bof late\b": "recent",
    r"\bke(?:ep|eps|pt|eping) company\b": "co-occur",
    r"\bthe company (?:that )?(?:words|they) keep\b": "co-occurrence",
    r"\btold\b": "reported",
    r"\bsa(?:y|ys|id) so\b": "report it",
    r"\blets? go\b": "delete",
    r"\b(?:what|that|which|it) is none\b": "is not one",
    r"\bone a (?:line|row|word|unit|start|round|document|batch)\b": "one per …",
    r"\bwithout more ado\b": "directly",
    r"\bnobody asked\b": "was not requested",
    r"\bis to be looked at\b": "needs attention",
    r"\bready units?\b": "pre-segmented unit",
}
"""Turns of phrase that a reader has to translate, and what to write instead."""


class Finding(NamedTuple):
    """One place in a text that breaks a rule."""

    line: int
    problem: str


def test_lines_are_short_outside_tables_and_links() -> None:
    text = f"{'x' * 121}\n| {'x' * 121} |\nsee [a]({'x' * 121})\n{'x ' * 60}"
    assert [found.line for found in long_lines(text)] == [1]


def test_items_of_a_list_are_paragraphs_of_their_own() -> None:
    item = "- " + "word " * 70
    assert long_paragraphs(f"{item}\n{item}\n") == []
    assert [found.line for found in long_paragraphs("\n" + "word " * 60 + "\n" + "word " * 61)] == [
        2
    ]


def test_code_is_not_prose() -> None:
    code = "```text\n" + "word " * 130 + "\n```\n"
    assert long_paragraphs(code) == [] and idioms("```sh\nsay so many\n```\nuse `so many`\n") == []


@pytest.mark.parametrize(
    "text",
    ["units from 15 on", "a value from which\nit is used on.", "so  many", "Of late, it grew"],
)
def test_old_idioms_are_recognised_across_lines_and_case(text: str) -> None:
    assert idioms(text)


@pytest.mark.parametrize("text", ["from 2 to 5", "based on 15", "from a page on the web", "many"])
def test_ordinary_words_are_no_idioms(text: str) -> None:
    assert idioms(text) == []


def test_links_may_lead_to_headings_and_explicit_ids() -> None:
    text = '# Mantel\'s test\n\n<a id="unit"></a>**Unit.**\n\n```text\n# no heading\n```\n'
    assert anchors(text) == {"mantels-test", "unit"}


# -- the checks ------------------------------------------------------------------------------


def long_lines(text: str, most: int = MAX_LINE) -> list[Finding]:
    """Return the lines over `most` characters, except rows of tables and lines with a link."""
    return [
        Finding(number, f"{len(line)} characters")
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > most
        and not line.lstrip().startswith("|")
        and not re.search(r"\]\(|://", line)
    ]


def long_paragraphs(text: str, most: int = MAX_PARAGRAPH) -> list[Finding]:
    """Return the paragraphs and list items of more than `most` words."""
    return [
        Finding(number, f"{len(words)} words")
        for number, paragraph in paragraphs(text)
        if len(words := paragraph.split()) > most
    ]


def idioms(text: str) -> list[Finding]:
    """Return the places that use a turn of phrase from `IDIOMS`; code is left out."""
    return [
        Finding(number, f"{match.group()!r}: write {instead!r}")
        for number, paragraph in paragraphs(text, tables=True)
        for pattern, instead in IDIOMS.items()
        for match in re.finditer(pattern, _without_code(paragraph), re.IGNORECASE)
    ]


def paragraphs(text: str, *, tables: bool = False) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, heading and list item with its first line, as one line of words.

    Blocks of code are skipped, and rows of tables unless `tables` asks for them.
    """
    first, lines, fenced = 0, list[str](), False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        fence = stripped.startswith("```")
        row = stripped.startswith("|")
        opens = bool(re.match(r"(?:[-*+]|\d+\.) |#", stripped)) or row or fence
        if lines and (opens or not stripped):
            yield first, " ".join(lines)
            lines = []
        fenced ^= fence
        if fence or fenced or not stripped or (row and not tables):
            continue
        if not lines:
            first = number
        lines.append(" ".join(stripped.split()))


def _without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "`", text)


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no heading of it."""
    broken = []
    for target in re.findall(r"\]\(<?([^)\s>]+)", _without_blocks(page.read_text("utf-8"))):
        name, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            broken.append(target)
    return broken


def anchors(text: str) -> set[str]:
    """Return the names that a link into a page may have: its headings and its explicit ids."""
    prose = _without_blocks(text)
    titles = re.findall(r"^#+ +(.+)$", prose, re.MULTILINE)
    named = set(re.findall(r'<a id="([^"]+)"', prose))
    return named | {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles
    }


def _without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


# -- the pages -------------------------------------------------------------------------------


def _pages() -> list[Path]:
    inside = sorted((ROOT / "docs").rglob("*.md"))
    return [*(ROOT / name for name in TOP), *inside]


def _written(page: Path) -> bool:
    name = page.relative_to(ROOT).as_posix()
    return not name.startswith((NOTEBOOKS, *GENERATED))


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WRITTEN = [page for page in _pages() if _written(page)]


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_no_line_is_too_long(page: Path) -> None:
    assert long_lines(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_no_paragraph_is_too_long(page: Path) -> None:
    assert long_paragraphs(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_no_page_uses_an_old_idiom(page: Path) -> None:
    assert idioms(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", _pages(), ids=_name)
def test_every_relative_link_resolves(page: Path) -> None:
    assert broken_links(page) == []

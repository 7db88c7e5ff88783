"""Pages, docstrings and messages stay readable: short paragraphs, plain words, links that resolve."""

from __future__ import annotations

import ast
import functools
import re
import statistics
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

MAX_LINE = 120
"""Characters of a line; tables and links may be longer."""

MAX_PARAGRAPH = 120
"""Words of a paragraph or of one item of a list."""

MAX_MEDIAN = 18
"""Words of the median sentence of a page."""

NOTEBOOKS = "docs/research/log/"
GENERATED_NAMES = ("cli", "settings", "exit-codes", "store", "http", "json")
GENERATED = tuple(f"docs/reference/{name}.md" for name in GENERATED_NAMES)
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
    r"\b(?:what|that|which|it) is (?-i:none)\b(?! of)": "is not one",
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
    assert [finding.line for finding in long_lines(text)] == [1]


def test_items_of_a_list_are_paragraphs_of_their_own() -> None:
    item = "- " + "word " * 70
    assert long_paragraphs(f"{item}\n{item}\n") == []
    assert [
        finding.line for finding in long_paragraphs("\n" + "word " * 60 + "\n" + "word " * 61)
    ] == [2]


def test_code_is_not_prose() -> None:
    code = "```text\n" + "word " * 130 + "\n```\n"
    assert long_paragraphs(code) == [] and idioms("```sh\nsay so many\n```\nuse `so many`\n") == []


@pytest.mark.parametrize(
    "text",
    ["units from 15 on", "a value from which\nit is used on.", "so  many", "Of late, it grew"],
)
def test_old_idioms_are_recognised_across_lines_and_case(text: str) -> None:
    assert idioms(text)


@pytest.mark.parametrize(
    "text", ["from 2 to 5", "based on 15", "from a page on the web", "many", "if it is None"]
)
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


def sentences(text: str) -> list[int]:
    """Return the number of words of each sentence of the paragraphs of a page.

    >>> sentences("# Title\\n\\nOne two three. Four five, e.g. six?\\n")
    [3, 4]
    """
    prose = (_without_code(paragraph) for _, paragraph in paragraphs(text) if paragraph[:1] != "#")
    found = (
        len(sentence.split())
        for paragraph in prose
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*\[(])", paragraph)
    )
    return [length for length in found if length > 2]


def test_the_median_sentence_has_at_most_18_words() -> None:
    lengths = {_name(page): sentences(page.read_text("utf-8")) for page in WRITTEN}
    medians = {name: statistics.median(own) for name, own in lengths.items() if len(own) >= 5}
    assert {name: median for name, median in medians.items() if median > MAX_MEDIAN} == {}


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_no_page_uses_an_old_idiom(page: Path) -> None:
    assert idioms(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", _pages(), ids=_name)
def test_every_relative_link_resolves(page: Path) -> None:
    assert broken_links(page) == []


SOURCE = re.compile(r"`((?:segapsith|plugins|store|tests|scripts)/[\w./-]+)`")
"""A file or folder of the sources that a page names."""


def missing_sources(text: str) -> list[str]:
    """Return the files and folders that a text names and that do not exist."""
    return [name for name in SOURCE.findall(text) if not (ROOT / name).exists()]


def test_a_source_that_was_moved_is_missed() -> None:
    assert missing_sources("see `segapsith/gone.py` and `segapsith/model.py`") == [
        "segapsith/gone.py"
    ]


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_every_source_that_a_page_names_exists(page: Path) -> None:
    assert missing_sources(page.read_text("utf-8")) == []


# -- texts in the code -----------------------------------------------------------------------

CODE = ("segapsith", "plugins", "store")

PRINTS = {
    *("say", "line", "cut", "echo", "print", "warn", "secho", "confirm", "update"),
    *("debug", "info", "warning", "error", "exception", "critical", "log"),
}
"""Functions and methods whose texts a person reads."""

EXPLAINS = {"help", "about", "epilog", "short_help"}
"""Arguments with a text that a person reads."""


class Text(NamedTuple):
    """A docstring or a message, and the line on which it starts."""

    line: int
    text: str


def texts(tree: ast.AST) -> list[Text]:
    """Return docstrings, texts of exceptions, help texts and messages of a module.

    >>> texts(ast.parse('say(f"{n} stories")'))
    [Text(line=1, text='… stories')]
    """
    nodes: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            nodes.append(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            nodes += [node.exc]
        elif isinstance(node, ast.Call):
            explains = [keyword.value for keyword in node.keywords if keyword.arg in EXPLAINS]
            prints = _called(node) in PRINTS or _called(node).endswith(("Error", "_declare"))
            nodes += [node] if prints else explains
    read = {id(node): Text(node.lineno, text) for root in nodes for node, text in _strings(root)}
    return sorted(set(read.values()))


def _called(call: ast.Call) -> str:
    function = call.func
    return getattr(function, "attr", getattr(function, "id", ""))


def _strings(root: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the strings below a node, with … for what an f-string fills in."""
    if isinstance(root, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in root.values)
        yield root, "".join(map(str, parts))
    elif isinstance(root, ast.Constant):
        if isinstance(root.value, str):
            yield root, root.value
    else:
        for node in ast.iter_child_nodes(root):
            yield from _strings(node)


@pytest.mark.parametrize(
    "code",
    [
        '"""So many words."""',
        'x = 1\n"""So many words."""',
        'raise ValueError(f"{n}: so many words")',
        'raise SettingError("a" if b else "so many") from error',
        'typer.Option("-k", help="so many")',
        'log.warning("%s: so many", name)',
        'output.say(f"so " f"many {n}")',
    ],
)
def test_texts_for_people_are_collected_from_code(code: str) -> None:
    assert any(idioms(text.text) for text in texts(ast.parse(code)))


def test_other_strings_are_no_texts_for_people() -> None:
    assert texts(ast.parse('x = {"so many": "told"}\nfind("so many")')) == []


@functools.cache
def _idioms_in_code() -> dict[str, list[str]]:
    return {
        name: [f"{text.line}: {finding.problem}" for text in own for finding in idioms(text.text)]
        for name, own in _texts_of_modules().items()
    }


def test_docstrings_and_messages_use_no_old_idiom() -> None:
    assert {name: own for name, own in _idioms_in_code().items() if own} == {}


def _texts_of_modules() -> dict[str, list[Text]]:
    return {
        path.relative_to(ROOT).as_posix(): texts(ast.parse(path.read_text("utf-8")))
        for folder in CODE
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


# -- what is cited ---------------------------------------------------------------------------

CITED = re.compile(
    r"\b(?:algorithms|contracts|reliability) (?:§|\d)"  # chapters of design documents
    r"|(?<![\w'\"|«])§ ?\d"
    r"|\bS[0-4]\b"  # papers by the number that a design document gives them
    r"|(?<![\w/.*-])[\w-]+\.md\b"
)
"""What may be a citation of a document; names of pages are compared with those that exist."""


def missing_citations(text: str, pages: Collection[str]) -> list[Finding]:
    """Return the citations of documents other than `pages`, names of files."""
    return [
        Finding(number, match.group())
        for number, line in enumerate(text.splitlines(), 1)
        for match in CITED.finditer(line)
        if match.group() not in pages
    ]


@pytest.mark.parametrize(
    "text", ["the curve (algorithms §1.4)", "as S0 has it", "S4 eqs. 1-2", "see house.md", "§ 2.1"]
)
def test_citations_of_missing_documents_are_found(text: str) -> None:
    assert missing_citations(text, {"glossary.md"})


@pytest.mark.parametrize(
    "text", ["see [terms](docs/glossary.md)", "algorithms and models", "S_0 = I", "*.md", "eq. 7"]
)
def test_other_texts_cite_nothing_that_is_missing(text: str) -> None:
    assert missing_citations(text, {"glossary.md"}) == []


@functools.cache
def _citations() -> dict[str, list[str]]:
    """Return the citations that lead nowhere, by file; notebooks and this file are left out."""
    files = [ROOT / name for name in ("pyproject.toml", "NOTICE", "CITATION.cff")]
    files += [page for page in _pages() if not _name(page).startswith(NOTEBOOKS)]
    files += [path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file()]
    files += [path for folder in (*CODE, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    pages = {page.name for page in _pages()}
    return {
        _name(path): [
            f"{finding.line}: {finding.problem}"
            for finding in missing_citations(path.read_text("utf-8"), pages)
        ]
        for path in files
        if path != Path(__file__)
    }


def test_every_cited_document_is_in_the_repository() -> None:
    assert {name: own for name, own in _citations().items() if own} == {}

"""Every text of the interface is in the catalogue, and nothing else is."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

from segapsith.web import texts

WEB = Path(texts.__file__).parent


def spoken() -> set[str]:
    """The English texts in templates and code."""
    found: set[str] = set()
    for path in WEB.glob("templates/*.html"):
        source = path.read_text("utf-8")
        found |= {m[1] for m in re.findall(r"""\bt\((["'])((?:(?!\1).)+)\1""", source)}
        for pair in re.findall(r'count\([^"]*?"([^"]+)", "([^"]+)"\)', source):
            found |= set(pair)
    for path in WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function, first = node.func, node.args[0]
            named = isinstance(function, ast.Name) and function.id == "t"
            method = (
                isinstance(function, ast.Attribute)
                and function.attr == "text"
                and isinstance(function.value, ast.Attribute)
                and function.value.attr == "texts"
            )
            if (named or method) and isinstance(first, ast.Constant):
                found.add(str(first.value))
    return found | texts.DYNAMIC


def test_every_text_has_a_french_form_and_none_is_left_over() -> None:
    assert spoken() == set(texts.catalogue())


def test_both_forms_have_the_same_places_for_values() -> None:
    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert all(places(english) == places(french) for english, french in texts.catalogue().items())
    assert all(french.strip() for french in texts.catalogue().values())


def test_numbers_and_counts_are_written_as_in_the_language() -> None:
    english, french = texts.Texts("en"), texts.Texts("fr")
    assert english.count(1, "{n} story", "{n} stories") == "1 story"
    assert english.count(0, "{n} story", "{n} stories") == "0 stories"
    assert french.count(0, "{n} story", "{n} stories") == "0 dépêche"
    assert french.count(1200, "{n} story", "{n} stories") == "1\u202f200 dépêches"
    assert english.date("2026-03-01T04:05:06+00:00") == "2026-03-01 04:05"
    assert english.date(None) == "–"

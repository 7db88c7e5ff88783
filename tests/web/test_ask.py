"""Parameters are checked, and links carry them on."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import Request

from segapsith.errors import UsageError
from segapsith.web.ask import Ask
from segapsith.web.desk import Desk
from segapsith.web.security import WebOptions
from segapsith.web.texts import Texts


@pytest.fixture
def ask(shown_path: Path):  # type: ignore[no-untyped-def]
    def make(query: str, path: str = "/domains") -> Ask:
        scope = {"type": "http", "path": path, "query_string": query.encode(), "headers": []}
        return Ask(Request(scope), Desk(shown_path, WebOptions(base_path="/n")), Texts("en"))

    return make


def test_numbers_have_bounds(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("limit=5").number("limit", 1, 1, 9) == 5 and ask("").number("limit", 3) == 3
    for wrong in ("-1", "1.5", "x", "99", "９", "1e3", "9" * 30):
        with pytest.raises(UsageError, match="limit"):
            ask(f"limit={wrong}").number("limit", 1, 0, 9)


def test_dates_and_moments_are_checked(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("since=2026-03-01").day("since") == "2026-03-01"
    assert ask("as_of=7").moment("as_of") == 7 and ask("").moment("as_of") is None
    for wrong in ("2026-13-01", "yesterday", "2026"):
        with pytest.raises(UsageError):
            ask(f"since={wrong}").day("since")


def test_lists_of_numbers_may_be_repeated_or_joined(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("domain=1&domain=2,3&domain=1").numbers("domain") == [1, 2, 3]
    with pytest.raises(UsageError, match="at most"):
        ask("&".join(f"domain={i}" for i in range(30))).numbers("domain")


def test_links_carry_what_was_asked(ask) -> None:  # type: ignore[no-untyped-def]
    asked = ask("q=a%26b&page=2&done=4")
    assert asked.here(page=3) == "/n/domains?q=a%26b&page=3"
    assert asked.here(page=None) == "/n/domains?q=a%26b"
    assert asked.url("/search", q="x y", lang=None) == "/n/search?q=x+y"
    assert asked.chart("days", "csv") == "/n/domains/days.csv?q=a%26b&page=2"


def test_pages_follow_from_number_or_offset(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("page=3&limit=10").span().offset == 20
    assert ask("offset=7&limit=10").span().offset == 7

"""A request, read with types: parameters that are checked, and links that carry them on."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request

from segapsith.api.wire import Wire
from segapsith.errors import UsageError
from segapsith.web.desk import Desk
from segapsith.web.texts import Texts

__all__ = ["Ask", "Span"]

MOST_NUMBER = 2**62
MOST_PAGE = 200
"""Rows of a page at most."""


@dataclass(frozen=True, slots=True)
class Span:
    """A page of a list: how many rows, and how many come before."""

    limit: int
    offset: int

    @property
    def page(self) -> int:
        return self.offset // self.limit + 1


class Ask:
    """What a page asks for."""

    def __init__(self, request: Request, desk: Desk, texts: Texts) -> None:
        self.request = request
        self.desk = desk
        self.texts = texts
        self.path: str = request.scope["path"]
        self.given = parse_qsl(
            request.scope["query_string"].decode("latin-1"), keep_blank_values=True
        )
        self._first: dict[str, str] = {}
        for name, value in self.given:
            self._first.setdefault(name, value)

    @property
    def wire(self) -> Wire:
        return self.desk.wire

    # -- parameters ----------------------------------------------------------------------------

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def number_part(self, name: str) -> int:
        """Return a number that is a part of the path."""
        return _number(name, self.part(name), 0, MOST_NUMBER)

    def text(self, name: str, default: str = "", most: int = 500) -> str:
        """Return a parameter without surrounding blanks."""
        value = self._first.get(name, default).strip()
        if len(value) > most:
            raise UsageError(f"{name} should have at most {most} characters")
        return value

    def every(self, name: str, most: int = 20) -> list[str]:
        """Return all values of a parameter that may be repeated, without empty ones."""
        values = [value.strip() for key, value in self.given if key == name and value.strip()]
        if len(values) > most:
            raise UsageError(f"at most {most} times {name}")
        return values

    def numbers(self, name: str, most: int = 20) -> list[int]:
        """Return numbers that are given as repeated parameters or separated by commas."""
        texts = [part for value in self.every(name, most) for part in re.split(r"[,\s]+", value)]
        return list(dict.fromkeys(_number(name, text, 0, MOST_NUMBER) for text in texts if text))[
            :most
        ]

    def number(self, name: str, default: int, least: int = 0, most: int = MOST_NUMBER) -> int:
        """Return a number within bounds."""
        text = self.text(name)
        return _number(name, text, least, most) if text else default

    def choice(self, name: str, allowed: Collection[str], default: str) -> str:
        """Return one of several words."""
        value = self.text(name) or default
        if value not in allowed and value != default:
            raise UsageError(f"{name}={value!r} should be one of {', '.join(sorted(allowed))}")
        return value

    def day(self, name: str) -> str | None:
        """Return a day as an ISO date; None if it was not given."""
        text = self.text(name)
        if not text:
            return None
        try:
            return datetime.date.fromisoformat(text).isoformat()
        except ValueError as error:
            raise UsageError(f"{name}={text!r} should be a date like 2026-03-01") from error

    def moment(self, name: str) -> str | int | None:
        """Return a run number or a date; None if neither was given."""
        text = self.text(name, most=40)
        if not text:
            return None
        if text.isdecimal() and text.isascii():
            return _number(name, text, 0, MOST_NUMBER)
        return self.day(name)

    def span(self, default: int = 25, most: int = MOST_PAGE) -> Span:
        """Return which rows of a list are asked for."""
        limit = self.number("limit", default, 1, most)
        page = self.number("page", 1, 1, 10**9)
        return Span(limit, self.number("offset", (page - 1) * limit, 0, 10**12))

    # -- links ---------------------------------------------------------------------------------

    def url(self, path: str, **parameters: Any) -> str:
        """Return an address of this application."""
        rest = urlencode({k: v for k, v in parameters.items() if v not in (None, "")}, doseq=True)
        joined = "&" if "?" in path else "?"
        return f"{self.desk.options.base_path}{path}{joined if rest else ''}{rest}"

    def here(self, **changed: Any) -> str:
        """Return the address of this page with some parameters changed, or left out if None."""
        pairs = [(n, v) for n, v in self.given if n not in changed and n not in ("done", "ui")]
        pairs += [(n, str(v)) for n, v in changed.items() if v not in (None, "")]
        rest = urlencode(pairs)
        return f"{self.desk.options.base_path}{quote(self.path)}{'?' if rest else ''}{rest}"

    def chart(self, name: str, ending: str) -> str:
        """Return the address of the data behind a chart of this page."""
        pairs = [(n, v) for n, v in self.given if n not in ("done", "ui")]
        rest = urlencode(pairs)
        path = quote(self.path.rstrip("/"))
        return f"{self.desk.options.base_path}{path}/{name}.{ending}{'?' if rest else ''}{rest}"


def _number(name: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text) or not least <= int(text) <= most:
        bound = f" from {least} to {most}" if most < MOST_NUMBER else ""
        raise UsageError(f"{name}={text!r} should be a whole number{bound}")
    return int(text)

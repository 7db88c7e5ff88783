"""Find the parts of a wire that are not content: datelines, tickers, web and mail addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from segapsith_plugins.annotators._pieces import match_end
from segapsith_plugins.annotators._words import word_set

__all__ = ["address_spans", "dateline_span"]

_TICKER = re.compile(
    r"<[A-Z0-9][A-Z0-9.\-=^]{0,11}>"
    r"|\((?:NYSE|NASDAQ|Nasdaq|AMEX|LSE|TSX|TSE|EPA|Euronext|OTC|OTCBB|FRA|ASX|HKEX|SIX)"
    r"\s?:\s?[A-Z0-9.\-]{1,12}\)"
)
_MONTH = "jan feb mar apr may jun jul aug sep oct nov dec janv fév févr mars avr mai juin juil août déc".replace(
    " ", "|"
)
_DATE = rf"(?:{_MONTH})[a-zé]{{0,7}}\.? \d{{1,2}}|\d{{1,2}}(?:er)? (?:{_MONTH})[a-zé]{{0,7}}\.?"
_DATELINE = re.compile(
    r"\s{0,9}(?P<place>[^\W\d_][^\n()]{1,60}?)"
    rf"(?:,? (?i:{_DATE})(?:,? \d{{4}})?(?: \([^()\n]{{2,30}}\))?"
    r"|,? \((?:AFP|AP|Reuters?|REUTERS?|UPI|ANSA|DPA|dpa|Xinhua|TASS|Belga|ATS)\))"
    r" ?(?:--|[-–—])(?=\s)"
)
_PLACE_WORDS = word_set("de du des la le les l d en et sur sous lès of and the al el am")
_HEAD_CHARS = 160


def dateline_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the dateline of a body that begins at `start`, or None."""
    head = text[start : min(start + _HEAD_CHARS, end)]
    if "-" in head or "–" in head or "—" in head:
        match = _DATELINE.match(head)
        if match and all(
            word[0].isupper() or word in _PLACE_WORDS for word in match["place"].split()
        ):
            return start, start + match.end()
    return None


def address_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of tickers, web addresses and mail addresses."""
    if "<" in text or "(" in text:
        for match in _TICKER.finditer(text):
            yield match.span()
    for at in _places(text, "://"):
        start = at - 5 if text.endswith("https", 0, at) else at - 4
        if text.endswith("http", 0, at) or start == at - 5:
            yield start, match_end(_TO_BLANK, text, at + 3)
    for at in _places(text, "www."):
        yield at, match_end(_TO_BLANK, text, at + 4)
    for at in _places(text, "@"):
        start = at
        while (
            start
            and at - start <= _MAX_LOCAL_CHARS
            and (text[start - 1].isalnum() or text[start - 1] in "._+-")
        ):
            start -= 1
        end = match_end(_HOST, text, at + 1)
        if 0 < at - start <= _MAX_LOCAL_CHARS and end > at + 1:
            yield start, end


_MAX_LOCAL_CHARS = 64
"""Maximum number of characters before the @ of an address."""
_TO_BLANK = re.compile(r"[^\s<>]*+")
_HOST = re.compile(r"[\w.-]*+")


def _places(text: str, sign: str) -> Iterator[int]:
    """Yield where a string occurs; this is faster than a pattern."""
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + 1)

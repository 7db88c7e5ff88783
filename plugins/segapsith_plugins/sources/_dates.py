"""Convert dates as wires write them to ISO 8601, in the time zone that they were written in."""

from __future__ import annotations

import datetime
import re

from segapsith.languages.months import MONTHS

__all__ = ["dated", "iso"]

_ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 60, "bst": 60, "ist": 330, "cet": 60,
    "met": 60, "cest": 120, "mest": 120, "eet": 120, "eest": 180, "msk": 180, "est": -300,
    "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
    "akst": -540, "hst": -600, "jst": 540, "kst": 540, "aest": 600, "aedt": 660, "nzst": 720,
    "nzdt": 780, "sgt": 480, "hkt": 480,
}  # fmt: skip

_TIME = re.compile(
    r"(?<!\d)(\d{1,2})\s?[:hH.时時点點시]\s?(\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?\s?([AaPp]\.?[Mm]\.?)?(?![\d.])"
)
_ZONE = re.compile(r"(?:GMT|UTC)?\s?([+-])(\d{2}):?(\d{2})(?!\d)|\b([A-Za-z]{1,4})\b")
_MORNING, _AFTERNOON = ("오전", "上午", "午前"), ("오후", "下午", "午後")
_BASIC = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})"
    r"(?:[T ]?(\d{2}):?(\d{2})(?::?(\d{2}))?(?:[.,]\d{1,9})?\s?(Z|[+-]\d{2}:?(?:\d{2})?)?)?"
)
_DAY_FIRST = re.compile(
    r"(?<!\d)(\d{1,2})(?:er|st|nd|rd|th|º)?[\s./-]+(?:del? )?((?:[^\W\d_][\u0900-\u094d]?){2,12})"
    r"\.?[\s./,-]+(?:del? )?(\d{4}|\d{2})(?!\d)"
)
_MONTH_FIRST = re.compile(r"([^\W\d_]{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)")
_YEAR_AND_MONTH = re.compile(r"(?<!\d)(\d{4})\.?\s+([^\W\d_]{3,10})\.?\s+(\d{1,2})(?!\d)")
_YEAR_FIRST = re.compile(r"(\d{4})[年년]\s?(\d{1,2})[月월]\s?(\d{1,2})[日일]")
_NUMBERS = re.compile(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?!\d)")
_ASCTIME = re.compile(
    r"([A-Za-z]{3})\s+(\d{1,2})\s+(\d{1,2}:\d{2}(?::\d{2})?)\s+(?:([A-Za-z]{3,4})\s+)?(\d{4})"
)


def iso(text: str | None, *, month_first: bool = False) -> str | None:
    """Return the date in ISO 8601 in its own zone, a day without a time as a day, or None if
    invalid.

    >>> iso("Mon, 02 Mar 2026 06:15:00 +0100"), iso("20260302T061500Z"), iso("2 mars 2026 à 6h15")
    ('2026-03-02T06:15:00+01:00', '2026-03-02T06:15:00+00:00', '2026-03-02T06:15:00')
    >>> iso("2. März 2026"), iso("2 de marzo de 2026"), iso("2 мая 2026"), iso("2026年3月2日")
    ('2026-03-02', '2026-03-02', '2026-05-02', '2026-03-02')
    >>> iso("26-FEB-1987 15:01:01.79"), iso("03/04/2026"), iso("soon")
    ('1987-02-26T15:01:01', '2026-04-03', None)
    """
    if not text or len(text) > 200:
        return None
    text = text.strip()
    try:
        return _basic(text) or _worded(text, month_first)
    except (ValueError, OverflowError):
        return None


def dated(text: str | None, *, month_first: bool = False) -> tuple[str | None, dict[str, str]]:
    """Return the date, and the original as metadata if it was written differently."""
    date = iso(text, month_first=month_first)
    original = (text or "").strip()[:200]
    same = original.replace("Z", "+00:00") == date
    return date, {} if same or not original else {"date_original": original}


def _basic(text: str) -> str | None:
    match = _BASIC.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    date = datetime.date(int(year), int(month), int(day))
    if hour is None:
        return date.isoformat()
    time = datetime.time(int(hour) % 24, int(minute), min(int(second or 0), 59))
    return _joined(date, time, _offset(zone) if zone else None)


def _worded(text: str, month_first: bool) -> str | None:
    if match := _ASCTIME.search(text):
        name, day, clock, zone, year = match.groups()
        return _worded(f"{day} {name} {year} {clock} {zone or ''}", month_first)
    if (match := _DAY_FIRST.search(text)) and match.group(2).lower() in MONTHS:
        day, name, year = match.groups()
        month = MONTHS[name.lower()]
    elif (match := _MONTH_FIRST.search(text)) and match.group(1).lower() in MONTHS:
        name, day, year = match.groups()
        month = MONTHS[name.lower()]
    elif (match := _YEAR_AND_MONTH.search(text)) and match.group(2).lower() in MONTHS:
        year, name, day = match.groups()
        month = MONTHS[name.lower()]
    elif match := _YEAR_FIRST.search(text):
        year, number, day = match.groups()
        month = int(number)
    elif match := _NUMBERS.search(text):
        first, second, year = match.groups()
        swapped = month_first if max(int(first), int(second)) <= 12 else int(second) > 12
        day, month = (second, int(first)) if swapped else (first, int(second))
    elif match := re.search(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", text):
        year, number, day = match.groups()
        month = int(number)
    else:
        return None
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= 60 else 2000)
    date = datetime.date(full, month, int(day))
    rest = text[: match.start()] + " " + text[match.end() :]
    return _with_clock(date, rest)


def _with_clock(date: datetime.date, text: str) -> str:
    """Return the date with the time that stands in the text beside it."""
    clock = _TIME.search(text)
    if clock is None:
        return date.isoformat()
    hour, minute, seconds, half = clock.groups()
    before = text[: clock.start()].rstrip()
    is_later = half[0] in "pP" if half else before.endswith(_AFTERNOON)
    is_earlier = half[0] in "aA" if half else before.endswith(_MORNING)
    shift = 12 if is_later and int(hour) < 12 else -12 if is_earlier and int(hour) == 12 else 0
    time = datetime.time(int(hour) + shift, int(minute), min(int(seconds or 0), 59))
    return _joined(date, time, _zone(text[clock.end() :]))


def _zone(text: str) -> int | None:
    match = _ZONE.match(text.strip())
    if match is None:
        return None
    sign, hours, minutes, name = match.groups()
    if name is not None:
        return _ZONES.get(name.lower())
    return _offset(f"{sign}{hours}{minutes}")


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return -minutes if zone[0] == "-" else minutes


def _joined(date: datetime.date, time: datetime.time, offset: int | None) -> str:
    zone = None if offset is None else datetime.timezone(datetime.timedelta(minutes=offset))
    return datetime.datetime.combine(date, time, zone).isoformat(timespec="seconds")

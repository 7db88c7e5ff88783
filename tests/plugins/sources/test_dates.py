"""Dates as wires write them."""

from __future__ import annotations

import datetime
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith_plugins.sources._dates import dated, iso

MINUTES = st.integers(-12 * 60, 14 * 60)
ZONES = MINUTES.map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
MOMENTS = st.datetimes(
    datetime.datetime(1960, 1, 1), datetime.datetime(2059, 12, 31), timezones=ZONES
).map(lambda moment: moment.replace(microsecond=0))


@given(MOMENTS)
@settings(deadline=None)
def test_a_moment_is_the_same_in_every_standard_form(moment: datetime.datetime) -> None:
    expected = moment.isoformat()
    assert iso(expected) == expected
    assert iso(format_datetime(moment)) == expected
    assert iso(moment.strftime("%Y%m%dT%H%M%S%z")) == expected
    assert iso(moment.strftime("%d-%b-%Y %H:%M:%S ") + moment.strftime("%z")) == expected


@given(st.text(max_size=40))
@settings(deadline=None)
def test_any_text_gives_a_date_that_python_reads_or_none(text: str) -> None:
    date = iso(text)
    assert date is None or datetime.datetime.fromisoformat(date)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1er août 2026", "2026-08-01"),
        ("March 3rd, 2026 at 5:07 PM EST", "2026-03-03T17:07:00-05:00"),
        ("12:30 a.m., 4 July 2026", "2026-07-04T00:30:00"),
        ("Tue Mar  3 14:05:00 CET 2026", "2026-03-03T14:05:00+01:00"),
        ("13/02/2026", "2026-02-13"),
        ("02/13/2026", "2026-02-13"),
        ("31/12/59", "2059-12-31"),
        ("31/12/60", "1960-12-31"),
        ("2026-02-30", None),
        ("2 foo 2026", None),
        ("", None),
        (None, None),
        ("1 " * 150, None),
    ],
)
def test_dates_of_wires(text: str | None, date: str | None) -> None:
    assert iso(text) == date


def test_ambiguous_numbers_begin_with_the_day_unless_the_source_says_otherwise() -> None:
    assert iso("03/04/2026") == "2026-04-03"
    assert iso("03/04/2026", month_first=True) == "2026-03-04"


def test_what_was_written_differently_is_kept_beside_the_date() -> None:
    assert dated("2026-03-02") == ("2026-03-02", {})
    assert dated("2026-03-02T06:15:00Z") == ("2026-03-02T06:15:00+00:00", {})
    assert dated(" 2 mars 2026 ") == ("2026-03-02", {"date_original": "2 mars 2026"})
    assert dated("soon") == (None, {"date_original": "soon"})
    assert dated(None) == (None, {})


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("czw., 19 lis 2026 12:00:00 +0100", "2026-11-19T12:00:00+01:00"),
        ("Πεμ, 19 Νοε 2026 12:00:00 +0200", "2026-11-19T12:00:00+02:00"),
        ("Чт, 19 ноя 2026 12:00:00 +0300", "2026-11-19T12:00:00+03:00"),
        ("19 лист. 2026, 12:00", "2026-11-19T12:00:00"),
        ("19. des. 2026 12:00", "2026-12-19T12:00:00"),
        ("19 Ağu 2026 12:00", "2026-08-19T12:00:00"),
        ("2026. november 19. 12:00", "2026-11-19T12:00:00"),
        ("2026. márc. 9.", "2026-03-09"),
        ("19 בנובמבר 2026 12:00", "2026-11-19T12:00:00"),
        ("19 نونبر 2026 12:00", "2026-11-19T12:00:00"),
        ("19 सितम्बर 2026", "2026-09-19"),
        ("2026年11月19日 12时05分", "2026-11-19T12:05:00"),
        ("2026年11月19日 下午3時05分", "2026-11-19T15:05:00"),
        ("2026년 11월 19일 오후 3시 20분", "2026-11-19T15:20:00"),
        ("2026년 11월 19일 오전 12시 20분", "2026-11-19T00:20:00"),
    ],
)
def test_months_and_times_of_feeds_in_other_languages(text: str, date: str) -> None:
    assert iso(text) == date

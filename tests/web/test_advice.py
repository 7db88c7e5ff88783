"""Alarms on the page of today come with what to do."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import escape
from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith.operations import alarms
from segapsith.web.advice import ADVICE
from segapsith.web.texts import catalogue
from segapsith_store.queries import nights


def test_every_alarm_has_advice_and_a_page_that_shows_its_cause(
    steering: TestClient, own_path: Path
) -> None:
    names = set(re.findall(r'Alarm\(\s*"([a-z-]+)"', Path(alarms.__file__).read_text("utf-8")))
    assert names == ADVICE.keys()
    found = [{"name": name, "reason": "why", "look": "segapsith x"} for name in sorted(names)]
    with Wire(own_path) as wire:
        number = nights.begin(wire.writer, "2026-03-09", "2026-03-09T02:30:00+00:00")
        ended = "2026-03-09T02:40:00+00:00"
        nights.end(wire.writer, number, ended, 0, "ok: 7 new", {}, {"alarms": found})
    for advice in ADVICE.values():
        assert steering.get(advice.path).status_code == 200
    english = steering.get("/", headers={"accept-language": "en"}).text
    french = steering.get("/", headers={"accept-language": "fr"}).text
    for advice in ADVICE.values():
        assert str(escape(advice.text)) in english
        assert str(escape(catalogue()[advice.text])) in french
    assert "La nuit du 2026-03-09 est terminée." in french
    assert '<p class="soft" lang="en">ok: 7 new</p>' in french
    assert '<p class="lead">ok: 7 new</p>' in english

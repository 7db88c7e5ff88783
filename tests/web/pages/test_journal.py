"""Runs, feeds and how to cite."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire


def test_the_page_to_cite_has_the_digest(client: TestClient, shown_path: Path) -> None:
    page = client.get("/cite").text
    assert page.count(Wire(shown_path).status().digest) == 2 and "@misc{segapsith-" in page


def test_runs_are_listed_newest_first(client: TestClient, shown_path: Path) -> None:
    runs = Wire(shown_path).runs()
    page = client.get("/runs").text
    places = [page.index(f'id="run-{run.id}"') for run in runs]
    assert places == sorted(places)
    assert 'method="post"' not in page

"""Runs, feeds and how to cite."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith_store import Store
from segapsith_store.seal import seal


def test_the_page_to_cite_has_the_digest(client: TestClient, shown_path: Path) -> None:
    digest = Wire(shown_path).status().digest
    page = client.get("/cite").text
    assert digest not in page and 'href="/cite?digest=1"' in page, "it is computed when asked for"
    page = client.get("/cite?digest=1").text
    assert page.count(digest) == 2 and "@misc{segapsith-" in page


def test_the_digest_of_a_sealed_store_needs_no_computing(
    steering: TestClient, own_path: Path
) -> None:
    with Store.writing(own_path) as store:
        digest = seal(store)
    assert digest in steering.get("/cite").text


def test_runs_are_listed_newest_first(client: TestClient, shown_path: Path) -> None:
    runs = Wire(shown_path).runs()
    page = client.get("/runs").text
    places = [page.index(f'id="run-{run.id}"') for run in runs]
    assert places == sorted(places)
    assert 'method="post"' not in page

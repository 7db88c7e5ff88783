"""The page of validations: figures, verdicts by kind, the series."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from segapsith import web
from segapsith.api.wire import Wire


def test_verdicts_can_be_chosen_by_kind(client: TestClient, shown_path: Path) -> None:
    last = Wire(shown_path).browse.validations()[0]
    kinds = {verdict["verdict"] for verdict in last["verdicts"]}
    for kind in kinds:
        page = client.get(f"/validation?verdict={kind}&limit=200").text
        shown = page.partition('class="plain verdicts"')[2]
        assert shown.count(f"badge v-{kind}") == sum(v["verdict"] == kind for v in last["verdicts"])
    assert client.get("/validation?verdict=x").status_code == 400


def test_a_store_without_a_validation_names_the_command(tmp_path: Path) -> None:
    with Wire(tmp_path / "w.db") as wire:
        wire.ingest([{"id": "a", "text": "A storm came.", "lang": "en"}])
    client = TestClient(web.app(tmp_path / "w.db", token="t" * 20), "http://127.0.0.1",
                        headers={"authorization": f"Bearer {'t' * 20}"})  # fmt: skip
    assert "segapsith validate" in client.get("/validation").text
    for path in ("/", "/topics", "/map", "/timeline", "/compare", "/runs", "/cite", "/watch"):
        assert client.get(path).status_code == 200, path

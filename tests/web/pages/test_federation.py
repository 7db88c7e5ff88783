"""A federated view beside the pages of a store."""

from __future__ import annotations

import json
import os
from pathlib import Path

from starlette.testclient import TestClient


def test_subjects_have_a_column_for_each_store_and_lead_to_the_domains_of_this_one(
    federated: TestClient, view: Path
) -> None:
    facts = json.loads((view / "federation.json").read_text("utf-8"))
    first = facts["domains"]["subjects"][0]
    assert len(first["members"]) == 2
    page = federated.get("/federation").text
    assert first["label"] in page
    assert f'href="/domains/{dict(first["members"])["own"]}"' in page
    assert "the store of these pages" in page
    assert federated.get("/federation?common=1&lang=fr&level=topics").status_code == 200
    assert "No subject matches." in federated.get("/federation?q=xyzzy").text
    assert federated.get("/federation?level=units").status_code == 400
    assert '<a href="/federation"' in federated.get("/").text


def test_the_chart_counts_the_domains_of_each_store(federated: TestClient, view: Path) -> None:
    facts = json.loads((view / "federation.json").read_text("utf-8"))
    domains = {one["name"]: one["domains"] for one in facts["stores"]}
    rows = federated.get("/federation/stores.json").json()
    counted = {r["store"]: r["also in other stores"] + r["only in this store"] for r in rows}
    assert counted == domains
    assert federated.get("/federation/stores.csv").text.startswith("store,also in other stores")
    assert "<svg" in federated.get("/federation/stores.svg").text


def test_a_new_view_is_shown_without_a_restart(federated: TestClient, view: Path) -> None:
    before = federated.get("/federation").text
    file = view / "federation.json"
    facts = json.loads(file.read_text("utf-8"))
    facts["domains"]["subjects"][0]["label"] = "<b>Mine & yours</b>"
    written = view / "new.json"
    written.write_text(json.dumps(facts), "utf-8")
    os.replace(written, file)
    after = federated.get("/federation").text
    assert "&lt;b&gt;Mine &amp; yours&lt;/b&gt;" in after and after != before


def test_a_missing_or_damaged_view_is_reported(federated: TestClient, view: Path) -> None:
    file = view / "federation.json"
    for content, status in (("{", 500), ("[]", 500), ('{"stores": []}', 500)):
        file.write_text(content, "utf-8")
        assert federated.get("/federation").status_code == status
    file.unlink()
    assert federated.get("/federation").status_code == 404


def test_without_a_view_there_is_no_such_page(client: TestClient) -> None:
    assert client.get("/federation").status_code == 404
    assert "/federation" not in client.get("/").text

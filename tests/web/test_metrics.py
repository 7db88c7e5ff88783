"""`/metrics`: the text format of Prometheus, behind the token."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from segapsith import web
from segapsith.api.wire import Wire


def test_metrics_are_read_by_the_parser_of_prometheus(client: TestClient, shown_path: Path) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    figures = {
        sample.name: sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    status = Wire(shown_path).status()
    assert figures["segapsith_documents"] == status.documents > 0
    assert figures["segapsith_domains"] == status.domains > 0
    assert figures["segapsith_stable_domains"] == status.stable_domains


def test_metrics_need_the_token(shown_path: Path) -> None:
    with TestClient(web.app(shown_path, token="x" * 20), "http://127.0.0.1:8787") as stranger:
        assert stranger.get("/metrics").status_code == 401

"""Two runs compared on a page."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire


def test_a_comparison_names_what_appeared(client: TestClient) -> None:
    page = client.get("/compare?left=1&right=5").text
    assert "Appeared" in page and "Units before" in page
    assert client.get("/compare?left=999").status_code == 400


EMPTY = re.compile(r"<a [^>]*>\s*</a>")


def test_domains_that_are_gone_have_a_name_on_every_page(
    steering: TestClient, own_path: Path
) -> None:
    with Wire(own_path) as wire:
        before = wire.browse.state().run
        target, source = (one.id for one in wire.domains(limit=2, lang="en"))
        wire.domains.merge([source, target], into=target)
        wire.sections(limit=0)
    page = steering.get(f"/compare?left={before}").text
    assert f'href="/domains/{source}?as_of={before}"' in page
    gone = steering.get(f"/domains/{source}?as_of={before}").text
    assert re.search(r"<h1>[^<]+</h1>", gone)
    for path in ("/", "/compare?left=1", "/runs", "/domains", f"/domains/{target}"):
        assert EMPTY.findall(steering.get(path).text) == []
    assert EMPTY.findall(page) == []

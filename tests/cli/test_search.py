"""Documents and domains are found by their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segapsith.demo import sample

Answer = Callable[..., Any]


def test_search_finds_documents_and_domains(answer: Answer) -> None:
    answer("ingest", str(sample.path("fr")))
    found = answer("search", "grève")
    assert found["documents"]
    assert found["domains"]
    assert answer("search", "GREVE")["documents"] == found["documents"]
    assert answer("search", '"; DROP TABLE domains; --')["documents"] == []

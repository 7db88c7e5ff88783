"""The page of a federated view."""

from __future__ import annotations

import re
from typing import Any

import pytest

from segapsith.report import federation


def facts(n_subjects: int = 2, is_exact: bool = False) -> dict[str, Any]:
    groups = [
        {"store": store, "id": n, "label": f"{store} {n}", "lang": "en", "units": 10 * n,
         "first": "2026-03-01", "last": "2026-03-04", "topic": None, "words": ["rain"]}
        for n in range(1, n_subjects + 1)
        for store in ("a", "b")
    ]  # fmt: skip
    subjects = [
        {"id": n, "label": f"Flood & {n}", "lang": "en", "units": 20 * n, "first": "2026-03-01",
         "last": "2026-03-04", "words": ["rain"], "members": [["a", n], ["b", n]]}
        for n in range(1, n_subjects + 1)
    ]  # fmt: skip
    link = {"lang": "en", "left_store": "a", "left": 1, "right_store": "b", "right": 2,
            "similarity": 0.5, "divergence": 1.0, "is_mutual": False}  # fmt: skip
    store = {"languages": {"en": 5}, "documents": 5, "units": 9, "domains": 2, "topics": 0,
             "digest": "d" * 64, "path": "a.db"}  # fmt: skip
    return {
        "is_exact": is_exact,
        "note": "Links are approximate.",
        "threshold": 0.25,
        "min_units": 3,
        "stores": [{"name": "a", **store}, {"name": "b", **store}],
        "domains": {"groups": groups, "links": [link], "subjects": subjects},
        "topics": {"groups": [], "links": [], "subjects": []},
        "agreements": [{"left": "a", "right": "b", "units": 4, "kappa": 0.5, "same_subject": 0.75}],
    }


def test_the_page_shows_subjects_by_store_and_escapes_texts() -> None:
    page = federation.page(facts())
    assert "Flood &amp; 1" in page and page.count('<td class="cell') == 4
    assert "Links are approximate." in page and "a similarity above 0.25" in page
    assert "0.500" in page and "75 %" in page and "Linked in one direction" in page


def test_the_page_is_self_contained() -> None:
    page = federation.page(facts())
    assert "<script" not in page and not re.search(r"(src|href)=\"(?!#)", page)
    assert "default-src 'none'; style-src 'sha256-" in page


def test_an_exact_view_has_no_threshold() -> None:
    page = federation.page(facts(is_exact=True))
    assert "a similarity above" not in page and 'class="note exact"' in page


def test_a_long_list_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federation, "MAX_SUBJECTS", 3)
    page = federation.page(facts(5))
    assert "the first 3 are shown, all are in subjects.csv" in page
    assert page.count('<th scope="row">') == 3

"""What happened to a domain, in words."""

from __future__ import annotations

import re
from pathlib import Path

from segapsith import engine
from segapsith.web.history import history_sentence
from segapsith.web.texts import Texts


def test_every_kind_of_change_that_the_engine_notes_has_a_sentence() -> None:
    kinds: set[str] = set()
    for path in Path(engine.__file__).parent.glob("*.py"):
        source = path.read_text("utf-8")
        for pair in re.findall(r'LineageEntry\("(\w+)"|change_domain\(\s*"(\w+)"', source):
            kinds |= set(pair) - {""}
    kinds |= {"opened", "retired", "locked", "unlocked"}
    assert {"created", "emptied", "merged", "took", "split", "renamed"} <= kinds
    detail = {"into": [7, 8], "source": [9], "before": {"label": "old"}}
    for language in ("en", "fr"):
        for kind in kinds:
            sentence = history_sentence({"kind": kind, **detail}, Texts(language))
            assert sentence and (language == "en" or sentence != kind), kind


def test_a_kind_of_a_later_release_is_shown_as_it_is() -> None:
    assert history_sentence({"kind": "dyed"}, Texts("fr")) == "dyed"


def test_the_other_domains_are_named() -> None:
    texts = Texts("en")
    assert history_sentence({"kind": "split", "into": [7, 8]}, texts) == "split into domains 7, 8"
    renamed = {"kind": "renamed", "before": {"label": "Floods"}}
    assert history_sentence(renamed, texts) == "renamed, before “Floods”"

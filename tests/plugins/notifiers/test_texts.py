"""What notifiers share: headings, texts and ids that depend on the notices alone."""

from __future__ import annotations

from segapsith.model import Notice
from segapsith_plugins.notifiers._texts import delivery_id, heading, plain_text


def test_a_single_notice_is_its_own_heading(notices: list[Notice]) -> None:
    assert heading(notices[:1]) == f"segapsith: {notices[0].title}"
    assert heading([*notices, notices[0]]) == "segapsith 2026-03-02: 2 alarms, 1 new domain"


def test_texts_are_paragraphs_and_ids_follow_the_keys(notices: list[Notice]) -> None:
    assert plain_text(notices).count("\n\n") == 1
    assert delivery_id(notices) == delivery_id(list(notices)) != delivery_id(notices[:1])

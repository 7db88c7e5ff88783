"""Survival of ids over nights."""

from __future__ import annotations

import pytest

from segapsith.model import Document
from segapsith_reproduce.streams.id_survival import NIGHTS, STABLE, id_survival, surviving_share


def test_a_group_survives_with_its_number_and_most_of_its_documents() -> None:
    whole = dict.fromkeys(range(STABLE), 1)
    halved = {document: 1 if document < STABLE / 2 else 2 for document in range(STABLE)}
    moved = {document: 1 if document < STABLE / 2 - 1 else 2 for document in range(STABLE)}
    assert surviving_share([whole, halved]) == 1
    assert surviving_share([whole, moved]) == 0
    assert surviving_share([whole, whole, moved, moved]) == pytest.approx(0)
    assert surviving_share([dict.fromkeys(range(STABLE - 1), 1), whole]) is None


@pytest.mark.slow
def test_two_subjects_keep_their_numbers() -> None:
    subjects = ("harbour sailing anchor keel rudder", "galaxy telescope planet orbit comet")
    documents = [
        Document(uid=str(n), body=f"{subjects[n % 2]} word{n} other{n}", lang="en")
        for n in range(4 * NIGHTS)
    ]
    found = id_survival(documents)
    assert [found[level] for level in ("domains", "topics", "sections")] == [1.0] * 3

"""Headlines that announce something about an earlier story."""

from __future__ import annotations

import pytest

from segapsith.intake.notices import Notice, notice


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("CORRECTED: Oil rises", Notice.CORRECTION),
        ("CORRECTION", Notice.CORRECTION),
        ("(CORRECTED) - BANPONCE <BDEP> PLACES NOTES", Notice.CORRECTION),
        ("CORRECTED-NETWORK VIDEO INC <NVID> 3RD QTR", Notice.CORRECTION),
        ("Correction: Smith story", Notice.CORRECTION),
        ("REFILE-UPDATE 2-Oil rises", Notice.CORRECTION),
        ("RECTIFICATIF: le bilan du séisme", Notice.CORRECTION),
        ("Séisme au Chili (corrigé)", Notice.CORRECTION),
        ("Séisme au Chili - RECTIFICATIF", Notice.CORRECTION),
        ("UPDATE 1-Oil rises", Notice.UPDATE),
        ("WRAPUP 3-Markets fall", Notice.UPDATE),
        ("Séisme au Chili (actualisé)", Notice.UPDATE),
        ("RPT-INSITUFORM OF NORTH AMERICA", Notice.REPEAT),
        ("(RPT) U.S. SAYS TIN DISPOSALS", Notice.REPEAT),
        ("WITHDRAWN: Oil rises", Notice.WITHDRAWAL),
        ("KILL", Notice.WITHDRAWAL),
        ("Mandatory Kill: Smith story", Notice.WITHDRAWAL),
        ("ANNULATION", Notice.WITHDRAWAL),
        ("ANNULATION - séisme au Chili", Notice.WITHDRAWAL),
        ("EMBARGO 0600 GMT: report on trade", Notice.EMBARGO),
        ("SOUS EMBARGO: le rapport", Notice.EMBARGO),
        ("WHITE HOUSE WITHDRAWS GATES NOMINATION", Notice.NONE),
        ("THREE KILLED IN ZINC REFINERY CLASH", Notice.NONE),
        ("KILLEARN PROPERTIES INC <KPI> 3RD QTR NET", Notice.NONE),
        ("JAMAICA CORRECTS SIZE OF PARIS CLUB RESCHEDULING", Notice.NONE),
        ("Correction of markets continues", Notice.NONE),
        ("Update on talks", Notice.NONE),
        ("Embargo sur les armes: l'ONU vote", Notice.NONE),
        ("Embargo: Cuba dénonce", Notice.NONE),
        ("Annulation du festival de Cannes", Notice.NONE),
        ("", Notice.NONE),
    ],
)
def test_notices_are_distinguished_from_stories(title: str, kind: Notice) -> None:
    assert notice(title) is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("(Corrects second paragraph) LONDON, March 3 - Oil rose.", Notice.CORRECTION),
        ("The story headlined 'Oil rises' is withdrawn.", Notice.WITHDRAWAL),
        ("Veuillez ne pas tenir compte de la dépêche sur le pétrole.", Notice.WITHDRAWAL),
        ("The army withdrew. The report was read.", Notice.NONE),
    ],
)
def test_the_first_lines_may_be_the_notice(body: str, kind: Notice) -> None:
    assert notice("Oil", body) is kind


def test_the_notice_with_the_highest_precedence_counts() -> None:
    assert notice("UPDATE 2-CORRECTED-Oil rises") is Notice.CORRECTION
    assert notice("CORRECTED - Oil rises", "This story has been withdrawn.") is Notice.WITHDRAWAL


def test_an_empty_item_is_not_a_notice() -> None:
    assert notice("") is Notice.NONE

"""Normal forms of documents, hashes, dates, and headlines that announce something."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.intake import documents
from segapsith.intake.documents import (
    EMBARGO,
    Notice,
    clean,
    clean_bag,
    cleaned,
    is_clean,
    marked,
    notice,
    text_hash,
    utc,
)
from segapsith.model import Document


@given(st.text(alphabet=st.characters(codec=None), max_size=50))
def test_a_cleaned_text_can_be_stored_and_has_the_same_length(text: str) -> None:
    result = clean(text)
    assert len(result) == len(text)
    assert is_clean(result) and is_clean(text) == (result == text)
    assert "\0" not in result
    result.encode("utf-8")


def test_a_clean_document_is_returned_unchanged() -> None:
    document = Document(uid="a", title="Flood", metadata={"desk": "EU"})
    assert cleaned(document) is document


def test_every_text_of_a_document_is_cleaned() -> None:
    document = Document(
        uid=" a\0 ",
        title="\0",
        body="\ud800",
        date="\0",
        lang="\0",
        source="\0",
        metadata={"k\0": {"x": ["\0", math.nan, 1]}},
    )
    assert cleaned(document) == Document(
        uid="a�",
        title="�",
        body="�",
        date="�",
        lang="�",
        source="�",
        metadata={"k�": {"x": ["�", None, 1]}},
    )


def test_words_of_a_bag_are_cleaned() -> None:
    assert clean_bag({"rain\0": 2}) == {"rain�": 2}
    bag = {"rain": 2}
    assert clean_bag(bag) is bag


def test_spacing_and_composition_do_not_change_the_hash() -> None:
    one = Document(title="Caf\u00e9", body="in  Paris")
    two = Document(title="Cafe\u0301", body="in Paris ")
    assert text_hash(one) == text_hash(two) != text_hash(Document(title="Cafe", body="in Paris"))


def test_a_date_without_a_zone_is_in_utc() -> None:
    assert utc("2026-03-02 06:15") == "2026-03-02T06:15:00+00:00"


def test_an_invalid_date_is_none() -> None:
    assert [utc(text) for text in (None, "", "2026-02-30", "0001-01-01T00:00+14:00")] == [None] * 4


# -- notices ---------------------------------------------------------------------------------


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


TEXT = "The river rose in the night and flooded the old harbour of the town. " * 5


@pytest.mark.parametrize(
    ("document", "until"),
    [
        (Document(title="Budget", metadata={"embargo": "20260303T000000Z"}), "2026-03-03T00:00:00+00:00"),
        (Document(title="Budget", metadata={"embargo": "tonight"}), "tonight"),
        (Document(title="EMBARGO: Budget"), ""),
        (Document(title="Budget", metadata={"status": "embargoed"}), ""),
        (Document(title="Oil embargo ends"), None),
        (
            Document(
                title="Out", date="2026-03-03T01:00:00+01:00", metadata={"embargo": "2026-03-03T00:00:00Z"}
            ),
            None,
        ),
        (Document(metadata={"embargo": "20260303T000000Z"}, bag={"a": 1}), None),
    ],
)  # fmt: skip
def test_until_when(document: Document, until: str | None) -> None:
    assert marked(document).metadata.get(EMBARGO) == until


def written(path: Path, *items: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return str(path)


@pytest.mark.slow
def test_an_embargoed_story_is_counted_and_learned(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    story = {"id": "a", "title": "Flood", "text": TEXT, "embargo": "2030-01-01T00:00:00Z"}
    code, out, _ = command("ingest", written(tmp_path / "a.jsonl", story), "--json")
    found = json.loads(out)
    assert (code, found["new"], found["embargoed"], found["units"] > 0) == (0, 1, 1, True)
    code, out, _ = command("ingest", str(tmp_path / "a.jsonl"), "--json")
    assert json.loads(out)["embargoed"] == 0  # known already


@pytest.mark.slow
def test_a_story_that_is_taken_back_under_its_id_is_not_learned_any_more(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    story = {"uri": "urn:a", "headline": "Flood", "body_text": TEXT, "versioncreated": "2026-03-02"}
    command("ingest", written(tmp_path / "a.jsonl", story | {"pubstatus": "usable"}))
    assert json.loads(command("status", "--json")[1])["domains"] > 0
    taken = written(tmp_path / "b.jsonl", story | {"pubstatus": "canceled"})
    code, out, _ = command("ingest", taken, "--json")
    assert (code, json.loads(out)["corrected"]) == (0, 1)
    assert json.loads(command("status", "--json")[1])["domains"] == 0
    assert command("verify")[0] == 0
    assert json.loads(command("ingest", taken, "--json")[1])["duplicate"] == 1


def test_texts_in_other_languages_are_counted(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    german = {"id": "a", "title": "Flut", "text": "Der Fluss stieg in der Nacht.", "lang": "gsw"}
    english = {"id": "b", "title": "Flood", "text": TEXT, "lang": "en"}
    path = written(tmp_path / "a.jsonl", german, english)
    code, out, _ = command("ingest", path, "--lang", "auto")
    assert code == 0
    assert "1 in other languages" in out


@given(st.from_regex(documents._BODY))
def test_a_body_that_announces_something_has_one_of_the_signs(body: str) -> None:
    """The search for signs is only a faster way to find that there is nothing to announce."""
    assert any(sign in body.casefold() for sign in documents._BODY_SIGNS)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("KORREKTUR: Bundestag stimmt ab", "correction"),
        ("ZURÜCKGEZOGEN: Bundestag stimmt ab", "withdrawal"),
        ("Sperrfrist: 18.00 Uhr - Haushalt", "embargo"),
        ("CORRECCIÓN: Sube el paro", "correction"),
        ("Anulación: sube el paro", "withdrawal"),
        ("EMBARGO hasta las 18.00: presupuesto", "embargo"),
        ("Correzione: bilancio dello Stato", "correction"),
        ("ANNULLAMENTO - bilancio dello Stato", "withdrawal"),
        ("CORREÇÃO - Governo anuncia medidas", "correction"),
        ("ANULAÇÃO: Governo anuncia medidas", "withdrawal"),
        ("EMBARGADA hasta las 18.00: presupuesto", "embargo"),
        ("ANNULLA E SOSTITUISCE: bilancio dello Stato", "withdrawal"),
        ("ERRATA CORRIGE - bilancio dello Stato", "correction"),
        ("Fe de errores: presupuesto", "correction"),
        ("RECTIFICATIE: begroting", "correction"),
        ("RÄTTELSE: budgeten", "correction"),
        ("Korrektur der Steuerpläne gefordert", "none"),
        ("Anulada la elección en Lima", "none"),
        ("Annullamento del voto chiesto a Roma", "none"),
    ],
)
def test_notices_of_german_spanish_italian_and_portuguese_agencies(title: str, kind: str) -> None:
    assert documents.notice(title) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("Die Meldung vom Morgen wird hiermit zurückgezogen.", "withdrawal"),
        ("(Korrigiert im zweiten Absatz die Zahl) Der Bundestag stimmte ab.", "correction"),
        ("Sperrfrist: 5. Mai, 12 Uhr. Der Bundestag stimmt ab.", "embargo"),
        ("(Aktualisiert mit Stimmen) Der Bundestag stimmte ab.", "update"),
        ("Rogamos anulen la noticia sobre el paro.", "withdrawal"),
        ("Corrige el segundo párrafo. El paro sube.", "correction"),
        ("Noticia embargada hasta las 12:00 del 5 de mayo.", "embargo"),
        ("(Actualiza con declaraciones) El paro sube.", "update"),
        ("Si prega di annullare la notizia delle 12.00.", "withdrawal"),
        ("(Corregge nel titolo la cifra) Il bilancio dello Stato.", "correction"),
        ("Notizia sotto embargo fino alle 12.00.", "embargo"),
        ("Pedimos que anulem a notícia das 12h00.", "withdrawal"),
        ("Corrige segundo parágrafo. O Governo anuncia medidas.", "correction"),
        ("Notícia sob embargo até às 12h00.", "embargo"),
        ("Der Minister hat den Vorschlag zurückgezogen.", "none"),
        ("El Gobierno pide que anulen la sentencia.", "none"),
        ("Il tribunale può annullare la delibera.", "none"),
        ("O Governo levanta o embargo às armas.", "none"),
    ],
)
def test_first_lines_of_german_spanish_italian_and_portuguese_agencies(
    body: str, kind: str
) -> None:
    assert documents.notice("Titel", body) == kind

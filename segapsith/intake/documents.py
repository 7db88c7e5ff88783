"""A document on arrival: storable text, its hash, language, date in UTC, and its notices.

A notice is what a headline or a sender says about an earlier story, or about the use of this one.
An embargoed story is stored and learned, because learning publishes nothing; it has the time in
its metadata as `embargoed_until`, and a run counts such stories. A story that its sender takes back
is marked in its title, so that it withdraws the text that it had, whichever way it arrived.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, cast

from segapsith.intake.language import KNOWN, identifier, language_version
from segapsith.languages import ALIASES
from segapsith.model import Document, Json, PreparedText

__all__ = [
    "EMBARGO",
    "Notice",
    "as_json",
    "clean",
    "clean_bag",
    "cleaned",
    "is_clean",
    "language_of",
    "marked",
    "notice",
    "text_hash",
    "texts_version",
    "utc",
]

# -- normal forms ----------------------------------------------------------------------------

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace the characters that cannot be stored (NUL, surrogates), one for one.

    >>> clean("a\\x00b")
    'a\\ufffdb'
    """
    return _UNSTORABLE.sub("�", text)


def is_clean(text: str) -> bool:
    """Return whether `clean` would not change the text."""
    if text.isascii():
        return "\0" not in text
    return _UNSTORABLE.search(text) is None


def cleaned(document: Document) -> Document:
    """Return the document with clean texts of unchanged length; the bag is left to `clean_bag`."""
    if _is_all_clean(document):
        return document  # the usual case, one search
    return replace(
        document,
        uid=clean(document.uid).strip(),
        title=clean(document.title),
        body=clean(document.body),
        date=None if document.date is None else clean(document.date),
        lang=None if document.lang is None else clean(document.lang),
        source=clean(document.source),
        metadata={clean(k): _clean_json(v) for k, v in document.metadata.items()},
    )


def _is_all_clean(document: Document) -> bool:
    """Return whether nothing needs cleaning; False if the metadata have more than lists of strings."""
    metadata = document.metadata
    values: list[str] = []
    for value in metadata.values():
        if type(value) is str:
            values.append(value)
        elif type(value) is list and {str}.issuperset(map(type, value)):
            values += cast("list[str]", value)
        else:
            return False
    return document.uid == document.uid.strip() and is_clean(
        "".join(
            [
                document.uid,
                document.title,
                document.body,
                document.date or "",
                document.lang or "",
                document.source,
                *metadata,
                *values,
            ]
        )
    )


def clean_bag(bag: Mapping[str, int]) -> Mapping[str, int]:
    """Return the bag with clean words."""
    if is_clean("".join(bag)):
        return bag
    return {clean(word): count for word, count in bag.items()}


def _clean_json(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {clean(str(k)): _clean_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(v) for v in value]
    return value


def text_hash(document: Document) -> str:
    """Return the SHA-256 of the normalised text: composed characters (NFKC), single spaces.

    Bags have other hashes, see `BagBatch.hashes`.

    >>> text_hash(Document(body="Two  words\\n")) == text_hash(Document(body="Two words"))
    True
    """
    text = document.text
    content = " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).split())
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


RULES = 1
"""Number of the rules for hashes and fingerprints; a change of them needs the next one."""


def texts_version() -> str:
    """Return what decides the hash and the fingerprint of a text besides the text."""
    return f"rules {RULES}, Unicode {unicodedata.unidata_version}"


@lru_cache(maxsize=4096)  # the stories of a wire share their dates
def utc(date: str | None) -> str | None:
    """Return a date in UTC as ISO 8601, a day without a time as a day, or None if it is invalid.

    >>> utc("2026-03-02T06:15:00+01:00"), utc("1998-01-04"), utc("soon")
    ('2026-03-02T05:15:00+00:00', '1998-01-04', None)
    >>> utc("Mon, 02 Mar 2026 06:15:00 +0100")
    '2026-03-02T05:15:00+00:00'
    """
    if not date:
        return None
    text = date.strip()
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return datetime.date.fromisoformat(text).isoformat()
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
    try:
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None


# -- notices ---------------------------------------------------------------------------------

EMBARGO = "embargoed_until"
"""Where the metadata of a story has the end of its embargo: UTC if it can be read, else as it was
given, or nothing."""

_TAKEN_BACK = frozenset({"canceled", "cancelled", "killed", "withdrawn"})


class Notice(StrEnum):
    """What a headline announces about an earlier story."""

    NONE = "none"
    CORRECTION = "correction"
    """The earlier text was wrong; this one replaces it."""
    UPDATE = "update"
    """A later version of the same story."""
    REPEAT = "repeat"
    """The same text again."""
    WITHDRAWAL = "withdrawal"
    """The earlier text must not be used."""
    EMBARGO = "embargo"
    """The story must not be published before a given time."""


_MARKS = {
    Notice.WITHDRAWAL: (
        r"(?:story |bulletin |mandatory |advisory )?(?:kill(?:ed)?|withdrawn|withdrawal|spiked)"
        r"|story cancel(?:l?ed)?|disregard|do not use|annulation|annulée?|annule et remplace"
        r"|(?:dépêche|avis) (?:annulée?|d'annulation)|retirée|à ne pas (?:utiliser|diffuser)"
        r"|(?:eil)?zurückziehung|zurückgezogen|meldung zurückgezogen|bitte nicht verwenden"
        r"|annullierung|anulaci[óo]n|anulad[oa]|anular|no (?:usar|utilizar)|annullamento"
        r"|annulla(?:re|t[oa]| e sostituisce)?|non utilizzare|anulaç[ãa]o|não (?:usar|publicar)"
    ),
    Notice.CORRECTION: (
        r"(?:official |company )?correct(?:ed|ion|s|ive)|refil(?:e|ed|es)|clarif(?:ied|ication)"
        r"|errat(?:um|a)|rectificati(?:f|on)|rectifiée?|corrigée?|correctif"
        r"|berichtigung|korrektur|korrigiert|berichtigt|richtigstellung|correcci[óo]n|corregid[oa]"
        r"|rectificaci[óo]n|fe de err(?:ores|atas)|corrige|correzione|corretto|rettifica"
        r"|errata corrige|correç[ãa]o|corrigid[oa]|retificaç[ãa]o|correctie|rectificatie"
        r"|rättelse|rettelse|oprava|korekta|sprostowanie"
    ),
    Notice.EMBARGO: (
        r"(?:sous )?embargo(?:ed)?|hold for release|sperrfrist|embargad[oa]|sotto embargo"
    ),
    Notice.UPDATE: (
        r"update[sd]?|wrapup|wrap|recasts?|write-?thru|\d(?:st|nd|rd|th) (?:ld|lead)|lead \d"
        r"|actualisée?|actualisation|mise à jour|màj|aktualisiert|aktualisierung|zusammenfassung"
        r"|actualizaci[óo]n|actualizad[oa]|aggiornamento|aggiornat[oa]|atualizaç[ãa]o|atualizad[oa]"
    ),
    Notice.REPEAT: r"rpt|repeat(?:ing)?|reissued?|resend|répétition|rediffusion|wiederholung|wdh|repetici[óo]n|ripetizione|repetição",
}
"""Marks that agencies use, in order of precedence."""

_MARK = "|".join(f"(?P<{kind.value}>{marks})" for kind, marks in _MARKS.items())
_NUMBERING = r"(?:[ -]?(?:no\.? ?|n° ?)?\d{1,2})?(?: \(\w{1,9}\))?"
_ENDS = r"\s*(?:[:/)\]–—]|-(?=\W|\S)|\.{2,}|[-*#.!]*$)"
_OPENING = re.compile(
    rf"[\s*#(\[«\"+/-]*(?:{_MARK}){_NUMBERING}(?=(?P<end>{_ENDS}))", re.IGNORECASE
)
_CLOSING = re.compile(rf"(?:[(\[]|[-–—] )(?:{_MARK}){_NUMBERING}[)\]]?\s*$", re.IGNORECASE)
_UNTIL = re.compile(
    r"[\s*#(\[]*(?P<embargo>(?:sous )?embargo(?:ed)? (?:until|till|for|to|jusqu|hasta|fino|até|\d)"
    r"|hold for release|sperrfrist:? (?:bis|\d)|embargad[oa] (?:hasta|até|\d))",
    re.IGNORECASE,
)
_BODY = re.compile(
    r"(?P<withdrawal>(?:story|item|report|headline|take)s? (?:\S+ ){0,8}?(?:is|are|has been|have been|was) "
    r"(?:withdrawn|killed|cancell?ed)|please (?:disregard|kill)|(?:editors|eds)\W{1,3}(?:please )?kill"
    r"|(?:dépêche|information|papier) (?:\S+ ){0,8}?(?:est|a été) (?:annulée?|retirée?)"
    r"|(?:veuillez|prière de|merci de) (?:ne pas (?:tenir compte|utiliser)|annuler|supprimer)"
    r"|annule et remplace|meldung (?:\S+ ){0,4}?(?:wird|wurde|ist|hiermit) (?:hiermit )?zurückgezogen"
    r"|(?:rogamos|se ruega|por favor|pedimos|solicitamos),? (?:\S+ ){0,3}?(?:anul|desconsider"
    r"|n(?:o|ão) (?:us|utili[cz]|publi(?:qu|c))[ae])"
    r"|si prega di (?:annullare|non (?:utilizzare|usare|pubblicare|tenere conto))"
    r"|annulla e sostituisce)"
    r"|(?P<correction>\((?:corrects|corrected|refiles|clarifies|rectifie|corrige|corregge|rettifica"
    r"|korrigiert|berichtigt|korrektur)\b"
    r"|^\W{0,3}(?:corrects|corrige|rectifie|corregge|rettifica|korrigiert|berichtigt)"
    r" (?:\w+ ){1,6}(?:in|to|dans|au|en|em|no|na|im|nel|nella|al) "
    r"|^\W{0,3}(?:corrige|corregge|rettifica) (?:\w+ ){0,4}"
    r"(?:párrafo|parágrafo|paragrafo|capoverso|titular|título|titolo)\b)"
    r"|(?P<embargo>embargo(?:ed)? (?:until|till|for|jusqu|hasta|até|fino)"
    r"|embargad[oa] (?:hasta|até)|sperrfrist:? (?:bis |ende |\d)"
    r"|not for (?:release|publication) (?:before|until))"
    r"|(?P<update>\((?:updates|recasts|adds|actualise|ajoute|aktualisiert|actualiza|añade|aggiorna"
    r"|aggiunge|atualiza|acrescenta)\b)"
    r"|(?P<repeat>\((?:repeats|repeating|répète|wiederholt|repite|ripete|repete)\b)",
    re.IGNORECASE,
)
_BODY_SIGNS = (
    *(
        "withdrawn",
        "killed",
        "cancel",
        "disregard",
        "kill",
        "annul",
        "retiré",
        "utiliser",
        "compte",
    ),
    *("supprimer", "correct", "refiles", "clarifies", "rectifie", "corrige", "embargo", "not for "),
    *("(updates", "(recasts", "(adds", "(actualise", "(ajoute", "(repeat", "(répète"),
    *("zurückgezogen", "(korr", "(bericht", "korrigiert", "berichtigt", "sperrfrist", "anul"),
    *("no us", "no utili", "no publi", "embargad", "corregge", "rettifica", "si prega di"),
    *("não us", "não utili", "não publi", "desconsider", "(aktualisiert", "(actualiza", "(añade"),
    *("(aggi", "(atualiza", "(acrescenta", "(wiederholt", "(repite", "(ripete", "(repete"),
)
"""A text without any of these has no match of `_BODY`; looking for them is ten times faster."""
_PRECEDENCE = {kind: rank for rank, kind in enumerate(_MARKS)}
_BODY_CHARS = 300
"""Characters at the beginning of a body that are searched."""


def notice(title: str, body: str = "") -> Notice:
    """Return what the headline or the first lines announce about an earlier story.

    A mark counts at the beginning of the headline if a separator follows, or at the end in
    brackets. A story about a withdrawal is therefore not a notice.

    >>> notice("CORRECTED - AUSTRIA 1987 GROWTH FORECAST REVISED"), notice("UPDATE 1-Oil rises")
    (<Notice.CORRECTION: 'correction'>, <Notice.UPDATE: 'update'>)
    >>> notice("WHITE HOUSE WITHDRAWS GATES NOMINATION"), notice("Annulation: séisme au Chili")
    (<Notice.NONE: 'none'>, <Notice.WITHDRAWAL: 'withdrawal'>)
    """
    if not title and not body:
        return Notice.NONE
    return _noticed(title.strip() or body.strip().partition("\n")[0], body[:_BODY_CHARS])


@lru_cache(maxsize=4096)  # asked twice for each story of a batch
def _noticed(title: str, beginning: str) -> Notice:
    """Return what a headline or the first characters of a body announce."""
    notices = _opening_notices(title)
    closing = _CLOSING.search(title)
    if closing and (closing.group()[0] in "([" or closing.group(_mark(closing)).isupper()):
        notices.append(Notice(_mark(closing)))
    if until := _UNTIL.match(title):
        notices.append(Notice(_mark(until)))
    folded = beginning.casefold()
    for sign in _BODY_SIGNS:
        if sign in folded:
            notices += [Notice(_mark(match)) for match in _BODY.finditer(beginning)]
            break
    return min(notices, key=_PRECEDENCE.__getitem__, default=Notice.NONE)


def _opening_notices(title: str) -> list[Notice]:
    """Return the notices of the marks at the beginning of a headline."""
    notices: list[Notice] = []
    position = 0
    while match := _OPENING.match(title, position):
        kind = Notice(_mark(match))
        word = match.group(kind.value)
        # A dash also joins words, and an embargo may be news; agencies write marks in capitals.
        if not word.isupper() and (kind is Notice.EMBARGO or match["end"].lstrip()[:1] == "-"):
            break
        notices.append(kind)
        position = match.end("end")
        if position == len(title):
            break
    return notices


def _mark(match: re.Match[str]) -> str:
    """Return the name of the group that matched."""
    return next(name for name, text in match.groupdict().items() if text and name != "end")


def marked(document: Document) -> Document:
    """Return a document with what its sender says about its use.

    >>> given = {"embargo": "2026-03-02T18:00Z"}
    >>> marked(Document(title="Budget", date="2026-03-02", metadata=given)).metadata[EMBARGO]
    '2026-03-02T18:00:00+00:00'
    >>> marked(Document(title="Budget", metadata={"status": "canceled"})).title
    'WITHDRAWN: Budget'
    """
    if document.bag is not None:
        return document
    status = document.metadata.get("status")
    if isinstance(status, str) and status.strip().lower() in _TAKEN_BACK:
        present = notice(document.title, document.body)
        title = document.title if present is Notice.WITHDRAWAL else f"WITHDRAWN: {document.title}"
        return replace(document, title=title)
    given = document.metadata.get("embargo")
    if isinstance(given, str) and given.strip():
        until = utc(given) or given.strip()
        # senders also give the time of release of what is released already
        if until > (utc(document.date) or ""):
            return replace(document, metadata={**document.metadata, EMBARGO: until})
        return document
    if status == "embargoed" or notice(document.title, document.body) is Notice.EMBARGO:
        return replace(document, metadata={**document.metadata, EMBARGO: ""})
    return document


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def as_json(metadata: Mapping[str, Any]) -> str:
    """Return metadata as JSON; what has only text repeats often, and is remembered."""
    for value in metadata.values():
        if type(value) is not str:
            return _encode(dict(metadata))
    return _text_as_json(tuple(metadata.items()))


@lru_cache(maxsize=1024)
def _text_as_json(items: tuple[tuple[str, str], ...]) -> str:
    return _encode(dict(items))


_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}")


def language_of(lang: str, languages: Sequence[str] = KNOWN) -> Callable[[Document], str]:
    """Return a function that gives the language of a document.

    With `auto`, the language that the document declares counts. Without one the text decides: it
    is in one of the known languages unless it is clearly in another. Any other value of `lang` is
    the language of all documents.

    >>> language_of("auto")(Document(body="...", lang="fr-FR"))
    'fr'
    >>> language_of("en")(Document(body="...", lang="fr"))
    'en'
    >>> language_of("auto")(Document(body="Le ministre a dit que la grève continue."))
    'fr'
    >>> german = "Der Minister sagte am Mittwoch, dass der Streik bis zum Wochenende weitergehen wird."
    >>> language_of("auto")(Document(body=german))
    'de'
    """
    if lang != "auto":
        return lambda document: lang
    known = tuple(languages)
    identify = identifier(known)

    def declared_or_identified(document: Document) -> str:
        prepared = document.prepared
        if prepared is not None and _fits(prepared, document, known):
            return prepared.lang
        tag = _LANGUAGE_TAG.match(document.lang) if document.lang else None
        code = tag.group().lower() if tag else identify(document.text[:500])
        return ALIASES.get(code, code)

    return declared_or_identified


def _fits(prepared: PreparedText, document: Document, languages: tuple[str, ...]) -> bool:
    """Return whether the language that was found before is the one that would be found now."""
    return prepared.lang_by == language_version("auto", languages) and prepared.is_of(document)

"""Wire text: IPTC 7901 and ANPA 1312 messages, with or without their control characters.

A stream contains messages in sequence: from SOH (or ZCZC) to ETX (or NNNN). Header lines become
metadata, wrapped lines become paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, repaired, text_chunks
from segapsith.limits import MAX_ITEM_CHARS
from segapsith_plugins.sources._dates import iso

if TYPE_CHECKING:
    from segapsith.model import Json

_SOH, _STX, _ETX, _EOT = "\x01", "\x02", "\x03", "\x04"
_CONTROLS = re.compile("[\x00\x05-\x08\x0b\x0c\x0e-\x1f\x7f]")

_IPTC = re.compile(
    r"(?P<service>[A-Za-z]{2,5})(?P<number>\d{3,5})\s+(?P<urgency>\d)\s+(?P<section>[A-Za-z]{1,5})"
    r"\s+(?P<words>\d{1,5})(?:\s+(?P<keywords>\S.{0,200})|\s*)"
)
_ANPA = re.compile(r"(?P<service>[A-Za-z])(?P<number>\d{4})[\s\x1f]*-{0,10}[A-Za-z0-9\-]{0,12}\s*")
_ANPA_SECOND = re.compile(
    r"(?P<urgency>[A-Za-z]) (?P<section>[A-Za-z])[\s\x11-\x14]{1,4}(?P<keywords>\S.{0,100}?)\s+"
    r"\d{1,2}-\d{1,2}(?:\s+(?P<words>\d{0,5}))?\s*"
)
_TELEX = re.compile(r"ZCZC\s*(?P<service>[A-Za-z]{0,5})\s?(?P<number>\d{0,5}).{0,60}")
_ANPA_DATE = re.compile(r"([A-Z]{2,6})-[A-Z]{2}-(\d{2}-\d{2}-\d{2} \d{4})\s?([A-Z]{3,4})?")
_IPTC_DATE = re.compile(
    r"(?:(?P<agency>[A-Z]{2,8})[\s-]{1,3})?(?P<day>\d{2})(?P<hour>\d{2})(?P<minute>\d{2})\s+"
    r"(?:(?P<zone>[A-Z]{1,4})\s+)?(?P<month>[A-Za-zéû]{3,5})\.?\s+(?P<year>\d{2,4})",
)
_DATELINE = re.compile(
    r"(?P<line>[^\W\d_][^()\n]{1,100}?\s?\((?P<agency>[A-Za-z][\w .&/-]{1,24})\))\s{0,2}(?:[-–—_]{1,2}|:)\s"
)
_SLUG = re.compile(r"[\w'’.&]+(?:[-/,][\w'’.&]*)+(?:[ ,]+[A-Z0-9][\w-]*){0,4}/?")
_MARK = re.compile(
    r"(?:\d{0,2}(?:ST|ND|RD|TH)?[\s-]?(?:LEAD|LD)[\w-]*|REFILE|URGENT|FLASH|ALERTE?|BULLETIN|PREV"
    r"|PAPIER GENERAL|SYNTHESE|ENCADRE|PORTRAIT|REPORTAGE|LEVER DE RIDEAU|TROIS QUESTIONS A)(?:[ ,].{0,40})?",
    re.IGNORECASE,
)
_KILLED = re.compile(r"\b(?:kill|elimination|élimination|annulation|annule)\b", re.IGNORECASE)
_CORRECTED = re.compile(
    r"\b(?:correction|corrective|corrected|corrects|rectificatif|rectif|refile)\b", re.IGNORECASE
)
_UPDATED = re.compile(r"\b(?:writethru|lead|ld|update|updates)\b", re.IGNORECASE)
_BYLINE = re.compile(r"(?:By|Par|de notre|Von|Por)\s.{2,100}", re.IGNORECASE)
_FURNITURE = re.compile(r"[a-z]{1,4}(?:[/-][a-z]{1,4}){1,5}[/.]?|[*_\s#=-]{2,40}")
"""Signatures of the desk, and rules between the parts."""
_TELEX_SECOND = re.compile(r"(?P<urgency>[A-Z]{2}) (?P<section>[A-Z]{2,4})")
_NOT_FOR_PRINT = re.compile(
    r"the following information is not (?:intended )?for publication|^# Not(?:ebook|izblock)\s*$",
    re.IGNORECASE,
)


class WireText:
    """A source of wire text: each message is a document, identified by number, day and agency."""

    example = (
        b"\x01fra0123 4 pol 0012 FRA\r\n\x02Politique-budget\r\nLe budget est vot\xe9\r\n\r\n"
        b"   PARIS, 2 mars 2026 (AFP) - Le budget est vot\xe9.\r\n\r\nAFP 021015 GMT MAR 26\r\n\x03"
    )

    def sniff(self, head: bytes) -> float:
        text = decoded(head).replace("\r\n", "\n").replace("\r", "\n").lstrip("\n \x16\x00\ufeff")
        if text.startswith(("<", "{", "[")) or "\x00" in text:
            return 0.0  # a wire pads with NUL before a message, never inside one
        first, _, rest = text.partition("\n")
        first = first.strip()
        headed = _IPTC.fullmatch(first.lstrip(_SOH)) or (
            _ANPA.fullmatch(first.lstrip(_SOH)) and _ANPA_SECOND.match(rest.lstrip())
        )
        if text.startswith(_SOH):
            return 0.95 if headed or _STX in text else 0.6
        if headed:
            return 0.9
        return 0.9 if first.startswith("ZCZC") else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        number = 0
        for lines in _messages(stream):
            number += 1
            where = f"{name}: message {number}"
            if lines is None:
                yield Reject(where, f"it has more than {MAX_ITEM_CHARS:,} characters")
                continue
            document = _document(lines)
            if document.title or document.body:
                yield document
            else:
                yield Reject(document.uid or where, "it has neither a title nor a text")


# -- messages ------------------------------------------------------------------------------


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Yield lines with any line end; a very long line comes in pieces."""
    rest = ""
    for chunk in text_chunks(stream):
        text = (rest + chunk).replace("\r\n", "\n")
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = text.removesuffix("\r").replace("\r", "\n").split("\n")
        yield from lines
        rest += held
        if len(rest) > 1 << 20:
            yield rest
            rest = ""
    if rest:
        yield rest


def _messages(stream: BinaryIO) -> Iterator[list[str] | None]:
    """Yield the lines of each message, or None for a message that is too long."""
    message: list[str] = []
    size, ended = 0, True
    for line in _lines(stream):
        for part in _framed(line):
            begins = part.startswith((_SOH, "ZCZC")) or (ended and _begins(part))
            if begins and any(m.strip() for m in message):
                yield message if size <= MAX_ITEM_CHARS else None
                message, size = [], 0
            if begins:
                ended = False
            size += len(part) + 1
            if size <= MAX_ITEM_CHARS:
                message.append(part)
            ended = ended or _ETX in part or part.strip() == "NNNN" or _is_dated(part)
    if any(m.strip() for m in message):
        yield message if size <= MAX_ITEM_CHARS else None


def _framed(line: str) -> list[str]:
    """Return the line, divided where a message begins in the middle of it."""
    if _SOH not in line:
        return [line]
    first, *others = line.split(_SOH)
    leading = [first] if first.strip("\x16\x00 \t") else []
    return [*leading, *(_SOH + other for other in others)]


def _begins(line: str) -> bool:
    text = line.strip()
    return len(text) < 250 and (_IPTC.fullmatch(text) or _ANPA.fullmatch(text)) is not None


def _is_dated(line: str) -> bool:
    text = line.strip(" \t<=^")
    return len(text) < 60 and (_IPTC_DATE.fullmatch(text) or _ANPA_DATE.fullmatch(text)) is not None


# -- one message ---------------------------------------------------------------------------


def _document(lines: Sequence[str]) -> Document:
    header, body = _header(lines)
    body, date, given, agency = _dated(body)
    top, paragraphs = _parted(body)
    notes: dict[str, list[str]] = {"headline": [], "byline": [], "slug": [], "note": []}
    for line in top:
        notes[_role(line, notes)].append(line.strip(" ^<=_"))
    content = [p for p in paragraphs if p and not _FURNITURE.fullmatch(p)]
    text = "\n\n".join(content)
    title = " ".join(" ".join(notes["headline"]).split())
    if not text and len(notes["headline"]) > 1:
        title, text = notes["headline"][0], "\n\n".join(notes["headline"][1:])
    if text and not title:  # an alert has only keywords
        title = re.sub(r",\d{1,5}$", "", " ".join(notes["slug"]))
    dateline = _DATELINE.match(text)
    source = dateline.group("agency").strip() if dateline else agency
    slug = " ".join(notes["slug"]) or header.get("keywords", "")
    metadata: dict[str, Json] = {k: v for k, v in header.items() if v and k != "keywords"}
    metadata |= {
        key: value
        for key, value in {
            "dateline": dateline.group("line").strip() if dateline else "",
            "byline": " ".join(notes["byline"]),
            "slug": slug,
            "keywords": [w for w in re.split(r"[-/\s,]+", slug) if w and not w.isdigit()],
            "note": " ".join(notes["note"]),
            "status": _status(
                " ".join([header.get("keywords", ""), *notes["slug"], *notes["note"]])
            ),
            "date_original": given,
        }.items()
        if value
    }
    uid = ""
    if source and date and header.get("number"):
        uid = f"{source}:{header.get('service', '')}{header['number']}:{date[:10]}".lower()
    return Document(
        uid=uid,
        title=repaired(title),
        body=repaired(text),
        date=date,
        lang=_LANGUAGES.get(header.get("service", "").lower()),
        source=source,
        metadata=metadata,
    )


_LANGUAGES = {"fra": "fr", "frs": "fr", "fre": "fr", "eng": "en", "ang": "en"}


def _status(text: str) -> str:
    if _KILLED.search(text):
        return "killed"
    if _CORRECTED.search(text):
        return "corrected"
    return "updated" if _UPDATED.search(text.replace("-", " ").replace("Ld", " ld ")) else ""


def _header(lines: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the fields of the header lines, and the lines of the text."""
    header: dict[str, str] = {}
    body: list[str] = []
    slugs: list[str] = []
    started = not any(_STX in line for line in lines)
    for number, line in enumerate(lines):
        if not started and _STX in line:
            started = True
            line = line.partition(_STX)[2]
            body = []
        line, ended, _ = line.partition(_ETX)
        text = line.replace(_SOH, "").replace("\x16", "").strip()
        match = None
        if number < 6 and not body:
            match = _IPTC.fullmatch(text) or _ANPA_SECOND.fullmatch(text)
            match = match or (_ANPA.fullmatch(text) if "number" not in header else None)
            match = match or _TELEX.fullmatch(text)
            if match is None and lines[number - 1].startswith("ZCZC"):
                match = _TELEX_SECOND.fullmatch(text)
        if match is not None:
            header |= {k: v.strip() for k, v in match.groupdict().items() if v}
        elif started:
            body.append(_CONTROLS.sub(" ", line.replace(_STX, "").replace(_EOT, "")))
        elif text:
            slugs.append(_CONTROLS.sub(" ", text).strip())
        if ended:
            tail = lines[number].partition(_ETX)[2]
            body.append(_CONTROLS.sub(" ", tail).strip())  # the date may come after the end
    if slugs:
        header["keywords"] = " ".join([*slugs])
    return header, body


def _dated(lines: Sequence[str]) -> tuple[list[str], str | None, str, str]:
    """Return the lines without the closing date, the date, the original date, and its agency."""
    for place in range(len(lines) - 1, max(-1, len(lines) - 12), -1):
        text = lines[place].strip(" \t<=^")
        if not text or text == "NNNN" or len(text) > 60:
            continue
        if match := _IPTC_DATE.fullmatch(text):
            day, hour, minute = match.group("day", "hour", "minute")
            when = (
                f"{day} {match['month']} {match['year']} {hour}:{minute} {match['zone'] or 'GMT'}"
            )
            agency = match["agency"] or ""
        elif match := _ANPA_DATE.fullmatch(text):
            agency, moment, zone = match.groups()
            when = f"{moment[:-2]}:{moment[-2:]} {zone or 'GMT'}"
        else:
            continue
        date = iso(when, month_first=True)
        if date:
            return [*lines[:place], *lines[place + 1 :]], date, text, agency
    return list(lines), None, "", ""


def _parted(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines above the text, and the paragraphs of the text."""
    lines = [line for line in lines if line.strip() != "NNNN"]
    if any(line.lstrip().startswith("^") for line in lines):
        top = [line.strip() for line in lines if line.lstrip().startswith("^")]
        rest = [line for line in lines if not line.lstrip().startswith("^")]
        return [part for line in top for part in line.split("< ^")], _paragraphs(rest)
    blocks = _paragraphs(lines, wrapped=True)
    top = []
    for n_blocks, block in enumerate(blocks):
        if n_blocks >= 3 or _DATELINE.match(" ".join(block.split())) or len(block) > 500:
            break
        if block.rstrip().endswith((".", ".''", '."', "»")) and top:
            break
        top += block.splitlines()
        if n_blocks == 0 and len(blocks) > 1 and _is_headed(block):
            n_blocks = 1
            break
    else:
        n_blocks = len(blocks)
    return top, [" ".join(block.split()) for block in blocks[n_blocks:]]


def _is_headed(block: str) -> bool:
    """Return whether the first block has a headline of its own besides keywords and marks."""
    return any(
        not _SLUG.fullmatch(line.strip()) and not _MARK.fullmatch(line.strip())
        for line in block.splitlines()
    )


def _paragraphs(lines: Sequence[str], wrapped: bool = False) -> list[str]:
    """Return paragraphs from lines: a blank line or an indented line begins one."""
    blocks: list[list[str]] = []
    fresh = True
    note = False
    for line in lines:
        note = note or _NOT_FOR_PRINT.search(line) is not None
        if note or not line.strip():
            fresh = True
            continue
        if fresh or line.startswith(("\t", "   ")):
            blocks.append([])
        blocks[-1].append(line.strip())
        fresh = False
    joined = "\n" if wrapped else " "
    return [joined.join(block) for block in blocks]


def _role(line: str, notes: Mapping[str, Sequence[str]]) -> str:
    """Return the role of a line above the text."""
    text = line.strip(" ^<")
    plain = text.rstrip("= <")
    if text.startswith(("Eds:", "EDS:", "Editors", "EDITOR", "AP Photo", "Note", "(", "ATTENTION")):
        return "note"
    if text.endswith("=") or _BYLINE.fullmatch(plain):
        return "byline"
    if _MARK.fullmatch(plain) or re.fullmatch(r"\*?\d{1,5}", plain):
        return "note"
    if not notes["headline"] and not notes["slug"] and _SLUG.fullmatch(plain):
        return "slug"
    if line.startswith("^") and notes["headline"]:
        return "note"  # the summary and the rest of the preamble
    return "headline"


@hookimpl
def register_sources() -> Mapping[str, type[WireText]]:
    return {"anpa": WireText}

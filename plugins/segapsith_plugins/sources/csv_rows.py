"""Tables: fields separated by comma, semicolon, tab or bar; the first row names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, repaired, text_chunks
from segapsith.io.html import looks_like_html, text_of
from segapsith.limits import MAX_ITEM_CHARS
from segapsith_plugins.sources._dates import dated

if TYPE_CHECKING:
    from segapsith.model import Json

_DELIMITERS = (",", ";", "\t", "|")

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "id": ("id", "uid", "guid", "uuid", "doc_id", "document_id", "docid", "article_id", "news_id",
           "newsid", "identifier", "identifiant", "story_id", "url", "uri", "link"),
    "title": ("title", "headline", "titre", "head", "heading", "news_title", "article_title",
              "name", "headlines", "subject"),
    "text": ("text", "body", "content", "article", "texte", "corps", "contenu", "story",
             "full_text", "fulltext", "article_text", "news", "maintext", "body_text", "message",
             "contents", "article_body", "description", "summary", "abstract", "resume", "chapo",
             "short_description", "lead"),
    "date": ("date", "published", "pubdate", "publish_date", "published_at", "publication_date",
             "date_published", "datetime", "timestamp", "created_at", "created", "time", "dt",
             "date_publication", "publishedat", "published_date", "day"),
    "lang": ("lang", "language", "langue", "locale"),
    "source": ("source", "publisher", "agency", "outlet", "provider", "publication", "newspaper",
               "agence", "site", "journal", "source_name"),
}  # fmt: skip
"""Fields of a document, and the names of columns in tables, best first."""


class CsvRows:
    """A source of tables: each row with a title or a text is a document.

    The columns that are not fields of a document become metadata.
    """

    example = b"id;titre;texte;date\na;Crue;Le fleuve monte.;2026-03-02\n"

    def sniff(self, head: bytes) -> float:
        text = decoded(head)
        first = text.lstrip("\ufeff")[:1]
        if not first or first in "<{[" or "\0" in text or "\x01" in text[:10]:
            return 0.0
        lines = text.splitlines()
        if not lines or len(lines[0]) > 4000:
            return 0.0
        delimiter = _delimiter(lines[0])
        columns = _columns(_row(lines[0], delimiter))
        if "text" not in columns and "title" not in columns:
            return 0.0
        if len(_row(lines[0], delimiter)) > 1:
            wide = max(len(cell.strip()) for cell in _row(lines[0], delimiter)) < 60
            return 0.85 if wide else 0.0
        return 0.3 if lines[0].strip().lower() in ("text", "body", "content", "texte") else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        lines = _lines(stream)
        first = next((line for line in lines if line.strip()), "")
        delimiter = _delimiter(first)
        csv.field_size_limit(MAX_ITEM_CHARS)
        header = _row(first, delimiter)
        columns = _columns(header)
        if "text" not in columns and "title" not in columns:
            yield Reject(name, f"no column is a title or a text: {', '.join(header[:20])[:200]}")
            return
        rows = csv.reader(lines, delimiter=delimiter)
        number = 1
        while True:
            number += 1
            try:
                row = next(rows, None)
            except csv.Error as error:
                # usually a quotation mark that is never closed: it is unknown where the next row begins
                reason = f"it is not a row of a table, and the rest is not read: {error}"
                yield Reject(f"{name}: row {number}", reason)
                return
            if row is None:
                return
            if any(cell.strip() for cell in row):
                yield _document(row, header, columns, f"{name}: row {number}")


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Yield lines with their line ends; a line that is too long comes in pieces."""
    rest = ""
    for chunk in text_chunks(stream):
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            yield line + "\n"
        if len(rest) > MAX_ITEM_CHARS:
            yield rest
            rest = ""
    if rest:
        yield rest


def _delimiter(line: str) -> str:
    """Return the delimiter that gives the most columns with a known name."""

    def n_columns(delimiter: str) -> tuple[int, int]:
        row = _row(line, delimiter)
        return len(_columns(row)), len(row)

    return max(_DELIMITERS, key=n_columns)


def _row(line: str, delimiter: str) -> list[str]:
    try:
        return [
            c.strip()
            for c in next(csv.reader([line[:10_000].lstrip("\ufeff")], delimiter=delimiter), [])
        ]
    except csv.Error:
        return []


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return the fields of a document and the columns that hold them."""
    names = [h.strip().strip('"').lower().replace(" ", "_").replace("-", "_") for h in header]
    columns: dict[str, int] = {}
    for ours, synonyms in _SYNONYMS.items():
        place = next((names.index(s) for s in synonyms if s in names), None)
        if place is not None:
            columns[ours] = place
    return columns


def _document(
    row: Sequence[str], header: Sequence[str], columns: Mapping[str, int], where: str
) -> Document | Reject:
    cells = {ours: row[place].strip() for ours, place in columns.items() if place < len(row)}
    uid = cells.get("id", "")
    title, body = (_plain(cells.get(key, "")) for key in ("title", "text"))
    if not title and not body:
        return Reject(f"{where} ({uid})" if uid else where, "it has neither a title nor a text")
    date, original = dated(cells.get("date"))
    taken = set(columns.values())
    metadata: dict[str, Json] = {
        (header[place] if place < len(header) and header[place] else f"column_{place + 1}"): cell
        for place, cell in enumerate(row)
        if place not in taken and cell.strip()
    }
    return Document(
        uid=uid,
        title=repaired(" ".join(title.split())),
        body=repaired(body),
        date=date,
        lang=cells.get("lang") or None,
        source=cells.get("source", ""),
        metadata=metadata | original,
    )


def _plain(cell: str) -> str:
    markup = "</" in cell and looks_like_html(cell)
    return text_of(cell) if markup else cell.replace("\r\n", "\n")


@hookimpl
def register_sources() -> Mapping[str, type[CsvRows]]:
    return {"csv": CsvRows}

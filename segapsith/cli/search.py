"""`search`: full-text search over documents and domains."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, write
from segapsith.model import Record

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("search")(search)


@command()
def search(
    context: Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="Words to look for.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most N of each.")] = 20,
    forms: Annotated[
        bool, typer.Option("--forms", help="Also find documents with other forms of a word.")
    ] = False,
) -> None:
    """Find the documents and domains that have all the words.

    A domain is found by its label, its best words, or by stories that have the words as a phrase.

    Example: segapsith search interest rates --store wire.db
    """
    result = context.reader().search(" ".join(words), limit, forms=forms)
    context.show(result, lambda out: _text(result, out))


def _text(result: Record, out: Output) -> None:
    domains, documents = result["domains"], result["documents"]
    if domains:
        out.table(
            ((d["id"], d["units"], d["matches"], d["label"], d["words"]) for d in domains),
            ("domain", "units", "found", "label", "words"),
            cut=("words", "label"),
        )
    if documents:
        out.table(
            (
                (
                    (d["date"] or "")[:10],
                    d["id"],
                    " ".join((d["title"] or d["snippet"]).split()),
                    _domain_of(d),
                )
                for d in documents
            ),
            ("date", "document", "title", "domain"),
            cut=("title", "domain"),
        )
    if not domains and not documents:
        write("nothing found")


def _domain_of(document: Record) -> str:
    """Return the first domain of a story, and how many others it has."""
    domains = document["domains"]
    if not domains:
        return ""
    more = f" +{len(domains) - 1}" if len(domains) > 1 else ""
    return f"{domains[0]['id']}{more} {domains[0]['label']}"

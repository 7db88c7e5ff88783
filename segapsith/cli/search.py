"""`search`: full-text search over documents and domains."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Fields, Output, write

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("search")(search)


@command()
def search(
    context: Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="Words to look for.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most N of each.")] = 20,
) -> None:
    """Find the documents and domains that have all the words.

    Example: segapsith search interest rates --store wire.db
    """
    result = context.reader().search(" ".join(words), limit)
    context.show(result, lambda out: _text(result, out))


def _text(result: Fields, out: Output) -> None:
    domains, documents = result["domains"], result["documents"]
    if domains:
        out.table(
            ((d["id"], d["units"], d["words"]) for d in domains),
            ("domain", "units", "words"),
            cut=("words",),
        )
    if documents:
        out.table(
            (
                ((d["date"] or "")[:10], d["id"], " ".join((d["title"] or d["snippet"]).split()))
                for d in documents
            ),
            ("date", "document", "title"),
            cut=("title",),
        )
    if not domains and not documents:
        write("nothing found")

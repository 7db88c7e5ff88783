"""`forget`: remove documents exactly."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Fields, Output, say, write
from segapsith.errors import UsageError

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("forget")(forget)


@command()
def forget(
    context: Context,
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="DOCUMENT_ID…", help="Ids of documents.")
    ] = None,
    *,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", metavar="WORDS", help="Forget every document that has all these words."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the documents; change nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before forgetting what --search selects.")
    ] = False,
    allow_again: Annotated[
        bool,
        typer.Option(
            "--allow-again", help="Accept these forgotten documents if they are delivered again."
        ),
    ] = False,
) -> None:
    """Remove documents exactly.

    Their texts are deleted and their counts subtracted. Later deliveries of the same id or the same text are rejected and counted as forgotten.

    Example: segapsith forget en-017 --store wire.db
    """
    uids = list(dict.fromkeys(documents or []))
    if bool(uids) == (search is not None):
        raise UsageError("give either the ids of documents or --search WORDS")
    if allow_again and (search is not None or dry_run):
        raise UsageError("--allow-again needs ids: the text of a forgotten document is deleted")
    with context.wire() as wire:
        if allow_again:
            _allow_again(context, wire, uids)
            return
        selected = None
        if search is not None:
            selected = wire.matching(search)
            uids = [row["id"] for row in selected]
        if dry_run:
            _show_selection(context, wire.described(uids))
            return
        if selected is not None and not selected:
            _show_forgotten(context, {"run": None, "documents": [], "units": 0})
            return
        if selected is not None and not yes:
            _confirm(selected)
        result = wire.forget(uids[0] if selected is None and len(uids) == 1 else uids)
    _show_forgotten(context, result)


def _confirm(selected: Sequence[Fields]) -> None:
    """Ask on a terminal whether these documents should be forgotten; elsewhere require `--yes`."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"--search selects {len(selected)} documents: list them with --dry-run, then"
            " forget them with --yes"
        )
    for row in selected:
        say(_description(row))
    if not typer.confirm(f"Forget these {len(selected)} documents for ever?", err=True):
        say("nothing was forgotten")
        raise typer.Exit(1)


def _show_selection(context: Context, rows: Sequence[Fields]) -> None:
    def text(out: Output) -> None:
        for row in rows:
            out.cut(_description(row))
        write(f"dry run: {len(rows)} documents would be forgotten")

    context.show({"run": None, "documents": rows, "units": sum(row["units"] for row in rows)}, text)


def _description(row: Fields) -> str:
    title = " ".join(row["title"].split())
    return f"{(row['date'] or '')[:10]:10}  {row['id']}  {row['units']} units  {title}".rstrip()


def _show_forgotten(context: Context, result: Fields) -> None:
    documents = [result] if "document" in result else result["documents"]

    def text(out: Output) -> None:
        for one in documents:
            heir = f"; {one['successor']} takes its place" if one["successor"] else ""
            out.line(f"{one['document']} forgotten: {one['units']} units{heir}")
        if not documents:
            write("no document has these words; nothing was forgotten")

    context.show(result, text)


def _allow_again(context: Context, wire: Wire, uids: list[str]) -> None:
    result = wire.allow_again(uids)

    def text(out: Output) -> None:
        for uid in uids:
            out.line(f"{uid} will be accepted if it is delivered again")
        if result["held"]:
            out.line(
                f"{result['held']} of their texts are still rejected: they were forgotten with"
                " other documents too"
            )

    context.show(result, text)

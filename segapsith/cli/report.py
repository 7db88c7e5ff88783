"""`report`: an HTML page about the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.settings import BUILT_IN_PLACEMENT

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("report")(report)


@command()
def report(
    context: Context,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page.")
    ] = Path("report.html"),
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only domains of at least N units.")
    ] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most N domains.")] = 100,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="RUN|DATE",
            help="Show changes since then (default: since the last report).",
        ),
    ] = None,
    similarity: Annotated[
        str, typer.Option("--similarity", metavar="NAME", help="Similarity of the map and tree.")
    ] = BUILT_IN_PLACEMENT,
) -> None:
    """Write a report: one self-contained HTML page.

    It shows changes, a map and a tree of domains, validations, nights and domains. Changes are shown since the earlier report in the same file; without one, since before the
    last night.

    Example: segapsith report --output wire.html --store wire.db
    """
    from segapsith.report.page import last_run_of

    with context.out.progress() as progress, progress.following("drawing"):
        page = context.reader().report(
            min_units=min_units,
            limit=limit,
            since=last_run_of(output) if since is None else since,
            similarity=similarity,
        )
    output.write_text(page, encoding="utf-8")
    context.show(
        {"store": context.path, "output": str(output)},
        lambda out: out.line(f"report written to {output}"),
    )

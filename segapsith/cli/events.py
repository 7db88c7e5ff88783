"""`events`: stories that tell the same happening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import All, Limit
from segapsith.cli.output import LISTED, Output
from segapsith.model import Record

__all__ = ["add_to", "event_table"]


def add_to(app: typer.Typer) -> None:
    app.command("events")(events)


@command()
def events(
    context: Context,
    *,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Only events with stories since this day."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="DATE", help="Only events with stories up to this day."),
    ] = None,
    domain: Annotated[
        int | None, typer.Option("--domain", metavar="ID", help="Only events of this domain.")
    ] = None,
    min_stories: Annotated[
        int, typer.Option("--min-stories", min=1, help="Only events with at least N stories.")
    ] = 1,
    limit: Limit = None,
    everything: All = False,
) -> None:
    """Show events, the latest first.

    An event is a group of stories that tell the same happening. It closes after some days without
    a new story (event_quiet_days) and takes no story then.

    Example: segapsith events --since 2026-03-01 --min-stories 2 --store wire.db
    """
    listed = context.reader().events(
        since=since, until=until, domain=domain, min_stories=min_stories, limit=limit
    )
    most = None if everything or limit else LISTED
    context.show(listed, lambda out: event_table(listed, out, most))


def event_table(events: Sequence[Record], out: Output, most: int | None = None) -> None:
    """Print events as a table; at most `most` of them on a terminal."""
    out.table(
        (
            (e["id"], e["first"] or "", e["last"] or "", e["stories"], e["units"], e["domain"],
             "closed" if e["closed"] else "open", e["label"])
            for e in events
        ),
        ("event", "first", "last", "stories", "units", "domain", "state", "headline"),
        cut=("headline",),
        most=most,
    )  # fmt: skip

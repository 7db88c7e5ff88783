"""`today`: what is new, rising and falling since the last night, by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, counted, minute, write
from segapsith.model import Record

__all__ = ["MAX_COLUMNS", "MAX_LINES", "add_to", "lines_of"]

MAX_LINES, MAX_COLUMNS = 40, 100
"""Size of the text for people."""

MAX_SECTIONS = (MAX_LINES - 2) // 4
"""Sections with a line of their own and one for each of new, rising and falling."""

MAX_TOPICS = 3
"""Rising topics that the line of a section names."""

KINDS = ("new", "rising", "falling", "active")


def add_to(app: typer.Typer) -> None:
    app.command("today")(today)


@command()
def today(
    context: Context,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE|RUN",
            help="Compare with the time before that day, or up to that run.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Domains of each kind in a section.")
    ] = 12,
) -> None:
    """Show what is new, rising and falling since the last night, by section.

    The line of a section names its rising topics. Each other line is a domain with its units since then
    and a headline. Where little has changed, the most
    active domains follow. If nothing was learned before, everything is new, and the largest domains
    are shown.

    Example: segapsith today --since 2026-03-01 --store wire.db
    """
    context.require_store()
    result = context.reader().today(since, limit=limit)
    context.show(result, lambda out: _text(result, out))


def _text(result: Record, out: Output) -> None:
    width = MAX_COLUMNS if out.width is None else min(MAX_COLUMNS, out.width)
    for line in lines_of(result, width):
        write(line)


def lines_of(result: Record, width: int = MAX_COLUMNS) -> list[str]:
    """Return the text for people: at most 40 lines of at most `width` characters."""
    sections = [section for section in result["sections"] if section["units"]]
    shown = sections[:MAX_SECTIONS]
    lines = [_heading(result)]
    budget = MAX_LINES - 1 - len(shown) - (len(shown) < len(sections))
    share, extra = divmod(budget, max(1, len(shown)))
    for place, section in enumerate(shown):
        lines.append(_section_line(section, result["units"]))
        lines += _domain_lines(section, share + (place < extra))
    if len(shown) < len(sections):
        lines.append(f"… {len(sections) - len(shown)} more sections (--json)")
    return [line if len(line) <= width else f"{line[: width - 1].rstrip()}…" for line in lines]


def _heading(result: Record) -> str:
    counts = result["counts"]
    numbers = f"{counts['new']} new, {counts['rising']} rising, {counts['falling']} falling domains"
    if result["since"] == 0:
        return f"everything so far, {counted(result['units'], 'unit')}: {numbers}"
    if isinstance(result["since"], str):
        return f"since {result['since']}, {counted(result['units'], 'unit')}: {numbers}"
    began = f" of {minute(result['at'])}" if result["at"] else ""
    return f"since run {result['since']}{began}, {counted(result['units'], 'unit')}: {numbers}"


def _section_line(section: Record, whole: int) -> str:
    share = f"{100 * section['units'] / max(1, whole):.0f} %"
    rising = [topic["label"] for topic in section["topics"] if topic["rising"]][:MAX_TOPICS]
    topics = f" · rising: {'; '.join(rising)}" if rising else ""
    return f"{section['label']} · {share}{topics}"


def _domain_lines(section: Record, most: int) -> Iterator[str]:
    """Yield the domains of a section in the order of their kind.

    What changed gets the lines first, each kind its fair share; other domains fill the rest.
    """
    shares = _fair_shares([section[kind] for kind in KINDS[:3]], most)
    left = most - sum(map(len, shares))
    shares.append(section["active"][:left])
    for kind, domains in zip(KINDS, shares, strict=True):
        for domain in domains:
            yield f"  {kind:<7} {domain['units']:>5}  {domain['headline']}"


def _fair_shares(lists: Sequence[Sequence[Record]], most: int) -> list[Sequence[Record]]:
    """Return the beginnings of lists, `most` entries in all, as evenly as the lists allow."""
    taken = [0] * len(lists)
    while sum(taken) < most and any(n < len(one) for n, one in zip(taken, lists, strict=True)):
        open_lists = [i for i, one in enumerate(lists) if taken[i] < len(one)]
        taken[min(open_lists, key=lambda i: (taken[i], i))] += 1
    return [one[:n] for one, n in zip(lists, taken, strict=True)]

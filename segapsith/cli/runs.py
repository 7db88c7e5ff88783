"""`runs`, `runs undo`: the log of changes, and taking the last one back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import All, Limit
from segapsith.cli.output import LISTED, Output, counted, minute
from segapsith.errors import UsageError
from segapsith.model import Record

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    runs = group(default=list_runs)
    runs.command("undo")(undo)
    app.add_typer(runs, name="runs")


@command()
def list_runs(context: Context, *, limit: Limit = None, everything: All = False) -> None:
    """List every run, newest first; or undo the last one.

    Example: segapsith runs --limit 5 --store wire.db
    """
    runs = context.reader().runs(limit)
    most = None if everything or limit else LISTED
    context.show(runs, lambda out: _text(runs, out, most))


def _text(runs: Sequence[Record], out: Output, most: int | None) -> None:
    out.table(
        (
            (r["id"], minute(r["started_at"]), r["command"], r["status"], r["name"], _counts(r))
            for r in runs
        ),
        ("run", "started", "command", "status", "name", "counts"),
        cut=("counts",),
        most=most,
    )


FIRST = ("read", "new", "documents", "units", "domains_new", "moved", "kappa")
"""Counts that are shown before the others."""

NOT_SHOWN = ("run", "seconds", "rejects")
"""Entries of the counts that the list leaves out."""


def _counts(run: Record) -> str:
    """Return the counts of a run that are not 0, the most important ones first.

    >>> _counts({"counts": {"corrected": 8, "new": 150, "read": 174, "rejected": 0, "run": 2}})
    'read 174, new 150, corrected 8'
    >>> _counts({"counts": {"domain": 75, "parts": [{"id": 9, "units": 2}, {"id": 12}]}})
    'domain 75, parts 9 12'
    """
    counts = run["counts"]
    names = [*FIRST, *(name for name in counts if name not in (*FIRST, *NOT_SHOWN))]
    shown = {name.replace("_", " "): counts[name] for name in names if counts.get(name)}
    return ", ".join(f"{name} {_count(value)}" for name, value in shown.items())


def _count(value: object) -> str:
    """Return one entry of the counts: records by their ids, lists without brackets."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        if "id" in value:
            return str(value["id"])
        return " ".join(f"{name} {_count(n)}" for name, n in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(_count, value))
    return str(value)


@command()
def undo(
    context: Context,
    run: Annotated[
        int | None, typer.Argument(metavar="[RUN]", help="The run to undo (default: the last).")
    ] = None,
    *,
    night: Annotated[
        bool, typer.Option("--night", help="Take back every run of the last night.")
    ] = False,
) -> None:
    """Take the last run back, exactly; or with --night the whole last night.

    Example: segapsith runs undo --store wire.db

    Example: segapsith runs undo --night --store wire.db
    """
    if night:
        if run is not None:
            raise UsageError("--night finds the runs itself: leave out RUN")
        _undo_night(context)
        return
    with context.wire() as wire:
        result = wire.runs.undo(run)
    context.show(
        result,
        lambda out: out.line(
            f"run {result['run']} undone: {counted(result['documents'], 'document')} removed,"
            f" {result['restored']} restored to their earlier text,"
            f" {counted(result['moved'], 'unit')} moved back"
        ),
    )


def _undo_night(context: Context) -> None:
    with context.wire() as wire:
        done = wire.runs.undo_night()
    runs = ", ".join(map(str, done.runs))
    context.show(
        done,
        lambda out: out.line(
            f"night {done.night} undone (runs {runs}): {counted(done.documents, 'document')} removed,"
            f" {done.restored} restored to their earlier text, {counted(done.moved, 'unit')} moved back"
        ),
    )

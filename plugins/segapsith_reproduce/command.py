"""`reproduce`: compute the papers' tables again, beside the printed figures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import WORKERS, Seed
from segapsith.cli.output import Output
from segapsith.errors import UsageError

if TYPE_CHECKING:
    from segapsith.plugin.contracts import Executor
    from segapsith_reproduce import Table

__all__ = ["register_commands"]


def register_commands(app: typer.Typer) -> None:
    """Add `segapsith reproduce` to the program."""
    app.command("reproduce")(reproduce)


@command(WORKERS)
def reproduce(
    context: Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="The table (default: list the tables)."),
    ] = None,
    *,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="The data sets (default: SEGAPSITH_DATA)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use only a part of the data.")] = False,
    sets: Annotated[
        str | None,
        typer.Option(
            "--sets",
            "--set",
            metavar="NAMES",
            help="Only these sets, separated by commas; streams may be any directory of the data.",
        ),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=1,
            metavar="N",
            help="Number of samples or repetitions (default: as in the paper).",
        ),
    ] = None,
    half: Annotated[
        str | None,
        typer.Option(
            "--half",
            metavar="NAME",
            help="Score one half of the labels of streams: first or second.",
        ),
    ] = None,
    seed: Seed = 0,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Store figures there as they are computed, and continue from it.",
        ),
    ] = None,
    printed: Annotated[
        Path | None,
        typer.Option(
            "--printed",
            metavar="FILE",
            help="CSV file with figures to compare with (default: those of the paper).",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the figures.")
    ] = None,
) -> None:
    """Compute a table of the papers again, beside the printed figures.

    With --store, segmenters use what that store has learned. --workers compute the cells of the
    chi-sim, gvsm and mvsim tables; the figures are the same.

    Example: segapsith reproduce choi --data ../data --quick

    Example: segapsith reproduce gvsm-6 --data ../data --workers dask:2
    """
    from segapsith_reproduce import TABLES, Options, Table
    from segapsith_reproduce import reproduce as computed

    if name is None:
        abouts = {table: entry.about for table, entry in TABLES.items()}
        context.show(abouts, lambda out: out.table(abouts.items(), ("table", "contents")))
        return
    folder = data or (Path(given) if (given := os.environ.get("SEGAPSITH_DATA")) else None)
    if folder is None:
        raise UsageError("name the folder of the data sets with --data or SEGAPSITH_DATA")
    if half not in (None, "first", "second"):
        raise UsageError(f"--half {half}: expected first or second")
    store = context.given.get("store")
    with (
        context.out.progress() as progress,
        progress.following(name),
        _executor(context, name) as executor,
    ):
        options = Options(
            quick,
            seed,
            progress.update,
            results,
            tuple(part.strip() for part in (sets or "").split(",") if part.strip()),
            repetitions,
            None if store is None else Path(store),
            printed,
            half or "",
            executor,
        )
        result = computed(name, folder, options)
    if svg is not None:
        if not result.picture:
            raise UsageError(f"there is no picture of {name}")
        svg.write_text(result.picture, encoding="utf-8")
    table = result if isinstance(result, Table) else result.as_table()
    context.show({"table": name, **result.as_json()}, lambda out: _text(table, out))


@contextlib.contextmanager
def _executor(context: Context, name: str) -> Iterator[Executor | None]:
    """Make what computes the cells of a table; None for a table that is computed here as a whole."""
    from segapsith.api.factory import Factory
    from segapsith_reproduce import TABLES

    if name not in TABLES or "workers" not in TABLES[name].accepts:
        if context.flags["workers"] is not None:
            others = ", ".join(n for n, table in TABLES.items() if "workers" in table.accepts)
            raise UsageError(f"{name} is computed in one process; workers compute {others}")
        yield None
        return
    with contextlib.closing(Factory(context.settings, context.registry())) as factory:
        factory.start_workers("reproduce")
        yield factory.executor


def _text(table: Table, out: Output) -> None:
    out.line(table.title)
    out.table(table.rows, table.head)
    for note in table.notes:
        out.line(note)

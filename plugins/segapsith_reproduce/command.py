"""`reproduce`: the tables again, beside the printed figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.options import CommandJson, CommandQuiet
from segapsith.cli.output import Progress, show_json, table, write
from segapsith.errors import UsageError

__all__ = ["register_commands"]


def register_commands(app: typer.Typer) -> None:
    """Add `segapsith reproduce` to the program."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Which table; none lists them.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="The data sets (default: SEGAPSITH_DATA)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A part of the data, for a first look.")
    ] = False,
    sets: Annotated[
        str | None,
        typer.Option("--sets", metavar="NAMES", help="Only these sets, with commas between."),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=1,
            metavar="N",
            help="So many samples or repetitions, not as many as the paper has.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of what is random.")] = 0,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Keep figures there as they come, and go on from what is there.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="Segment with what this store has learned."),
    ] = None,
    printed: Annotated[
        Path | None,
        typer.Option(
            "--printed",
            metavar="FILE",
            help="Figures of the paper as CSV, to stand beside ours.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the figures there.")
    ] = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Compute one of the tables again, beside the printed figures.

    Example: segapsith reproduce choi --data ../data --quick
    """
    from segapsith_reproduce import TABLES, Options
    from segapsith_reproduce import reproduce as computed
    from segapsith_reproduce.printed import beside, read

    if name is None:
        listed = {known: found.about for known, found in TABLES.items()}
        if as_json:
            show_json(listed)
        else:
            table(listed.items(), ["table", "what it shows"])
        return
    folder = data or (Path(given) if (given := os.environ.get("SEGAPSITH_DATA")) else None)
    if folder is None:
        raise UsageError("name the folder of the data sets with --data or SEGAPSITH_DATA")
    progress = Progress(not quiet and not as_json)
    try:
        chosen = tuple(part.strip() for part in (sets or "").split(",") if part.strip())
        options = Options(quick, seed, progress.update, results, chosen, repetitions, store)
        found = [computed(name, folder, options)]
    finally:
        progress.end()
    if printed is not None:
        found.append(beside(found[0], read(printed, name, found[0])))
    if svg is not None:
        picture = found[-1].picture
        if not picture:
            raise UsageError(f"there is no picture of {name}")
        svg.write_text(picture, encoding="utf-8")
    if as_json:
        told = {} if printed is None else {"printed": found[1].as_json()}
        show_json({"table": name, **found[0].as_json(), **told})
        return
    for one in found:
        write(one.title)
        table(one.rows, one.head)
        for note in one.notes:
            write(note)

"""`compare`: two runs, nights, stores, or a store and a labelled file."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, StorePath
from segapsith.cli.output import show_json, write
from segapsith.cli.validate import comparison_lines

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    left: Annotated[
        str,
        typer.Argument(metavar="LEFT", help="A run, a date, a store (store.db@RUN) or a file."),
    ],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="What it is compared with.")],
    store: StorePath = None,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="NAME", help="Where a file has its labels."),
    ] = None,
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only groups of LEFT of at least so many.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Of what is random.")] = 0,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Two runs, nights, stores, or a store and a labelled file, by the numbers of `validate`.

    Documents are matched by id, units by where they lie in the text. A file has JSON lines or CSV
    with `id`, a label and, if it labels parts of a text, `start` and `end`. If several of its
    fields may hold the labels (say `domain` and `topic`), choose one with --field.

    Example: segapsith compare wire.db labels.jsonl

    Example: segapsith compare wire.db assignments.csv --field domain
    """
    chosen = context.settings(store=store, config=config)
    with context.wire(chosen) as wire:
        found = wire.compare(left, right, field=field, min_units=min_units, seed=seed)
    if as_json:
        show_json(found)
    elif not quiet:
        write(
            f"{left} ({found['domains']} groups by {found['left_field']}) against"
            f" {right} ({found['clusters']} groups by {found['right_field']}):"
            f" {found['units']} units of {found['left_units']} and {found['right_units']}"
            + (
                f"; {found['several_labels']} had several labels, the first was taken"
                if found["several_labels"]
                else ""
            )
        )
        for line in comparison_lines(found):
            write(line)

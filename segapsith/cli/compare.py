"""`compare`: two partitions of the same units."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import Seed
from segapsith.cli.output import Fields, Output
from segapsith.cli.validate import comparison_lines

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("compare")(compare)


@command()
def compare(
    context: Context,
    left: Annotated[
        str,
        typer.Argument(metavar="LEFT", help="A run, a date, a store (store.db@RUN) or a file."),
    ],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="What it is compared with.")],
    *,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="NAME", help="The field of a file that has the labels."),
    ] = None,
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only groups of LEFT of at least N units.")
    ] = 1,
    seed: Seed = 0,
) -> None:
    """Compare two runs, dates, stores or labelled files.

    Documents are matched by id, units by their place in the text. A file has JSON lines or CSV
    with `id`, a label and, if it labels parts of a text, `start` and `end`. If several of its
    fields could be the label (for example `domain` and `topic`), choose one with --field.

    Example: segapsith compare wire.db labels.jsonl

    Example: segapsith compare wire.db assignments.csv --field domain
    """
    with context.wire(create=True) as wire:
        result = wire.compare(left, right, field=field, min_units=min_units, seed=seed)
    context.show(result, lambda out: _text(result, left, right, out))


def _text(result: Fields, left: str, right: str, out: Output) -> None:
    several = result["several_labels"]
    out.line(
        f"{left} ({result['domains']} groups by {result['left_field']}) against"
        f" {right} ({result['clusters']} groups by {result['right_field']}):"
        f" {result['units']} common units of {result['left_units']} and {result['right_units']}"
        + (f"; {several} had several labels, the first was used" if several else "")
    )
    for line in comparison_lines(result):
        out.line(line)

"""`federate`: several stores in one view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output

if TYPE_CHECKING:
    from segapsith.api.federation import Federation

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("federate")(federate)


@command()
def federate(
    context: Context,
    stores: Annotated[list[str], typer.Argument(metavar="STORE…", help="Two stores or more.")],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The directory of the view.")
    ],
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only domains of at least N units.")
    ] = 15,
    threshold: Annotated[
        float,
        typer.Option("--threshold", min=0, max=1, help="Similarity above which groups are linked."),
    ] = 0.25,
) -> None:
    """Link the domains and topics of several stores into one view.

    Stores of desks, languages or years are read and not changed. The links are approximate; where
    no two stores share a language, the stores are shown side by side. Writes a page (index.html),
    federation.json and tables (.csv).

    Example: segapsith federate politics.db sport.db --output view
    """
    from segapsith.api import federation

    with context.out.progress() as progress:
        progress.update("reading and linking")
        result = federation.federate(stores, output, min_units=min_units, threshold=threshold)
    context.show(result.as_json(), lambda out: _text(result, output, out))


def _text(result: Federation, output: Path, out: Output) -> None:
    for name, level in (("domains", result.domains), ("topics", result.topics)):
        common = sum(len(subject.members) > 1 for subject in level.subjects)
        out.line(
            f"{name}: {len(level.groups):,} in {len(result.stores)} stores,"
            f" {len(level.subjects):,} subjects, {common:,} of them in several stores"
        )
    for one in result.agreements:
        if one.kappa is not None and one.same_subject is not None:
            out.line(
                f"{one.left} and {one.right}: {one.units:,} common passages, kappa {one.kappa:.3f},"
                f" {one.same_subject:.0%} in the same subject"
            )
    out.line(result.note)
    out.line(f"{output}/index.html, federation.json, subjects.csv, members.csv, links.csv")

"""`backup`: copy a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.context import Context, command

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("backup")(backup)


@command()
def backup(
    context: Context,
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; must not exist.")],
) -> None:
    """Make a consistent copy of the store.

    Another process may write meanwhile.

    Example: segapsith backup wire-monday.db --store wire.db
    """
    from segapsith_store import Store

    with Store.reading(context.path) as store:
        store.backup(target)
    context.show(
        {"store": context.path, "backup": str(target)},
        lambda out: out.line(f"{context.path} copied to {target}"),
    )

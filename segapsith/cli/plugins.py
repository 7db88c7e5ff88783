"""`plugins`: what is installed, and whether it can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from segapsith.cli import plugins_check, plugins_new
from segapsith.cli.context import Context, command, group
from segapsith.cli.output import Output, write

if TYPE_CHECKING:
    from segapsith.plugin.registry import Registry

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    plugins = group(default=list_plugins)
    plugins_check.add_to(plugins)
    plugins_new.add_to(plugins)
    app.add_typer(plugins, name="plugins")


@command()
def list_plugins(context: Context) -> None:
    """List installed plugins; check one, or begin a new one.

    Example: segapsith plugins
    """
    rows = _rows(context.load_plugins())
    context.show(rows, lambda out: _text(rows, out))


def _rows(registry: Registry) -> list[dict[str, Any]]:
    return [
        {
            "name": offer.name,
            "kind": offer.kind,
            "package": offer.package,
            "version": offer.version,
            "licence": offer.licence,
            "error": None,
        }
        for offer in sorted(registry.offers.values(), key=lambda o: (o.kind, o.name))
    ] + [
        {
            "name": problem.plugin,
            "kind": None,
            "package": problem.package,
            "version": problem.version,
            "licence": problem.licence,
            "error": problem.reason,
        }
        for problem in registry.problems
    ]


def _text(rows: list[dict[str, Any]], out: Output) -> None:
    names = ("name", "kind", "package", "version", "licence", "error")
    out.table(([row[name] for name in names] for row in rows), names, cut=("error", "licence"))
    if all(row["error"] is None for row in rows):
        write(f"{len(rows)} plugins, all usable")

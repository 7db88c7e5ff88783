"""`status`: counts, the digest and the condition of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, minute
from segapsith.model import Record

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith_store import Store

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("status")(status)


@command()
def status(
    context: Context,
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Also sizes of tables, feeds and the last night.")
    ] = False,
) -> None:
    """Show counts, the digest, the last runs and versions.

    Example: segapsith status --json --store wire.db
    """
    wire = context.reader()
    with wire.reading():
        facts = {**wire.status(), **_condition(wire, full)}
    context.show(facts, lambda out: _text(facts, out))


def _text(facts: Record, out: Output) -> None:
    lines: list[tuple[str, object]] = [
        (name, _pairs(value) if isinstance(value, dict) else value)
        for name, value in facts.items()
        if name not in ("history", "last_run")
    ]
    for run in facts["history"]:
        at = minute(run["finished_at"] or run["started_at"])
        lines.append(("run", f"{run['id']} {run['command']} {run['status']} {at}"))
    out.fields(lines)


def _pairs(values: Record) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _condition(wire: Wire, full: bool) -> dict[str, Any]:
    """Return what may differ between equal stores: versions, times and the run log."""
    from segapsith.operations.versions import versions
    from segapsith_store import health
    from segapsith_store.queries import nights, subscriptions

    def ask(store: Store) -> dict[str, Any]:
        feeds = health.checks(store, subscriptions.moment()).as_json()
        facts = {
            "versions": versions(),
            "next_check_at": feeds.pop("next_check_at"),
            "history": health.history(store),
        }
        if full:
            last = next(iter(nights.listed(store, 1)), None)
            facts |= {"sizes": health.sizes(store).as_json(), "feeds": feeds}
            facts["last_night"] = None if last is None else last.line
        return facts

    return wire.read(ask)

"""`config`: the settings in effect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import SETS
from segapsith.errors import SegapsithError

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("config")(show_config)


@command(SETS)
def show_config(context: Context) -> None:
    """Show every setting with its value and its origin.

    In order of priority: flag, environment, file, store, preset, default. The store has the
    settings that it was learned with. If it has a target (`tune --keep`), the threshold follows
    the target, and its present value is shown.

    Example: segapsith config --json
    """
    wire = context.reader()
    shown = {**wire.settings.as_json(), **_followed(wire)}
    context.show(
        shown,
        lambda out: out.table(
            ((name, str(entry["value"]), entry["origin"]) for name, entry in shown.items()),
            ("setting", "value", "origin"),
            cut=("value",),
        ),
    )


def _followed(wire: Wire) -> dict[str, Any]:
    """Return the threshold as it follows a target, if there is a store with a target."""
    from segapsith_store.queries.targets import followed_target

    if wire.factory.overruled or not Path(wire.path).is_file():
        return {}
    try:
        target = wire.read(followed_target)
    except SegapsithError:  # settings are shown even if the store cannot be read
        return {}
    if target is None:
        return {}
    origin = f"store: follows {target['aim']} {target['share']}"
    return {"threshold": {"value": target["threshold"], "origin": origin}}

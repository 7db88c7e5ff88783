"""`config`, `plugins`: what holds and what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from segapsith.cli import context as wiring
from segapsith.cli import plugins as plugin_kit
from segapsith.cli.options import (
    CommandJson,
    CommandQuiet,
    Config,
    NoPlugins,
    Sets,
    StorePath,
    StrictPlugins,
    Wait,
)
from segapsith.cli.output import claim, show_json, table, write
from segapsith.errors import SegapsithError

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("config")(show_config)
    plugins = typer.Typer(
        help="What is installed, whether it keeps its promises, and a project for one more.",
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    plugins.callback(invoke_without_command=True)(list_plugins)
    plugin_kit.add_to(plugins)
    app.add_typer(plugins, name="plugins")


def show_config(
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    sets: Sets = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Every setting with its value and where it came from.

    Flag beats environment beats file beats store beats preset beats default: a store keeps what
    it was learned with. A target that it keeps (`tune --keep`) moves the threshold, and the one
    that holds now is shown.

    Example: segapsith config --json
    """
    chosen = wiring.settings(store=store, config=config, wait=wait, sets=sets)
    from segapsith.api.wire import Wire

    wire = Wire(str(chosen["store"]), chosen)
    shown = {**wire.settings.as_json(), **_followed(wire)}
    if as_json:
        show_json(shown)
    elif not quiet:
        table(
            ((name, entry["value"], entry["origin"]) for name, entry in shown.items()),
            ("setting", "value", "origin"),
        )


def _followed(wire: Wire) -> dict[str, Any]:
    """The threshold as it follows a target, if there is a store with one."""
    from segapsith_store.queries.targets import followed_target

    if wire.factory.overruled or not Path(wire.path).is_file():
        return {}
    try:
        target = wire.read(followed_target)
    except SegapsithError:  # settings are shown whatever state the store is in
        return {}
    if target is None:
        return {}
    origin = f"store: follows {target['aim']} {target['share']}"
    return {"threshold": {"value": target["threshold"], "origin": origin}}


def list_plugins(
    context: typer.Context,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """What is installed: name, kind, package, version, licence, and what cannot be used.

    Example: segapsith plugins
    """
    if context.invoked_subcommand is not None:
        return
    from segapsith.plugin.registry import load_plugins

    claim()
    registry = load_plugins(only_own=no_plugins, strict=strict_plugins)
    rows = [
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
    if as_json:
        show_json(rows)
    elif not quiet:
        names = ("name", "kind", "package", "version", "licence", "error")
        table(([row[name] for name in names] for row in rows), names)
        if not registry.problems:
            write(f"{len(rows)} plugins, all usable")

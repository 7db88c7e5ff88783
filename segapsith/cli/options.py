"""Options that several commands share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AllowHosts",
    "ChangeLearning",
    "CommandJson",
    "CommandQuiet",
    "Config",
    "Inbox",
    "MinUnits",
    "NoPlugins",
    "Sets",
    "StorePath",
    "StrictPlugins",
    "Wait",
]

StorePath = Annotated[
    str | None,
    typer.Option("--store", metavar="PATH", help="The store (default: segapsith.db)."),
]
CommandJson = Annotated[
    bool, typer.Option("--json", help="One JSON value on standard output, nothing else there.")
]
CommandQuiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing unless something failed.")
]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Configuration (default: ./segapsith.toml)."),
]
Wait = Annotated[
    float | None,
    typer.Option("--wait", metavar="SECONDS", help="Wait for another process that is writing."),
]
MinUnits = Annotated[
    int | None,
    typer.Option(
        "--min-units", min=1, help="Only domains of at least so many units (15 = stable)."
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of a chosen plugin (repeatable)."),
]
StrictPlugins = Annotated[
    bool, typer.Option("--strict-plugins", help="Fail if any installed plugin cannot be used.")
]
NoPlugins = Annotated[
    bool, typer.Option("--no-plugins", help="Use only what the program brings itself.")
]
ChangeLearning = Annotated[
    bool,
    typer.Option(
        "--change-learning",
        help="Learn with settings other than those of the store from now on.",
    ),
]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST:PORT",
        help="May be read although it is not a public address (repeatable).",
    ),
]
Inbox = Annotated[
    str | None,
    typer.Option("--inbox", metavar="DIR", help="Ingest what is new in it, in the order of names."),
]
OutputPath = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")
]

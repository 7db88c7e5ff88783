"""Options that several commands share.

`SHARED` and `message_options` are the options of every command; `context.command` adds them. A `SettingOption` is an
option that sets a setting; a command names the ones it takes: `@command(LANG, SETS)`. The others
are annotations of ordinary parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from segapsith.settings import BUILT_IN_PLACEMENT

__all__ = [
    "ALLOW_HOSTS",
    "ANNOTATOR",
    "AS_UNITS",
    "FULL_TEXT",
    "INBOX",
    "LANG",
    "PLACEMENT",
    "PRESET",
    "REFINE",
    "SEGMENTER",
    "SETS",
    "SHARED",
    "WORKERS",
    "All",
    "ChangeLearning",
    "Lang",
    "Limit",
    "MinUnits",
    "OutputPath",
    "Seed",
    "SettingOption",
    "message_options",
]

SHARED: Mapping[str, object] = MappingProxyType(
    {
        "store": Annotated[
            str | None,
            typer.Option("--store", metavar="PATH", help="The store (default: segapsith.db)."),
        ],
        "config": Annotated[
            str | None,
            typer.Option(
                "--config", metavar="FILE", help="Configuration file (default: ./segapsith.toml)."
            ),
        ],
        "wait": Annotated[
            float | None,
            typer.Option(
                "--wait", metavar="SECONDS", help="Wait this long for another writing process."
            ),
        ],
        "json": Annotated[
            bool, typer.Option("--json", help="Print one JSON value on standard output.")
        ],
        "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")],
        "wide": Annotated[
            bool, typer.Option("--wide", help="Do not cut lines to the width of the terminal.")
        ],
        "strict_plugins": Annotated[
            bool,
            typer.Option("--strict-plugins", help="Fail if an installed plugin cannot be used."),
        ],
        "no_plugins": Annotated[
            bool, typer.Option("--no-plugins", help="Use only the built-in plugins.")
        ],
    }
)
"""The options of every command, before or after its name."""


def message_options(*, hidden: bool) -> Mapping[str, object]:
    """Return the options about messages, which every command takes too.

    They are hidden in the help of a single command: `segapsith --help` lists them.
    """
    return {
        "debug": Annotated[
            bool,
            typer.Option(
                "--debug", help="Print every step, and tracebacks of errors.", hidden=hidden
            ),
        ],
        "log_json": Annotated[
            bool, typer.Option("--log-json", help="Print messages as JSON lines.", hidden=hidden)
        ],
        "log_file": Annotated[
            str | None,
            typer.Option(
                "--log-file",
                metavar="FILE",
                help="Append messages to this file too.",
                hidden=hidden,
            ),
        ],
    }


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class SettingOption:
    """An option that gives a setting a value."""

    setting: str
    """Name of the setting; "sets" for settings of plugins."""
    parameter: str
    """Name of the parameter; the option is called after it."""
    annotation: object
    value: Callable[[Any], Any] = _unchanged
    """From what was typed to the value of the setting; None if it was not given."""
    default: bool | None = None

    @property
    def flag(self) -> str:
        return "--" + self.parameter.replace("_", "-")


def _joined(entries: list[str] | None) -> str | None:
    return ", ".join(entries) if entries else None


LANG = SettingOption(
    "lang",
    "lang",
    Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE|auto", help="Language of the documents."),
    ],
)
ANNOTATOR = SettingOption(
    "annotator",
    "annotator",
    Annotated[
        str | None,
        typer.Option("--annotator", metavar="NAME", help="Plugin that finds the lemmas."),
    ],
)
SEGMENTER = SettingOption(
    "segmenter",
    "segmenter",
    Annotated[
        str | None,
        typer.Option("--segmenter", metavar="NAME", help="Plugin that splits texts into units."),
    ],
)
AS_UNITS = SettingOption(
    "segmenter",
    "as_units",
    Annotated[bool, typer.Option("--as-units", help="Treat each document as one unit.")],
    lambda given: "none" if given else None,
    default=False,
)
PLACEMENT = SettingOption(
    "placement",
    "placement",
    Annotated[
        str | None,
        typer.Option(
            "--placement",
            metavar="NAME",
            help=f"{BUILT_IN_PLACEMENT}, or the name of a similarity.",
        ),
    ],
)
PRESET = SettingOption(
    "preset",
    "preset",
    Annotated[
        str | None,
        typer.Option("--preset", metavar="default|paper", help="Set of learning settings."),
    ],
)
WORKERS = SettingOption(
    "workers",
    "workers",
    Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="EXECUTOR",
            help="Where tasks run: N processes, auto, dask:N, or dask:tcp://HOST:PORT.",
        ),
    ],
)
FULL_TEXT = SettingOption(
    "full_text",
    "full_text",
    Annotated[
        bool | None,
        typer.Option(
            "--full-text", help="Fetch the linked page of feed items that have only a summary."
        ),
    ],
)
REFINE = SettingOption(
    "refine",
    "refine",
    Annotated[
        int | None,
        typer.Option(
            "--refine", metavar="N", min=0, help="Then place all units again, N times (own run)."
        ),
    ],
)
ALLOW_HOSTS = SettingOption(
    "allow_hosts",
    "allow_host",
    Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="HOST:PORT",
            help="Permit fetching from this non-public address (repeatable).",
        ),
    ],
    _joined,
)
INBOX = SettingOption(
    "inbox",
    "inbox",
    Annotated[
        str | None,
        typer.Option(
            "--inbox", metavar="DIR", help="Ingest new entries of this directory, by name."
        ),
    ],
)
SETS = SettingOption(
    "sets",
    "set",
    Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Setting of a plugin in use (repeatable)."
        ),
    ],
)

MinUnits = Annotated[
    int | None,
    typer.Option("--min-units", min=1, help="Only domains of at least N units (15: stable)."),
]
ChangeLearning = Annotated[
    bool,
    typer.Option(
        "--change-learning",
        help="Learn with other settings than those of the store from now on.",
    ),
]
OutputPath = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")
]
All = Annotated[bool, typer.Option("--all", help="Show all on a terminal, not only the first 20.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Show at most N.")]
Lang = Annotated[str | None, typer.Option("--lang", metavar="LANG", help="Only this language.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of random choices.")]

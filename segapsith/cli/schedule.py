"""`update --nightly`, `schedule`, `doctor`: the program as a cron job sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, Inbox, NoPlugins, StorePath
from segapsith.cli.output import Progress, say, show_json, write
from segapsith.cli.status import must_exist

if TYPE_CHECKING:
    from segapsith.settings import Settings

__all__ = ["add_to", "nightly"]


def add_to(app: typer.Typer) -> None:
    schedule = typer.Typer(
        help="The night for cron or systemd.", rich_markup_mode=None, no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    schedule.command("show")(show)
    schedule.callback()(_schedule)
    app.add_typer(schedule, name="schedule")
    app.command("doctor")(doctor)


def _schedule() -> None:
    """The night for cron or systemd."""


def nightly(
    chosen: Settings,
    *,
    everything: bool,
    name: str,
    strict: bool,
    strict_plugins: bool,
    no_plugins: bool,
    change_learning: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """One night over a store; the exit code of its worst step."""
    must_exist(str(chosen["store"]))
    progress = Progress(not (quiet or as_json))
    with context.wire(
        chosen, strict=strict_plugins, only_own=no_plugins, change_learning=change_learning
    ) as wire:
        from segapsith.operations.nightly import NightlyRun, run_night

        try:
            night = run_night(
                NightlyRun(
                    wire,
                    strict=strict,
                    everything=everything,
                    name=name,
                    on_progress=progress.update,
                )
            )
        finally:
            progress.end()
    if as_json:
        show_json(night.as_json())
    elif not quiet:
        write(night.line)
    if quiet and (night.code or night.alarms):
        say(night.line)
    return night.code


def show(
    store: StorePath = None,
    config: Config = None,
    at: Annotated[str, typer.Option("--at", metavar="HH:MM", help="When, local time.")] = "02:30",
    inbox: Inbox = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """A crontab line and a systemd service with its timer, filled in for this machine.

    Example: segapsith schedule show --at 03:15 --store wire.db
    """
    import os

    from segapsith.operations.schedule import Schedule

    chosen = context.settings(store=store, config=config)
    more = ["--inbox", os.path.abspath(inbox)] if inbox else []
    made = Schedule.here(str(chosen["store"]), config=config, at=at, more=more)
    if as_json:
        show_json(
            {
                "command": list(made.command),
                "user": made.user,
                "folder": made.folder,
                "crontab": made.crontab,
                "service": made.service,
                "timer": made.timer,
            }
        )
    elif not quiet:
        write(f"# -- for `crontab -e`\n\n{made.crontab}")
        write(f"# -- or for systemd: /etc/systemd/system/segapsith.service\n\n{made.service}")
        write(f"# -- /etc/systemd/system/segapsith.timer\n\n{made.timer}")
        write("# then: systemctl daemon-reload && systemctl enable --now segapsith.timer")


def doctor(
    store: StorePath = None,
    config: Config = None,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Look at the installation, the store, the disk, the feeds and the nights; say what to do.

    Exit code 1 if there is trouble; notes are worth knowing and do not count.

    Example: segapsith doctor --store wire.db
    """
    from segapsith.api.wire import Wire
    from segapsith.operations.doctor import examine
    from segapsith.plugin.registry import load_plugins

    chosen = context.settings(store=store, config=config)
    findings = examine(Wire(str(chosen["store"]), chosen, load_plugins(only_own=no_plugins)))
    trouble = [finding for finding in findings if finding.state == "trouble"]
    if as_json:
        show_json({"well": not trouble, "findings": [finding.as_json() for finding in findings]})
    else:
        for finding in trouble if quiet else findings:
            advice = f" -> {finding.advice}" if finding.advice else ""
            write(f"{finding.state:8} {finding.what:12} {finding.text}{advice}")
    raise typer.Exit(1 if trouble else 0)

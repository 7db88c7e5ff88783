"""`schedule`: the nightly run for cron or systemd."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import INBOX
from segapsith.cli.output import Output, write

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    schedule = group(help="The nightly run for cron or systemd.")
    schedule.command("show")(show)
    app.add_typer(schedule, name="schedule")


@command(INBOX)
def show(
    context: Context,
    *,
    at: Annotated[
        str, typer.Option("--at", metavar="HH:MM", help="Time of day, local time.")
    ] = "02:30",
) -> None:
    """Print a crontab line and a systemd timer for this machine.

    Example: segapsith schedule show --at 03:15 --store wire.db
    """
    from segapsith.operations.schedule import Schedule

    inbox = context.flags["inbox"]
    more = ["--inbox", os.path.abspath(inbox)] if inbox else []
    schedule = Schedule.here(context.path, config=context.given.get("config"), at=at, more=more)

    def text(out: Output) -> None:
        write(f"# -- for `crontab -e`\n\n{schedule.crontab}")
        write(f"# -- or for systemd: /etc/systemd/system/segapsith.service\n\n{schedule.service}")
        write(f"# -- /etc/systemd/system/segapsith.timer\n\n{schedule.timer}")
        write("# then: systemctl daemon-reload && systemctl enable --now segapsith.timer")

    context.show(
        {
            "command": list(schedule.command),
            "user": schedule.user,
            "folder": schedule.folder,
            "crontab": schedule.crontab,
            "service": schedule.service,
            "timer": schedule.timer,
        },
        text,
    )

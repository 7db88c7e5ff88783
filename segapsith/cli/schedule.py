"""`schedule`: the nightly run for cron or systemd."""

from __future__ import annotations

import os
import re
from typing import Annotated, NamedTuple

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import ALLOW_HOSTS, INBOX
from segapsith.cli.output import Output, say, write
from segapsith.errors import UsageError
from segapsith.settings import Settings

__all__ = ["add_to"]


At = Annotated[str, typer.Option("--at", metavar="HH:MM", help="Time of day, local time.")]


def add_to(app: typer.Typer) -> None:
    schedule = group(help="The nightly run for cron or systemd.")
    schedule.command("show")(show)
    schedule.command("install")(install)
    app.add_typer(schedule, name="schedule")


@command(INBOX, ALLOW_HOSTS)
def show(
    context: Context,
    *,
    at: At = "02:30",
) -> None:
    """Print a crontab line, a systemd timer and a web service for this machine.

    The inbox and the permitted hosts are part of the command, unless the configuration file has
    them.

    Example: segapsith schedule show --at 03:15 --store wire.db
    """
    from segapsith.operations.schedule import Schedule

    inputs = _inputs(context.settings)
    more = [word for entry in inputs for word in entry.options]
    schedule = Schedule.here(context.path, config=context.given.get("config"), at=at, more=more)

    def text(out: Output) -> None:
        for entry in inputs:
            write(f"# {entry.name}: {entry.value or 'none'} ({entry.origin})")
        write("")
        write(f"# -- for `crontab -e`\n\n{schedule.crontab}")
        write(f"# -- or for systemd: /etc/systemd/system/segapsith.service\n\n{schedule.service}")
        write(f"# -- /etc/systemd/system/segapsith.timer\n\n{schedule.timer}")
        write(
            "# -- the web application: /etc/systemd/system/segapsith-web.service\n"
            f"# its token is the first line of a file of your own, at least 16 characters:\n"
            f"# {schedule.token_command}\n\n{schedule.web_service}"
        )
        write("# then: systemctl daemon-reload && systemctl enable --now segapsith.timer")
        write("# and for the web application: systemctl enable --now segapsith-web.service")

    context.show(
        {
            "command": list(schedule.command),
            "user": schedule.user,
            "folder": schedule.folder,
            **{entry.key: {"value": entry.value, "origin": entry.origin} for entry in inputs},
            "crontab": schedule.crontab,
            "service": schedule.service,
            "timer": schedule.timer,
            "web_service": schedule.web_service,
        },
        text,
    )


START = (("daemon-reload",), ("enable", "--now", "segapsith.timer"))
"""What systemd is asked after the units were written."""


@command(INBOX, ALLOW_HOSTS)
def install(
    context: Context,
    *,
    user: Annotated[
        bool, typer.Option("--user", help="For the systemd of this user; needed.")
    ] = False,
    at: At = "02:30",
) -> None:
    """Write a systemd service and a timer of this user, and start the timer.

    Nothing needs the rights of the administrator. Without systemd the files are still written. To
    run while you are not logged in: loginctl enable-linger.

    Example: segapsith schedule install --user --at 03:15 --store wire.db
    """
    import shutil
    import subprocess

    from segapsith.operations.schedule import Schedule, install_units, user_unit_folder

    if not user:
        raise UsageError("give --user; for the whole machine see `segapsith schedule show`")
    more = [word for entry in _inputs(context.settings) for word in entry.options]
    schedule = Schedule.here(context.path, config=context.given.get("config"), at=at, more=more)
    written = install_units(schedule, user_unit_folder(os.environ))
    systemctl = shutil.which("systemctl")
    failure = "systemctl is not installed" if systemctl is None else ""
    for words in START if systemctl else ():
        answer = subprocess.run(
            [str(systemctl), "--user", *words], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            failure = answer.stderr.strip() or f"systemctl ended with {answer.returncode}"
            break

    def text(out: Output) -> None:
        for path in written:
            out.line(f"{path} written")
        if not failure:
            out.line(f"the timer is started; the next night is at {at}")

    context.show(
        {"files": [str(path) for path in written], "started": not failure, "error": failure}, text
    )
    if failure:
        commands = " && ".join(f"systemctl --user {' '.join(words)}" for words in START)
        say(f"segapsith: the timer is not started: {failure}; later: {commands}")
        raise typer.Exit(1)


class _Input(NamedTuple):
    """What a night reads besides the subscribed feeds."""

    key: str
    name: str
    value: str
    origin: str
    options: tuple[str, ...]
    """Options of the command; none if the configuration file has the value, or there is none."""


def _inputs(settings: Settings) -> tuple[_Input, ...]:
    """Return the inbox and the permitted hosts, and where each value comes from.

    A scheduled command has neither the flags nor the environment of this one.
    """

    def given(name: str, value: str) -> bool:
        return bool(value) and not settings.origins[name].startswith("file ")

    inbox = os.path.abspath(settings.nightly.inbox) if settings.nightly.inbox else ""
    hosts = [host for host in re.split(r"[\s,]+", settings.http.allow_hosts) if host]
    permitted = ", ".join(hosts)
    inbox_options = ("--inbox", inbox) if given("inbox", inbox) else ()
    host_options = tuple(word for host in hosts for word in ("--allow-host", host))
    return (
        _Input("inbox", "inbox", inbox, settings.origins["inbox"], inbox_options),
        _Input(
            "allow_hosts",
            "permitted hosts",
            permitted,
            settings.origins["allow_hosts"],
            host_options if given("allow_hosts", permitted) else (),
        ),
    )

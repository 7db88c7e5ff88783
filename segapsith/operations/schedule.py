"""A night for cron or systemd, filled in for this machine: every path absolute, every word quoted."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from segapsith.errors import UsageError
from segapsith.settings import FILE

__all__ = ["Schedule", "program"]


def program() -> list[str]:
    """How this installation is called from anywhere."""
    script = Path(sys.executable).absolute().parent / "segapsith"
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    return [str(Path(sys.executable).absolute()), "-m", "segapsith"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When, who, where and what."""

    command: Sequence[str]
    folder: str
    user: str
    at: str = "02:30"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.at):
            raise UsageError(f"--at {self.at!r} should be HH:MM, such as 02:30")

    @classmethod
    def here(cls, store: str, *, config: str | None, at: str, more: Sequence[str] = ()) -> Schedule:
        """For this program, this store and the present user, from the present directory."""
        command = [*program(), "update", "--nightly", "--quiet", "--wait", "600"]
        command += ["--store", os.path.abspath(store)]
        if config is not None or os.path.isfile(FILE):
            command += ["--config", os.path.abspath(config or FILE)]
        return cls([*command, *more], os.getcwd(), _user(), at)

    @property
    def crontab(self) -> str:
        """Lines for `crontab -e`. A percent sign means a new line there, unless it is escaped."""
        hour, minute = self.at.split(":")
        line = f"cd {shlex.quote(self.folder)} && {shlex.join(self.command)}".replace("%", r"\%")
        return (
            "# segapsith, every night; it is silent unless something is to be looked at\n"
            f"MAILTO={shlex.quote(self.user)}\n"
            f"{int(minute)} {int(hour)} * * * {line}\n"
        )

    @property
    def service(self) -> str:
        """segapsith.service"""
        return (
            "[Unit]\n"
            "Description=segapsith, the night\n"
            "Wants=network-online.target\n"
            "After=network-online.target\n"
            "\n"
            "[Service]\n"
            "Type=oneshot\n"
            f"User={self.user}\n"
            f"WorkingDirectory={self.folder.replace('%', '%%')}\n"
            f"ExecStart={' '.join(_systemd_word(word) for word in self.command)}\n"
            "Nice=10\n"
            "UMask=0022\n"
            "NoNewPrivileges=yes\n"
            "ProtectSystem=full\n"
        )

    @property
    def timer(self) -> str:
        """segapsith.timer: a night that was slept through is made up for after the start."""
        return (
            "[Unit]\n"
            "Description=segapsith, every night\n"
            "\n"
            "[Timer]\n"
            f"OnCalendar=*-*-* {self.at}:00\n"
            "Persistent=true\n"
            "RandomizedDelaySec=300\n"
            "\n"
            "[Install]\n"
            "WantedBy=timers.target\n"
        )


def _systemd_word(word: str) -> str:
    """A word as systemd reads it: `%` and `$` mean something to it, and so do quotes and blanks.

    >>> print(_systemd_word("100% of $HOME"), _systemd_word("--store"))
    "100%% of $$HOME" --store
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    return escaped if re.fullmatch(r"[\w@%+=:,./-]+", escaped) else f'"{escaped}"'


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name
        return str(os.getuid())

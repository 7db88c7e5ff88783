"""The nightly run for cron and systemd: absolute paths of this machine, every word quoted."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segapsith.errors import UsageError
from segapsith.settings import FILE

__all__ = ["MARK", "Schedule", "install_units", "program", "user_unit_folder"]


def program() -> list[str]:
    """Return the command that starts this installation from any directory."""
    script = Path(sys.executable).absolute().parent / "segapsith"
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    return [str(Path(sys.executable).absolute()), "-m", "segapsith"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The time, user, directory and command of the nightly run."""

    command: Sequence[str]
    folder: str
    user: str
    at: str = "02:30"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.at):
            raise UsageError(f"--at {self.at!r} should be HH:MM, such as 02:30")

    @classmethod
    def here(cls, store: str, *, config: str | None, at: str, more: Sequence[str] = ()) -> Schedule:
        """Return the schedule for this program, store, user and working directory."""
        command = [*program(), "update", "--nightly", "--quiet", "--wait", "600"]
        command += ["--store", os.path.abspath(store)]
        if config is not None or os.path.isfile(FILE):
            command += ["--config", os.path.abspath(config or FILE)]
        return cls([*command, *more], os.getcwd(), _user(), at)

    @property
    def crontab(self) -> str:
        """Lines for `crontab -e`, where an unescaped percent sign would start a new line."""
        hour, minute = self.at.split(":")
        line = f"cd {shlex.quote(self.folder)} && {shlex.join(self.command)}".replace("%", r"\%")
        return (
            "# segapsith, every night; it prints a line only if something needs attention\n"
            f"MAILTO={shlex.quote(self.user)}\n"
            f"{int(minute)} {int(hour)} * * * {line}\n"
        )

    @property
    def service(self) -> str:
        """The content of segapsith.service."""
        return (
            "[Unit]\n"
            "Description=segapsith, nightly run\n"
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
    def user_service(self) -> str:
        """The content of segapsith.service for the systemd of a user, which runs as that user."""
        left_out = ("User=", "Wants=", "After=")  # the targets belong to the system's manager
        lines = [line for line in self.service.splitlines() if not line.startswith(left_out)]
        return "\n".join([MARK, *lines, ""])

    @property
    def web_service(self) -> str:
        """The content of segapsith-web.service, which keeps the web application running."""
        words = [*program(), "serve", "--store", self._store, "--token-file", self._token_file]
        if "--config" in self.command:
            words += ["--config", self.command[self.command.index("--config") + 1]]
        return (
            "[Unit]\n"
            "Description=segapsith, web application\n"
            "After=network.target\n"
            "\n"
            "[Service]\n"
            f"User={self.user}\n"
            f"WorkingDirectory={self.folder.replace('%', '%%')}\n"
            f"ExecStart={' '.join(_systemd_word(word) for word in words)}\n"
            "Restart=on-failure\n"
            "SuccessExitStatus=143\n"  # what it ends with when systemd stops it
            "UMask=0077\n"
            "NoNewPrivileges=yes\n"
            "ProtectSystem=full\n"
            "PrivateTmp=yes\n"
            "\n"
            "[Install]\n"
            "WantedBy=multi-user.target\n"
        )

    @property
    def token_command(self) -> str:
        """A shell command that writes a token which only its user can read."""
        file = shlex.quote(self._token_file)
        return f"(umask 077; head -c 24 /dev/urandom | base64 >{file})"

    @property
    def _store(self) -> str:
        return self.command[self.command.index("--store") + 1]

    @property
    def _token_file(self) -> str:
        return f"{self._store}.token"

    @property
    def timer(self) -> str:
        """The content of segapsith.timer; a missed night runs after the next start of the machine."""
        return (
            "[Unit]\n"
            "Description=segapsith, nightly timer\n"
            "\n"
            "[Timer]\n"
            f"OnCalendar=*-*-* {self.at}:00\n"
            "Persistent=true\n"
            "RandomizedDelaySec=300\n"
            "\n"
            "[Install]\n"
            "WantedBy=timers.target\n"
        )


MARK = "# written by segapsith schedule install"
"""First line of the units that may be replaced."""


def install_units(schedule: Schedule, folder: Path) -> list[Path]:
    """Write the service and the timer of a user; raise an error if others wrote such files."""
    units = {
        folder / "segapsith.service": schedule.user_service,
        folder / "segapsith.timer": f"{MARK}\n{schedule.timer}",
    }
    for path in units:
        if path.exists() and not path.read_text("utf-8").startswith(MARK):
            raise UsageError(f"{path} is not from this command; move it away first")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in units.items():
        path.write_text(text, "utf-8")
    return list(units)


def user_unit_folder(environment: Mapping[str, str]) -> Path:
    """Return where systemd looks for the units of a user."""
    folder = environment.get("XDG_CONFIG_HOME", "")
    base = Path(folder) if os.path.isabs(folder) else Path.home() / ".config"
    return base / "systemd" / "user"


def _systemd_word(word: str) -> str:
    """Return a word quoted for systemd, where `%`, `$`, quotes and spaces have a meaning.

    >>> print(_systemd_word("100% of $HOME"), _systemd_word("--store"))
    "100%% of $$HOME" --store
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    return escaped if re.fullmatch(r"[\w@%+=:,./-]+", escaped) else f'"{escaped}"'


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user has a number but no name
        return str(os.getuid())

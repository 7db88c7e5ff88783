"""`schedule show`: what cron or systemd starts every night."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.operations.schedule import program

Command = Callable[..., tuple[int, str, str]]


def test_the_schedule_names_everything_absolutely(command: Command, tmp_path: Path) -> None:
    (tmp_path / "segapsith.toml").write_text('store = "my wire.db"\n')
    code, out, _ = command("schedule", "show", "--at", "03:07", "--inbox", "in", "--json")
    assert code == 0
    shown = json.loads(out)
    assert shown["command"] == [
        *program(), "update", "--nightly", "--quiet", "--wait", "600",
        "--store", str(tmp_path / "my wire.db"), "--config", str(tmp_path / "segapsith.toml"),
        "--inbox", str(tmp_path / "in"),
    ]  # fmt: skip
    assert os.access(program()[0], os.X_OK)
    assert "\n7 3 * * * cd " in shown["crontab"]
    assert "OnCalendar=*-*-* 03:07:00" in shown["timer"]
    assert "Persistent=true" in shown["timer"]
    assert f"User={shown['user']}\n" in shown["service"]
    code, out, _ = command("schedule", "show")
    assert code == 0
    assert "02:30" in out and "crontab" in out and "[Service]" in out
    for wrong in ("3:15", "24:00", "noon"):
        assert command("schedule", "show", "--at", wrong)[0] == 2


def test_inbox_and_hosts_of_the_environment_are_in_the_command(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGAPSITH_ALLOW_HOSTS", "127.0.0.1:80, wire.example:8080")
    (tmp_path / "segapsith.toml").write_text('inbox = "in"\n')
    shown = json.loads(command("schedule", "show", "--json")[1])
    assert shown["inbox"] == {"value": str(tmp_path / "in"), "origin": "file segapsith.toml"}
    assert "--inbox" not in shown["command"]
    assert shown["command"][-4:] == [
        "--allow-host", "127.0.0.1:80", "--allow-host", "wire.example:8080",
    ]  # fmt: skip
    out = command("schedule", "show")[1]
    assert "# permitted hosts: 127.0.0.1:80, wire.example:8080 (environment)" in out


def test_units_of_a_user_are_written_and_started(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tools))
    code, out, err = command("schedule", "install", "--user", "--at", "03:15")
    assert code == 1 and "not installed" in err and "enable --now segapsith.timer" in err
    folder = tmp_path / "config" / "systemd" / "user"
    service = (folder / "segapsith.service").read_text()
    assert "User=" not in service and str(tmp_path / "segapsith.db") in service
    assert "OnCalendar=*-*-* 03:15:00" in (folder / "segapsith.timer").read_text()
    systemctl = tools / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    systemctl.chmod(0o755)
    code, out, _ = command("schedule", "install", "--user")
    assert code == 0 and "started" in out
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["--user daemon-reload", "--user enable --now segapsith.timer"]


def test_units_of_others_are_not_replaced(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    unit = tmp_path / "systemd" / "user" / "segapsith.timer"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Timer]\n")
    code, _, err = command("schedule", "install", "--user")
    assert code == 2 and "not from this command" in err and unit.read_text() == "[Timer]\n"
    assert [path.name for path in unit.parent.iterdir()] == ["segapsith.timer"]
    assert command("schedule", "install")[0] == 2

"""The schedule: absolute paths, and every word read back as it was by cron, the shell and systemd."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from segapsith.operations.schedule import Schedule
from segapsith.web.serving import read_token

NASTY = ['/srv/100% of $HOME/it\'s "here"/segapsith', "--store", "a b;rm\\x.db", "--inbox", "é"]


def test_cron_and_the_shell_read_the_same_words() -> None:
    made = Schedule(NASTY, "/srv/my wire", "wire")
    line = made.crontab.splitlines()[-1]
    assert not re.search(r"(?<!\\)%", line)
    words = line.split(" ", 5)[5].replace(r"\%", "%")
    assert shlex.split(words) == ["cd", "/srv/my wire", "&&", *NASTY]


def test_systemd_reads_the_same_words() -> None:
    (line,) = re.findall("^ExecStart=(.*)$", Schedule(NASTY, "/", "wire").service, re.MULTILINE)
    words = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)
    read = [
        re.sub(r"\\(.)", r"\1", word[1:-1] if word.startswith('"') else word)
        .replace("%%", "%")
        .replace("$$", "$")
        for word in words
    ]
    assert read == NASTY


def test_the_web_service_serves_the_same_store_with_a_token_file() -> None:
    schedule = Schedule.here("wire.db", config=None, at="02:30")
    store = schedule.command[schedule.command.index("--store") + 1]
    assert f" serve --store {store} --token-file {store}.token\n" in schedule.web_service
    assert "--host" not in schedule.web_service
    assert "\nSuccessExitStatus=143\n" in schedule.web_service, "a stop is no failure"
    other = Schedule.here("wire.db", config="my.toml", at="02:30")
    assert f" --config {os.path.abspath('my.toml')}\n" in other.web_service


def test_the_token_of_the_page_is_accepted_and_private(tmp_path: Path) -> None:
    schedule = Schedule.here(str(tmp_path / "my wire.db"), config=None, at="02:30")
    subprocess.run(["sh", "-c", schedule.token_command], check=True)
    (file,) = tmp_path.iterdir()
    assert file.name == "my wire.db.token" and file.stat().st_mode & 0o077 == 0
    assert len(read_token(file)) == 32


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    schedule = Schedule.here(str(tmp_path / "my 100% wire.db"), config=None, at="02:30")
    units = {
        "segapsith.service": schedule.service,
        "segapsith.timer": schedule.timer,
        "segapsith-web.service": schedule.web_service,
    }
    for name, text in units.items():
        (tmp_path / name).write_text(text, "utf-8")
    answer = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / name) for name in units)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (0, "")

"""The schedule: absolute paths, and every word read back as it was by cron, the shell and systemd."""

from __future__ import annotations

import re
import shlex

from segapsith.operations.schedule import Schedule

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

"""`notify`: test, list, send and drop, with the targets of the configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from segapsith.model import Notice
from segapsith_store import Store, notifications
from segapsith_store.notifications import Queued

Command = Callable[..., tuple[int, str, str]]

CONFIG = """
[[notify]]
to = "atom"
path = "{path}"
[[notify]]
name = "gone"
to = "command"
run = "/no/such/program"
"""


def queue(path: Path, *targets: str) -> None:
    with Store.writing(path) as store:
        entries = [
            Queued(name, Notice("k", "alarm", "An alarm", at="2026-03-02")) for name in targets
        ]
        store.change(lambda c: notifications.queue(c, entries) or 0)


def test_a_test_goes_to_every_target_and_the_worst_failure_counts(
    command: Command, tmp_path: Path
) -> None:
    Path("segapsith.toml").write_text(CONFIG.format(path="a.atom"))
    code, out, err = command("notify", "test")
    assert code == 69 and "atom: sent" in out and "gone: FAILED" in out
    assert "No such file" in err and "Test of notifications" in Path("a.atom").read_text()
    code, _, err = command("notify", "test", "desk")
    assert code == 2 and "targets: atom, gone" in err
    Path("segapsith.toml").unlink()
    code, _, err = command("notify", "test")
    assert code == 78 and "[[notify]]" in err


def test_the_queue_is_listed_sent_and_dropped(
    command: Command, answer: Callable[..., Any], tmp_path: Path
) -> None:
    Path("segapsith.toml").write_text(CONFIG.format(path="a.atom"))
    queue(tmp_path / "wire.db", "atom", "gone", "old")
    listed = {one["name"]: one for one in answer("notify", "list", "--store", "wire.db")}
    assert listed["old"]["gets"] is None and listed["atom"]["not_sent"][0]["notices"] == 1
    code, out, err = command("notify", "send", "--store", "wire.db")
    assert code == 69 and "1 notice sent" in out and "gone" in err
    code, out, _ = command("doctor", "--store", "wire.db")
    assert "tried 1 times" in out and "not configured any more" in out
    assert answer("notify", "drop", "gone", "--store", "wire.db") == {"dropped": 1}
    assert answer("notify", "drop", "--store", "wire.db") == {"dropped": 1}
    assert answer("notify", "send", "--store", "wire.db")["sent"] == {}

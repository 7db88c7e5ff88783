"""What keeps a night running unseen: schedule, logs, status, doctor."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample
from segapsith.operations.doctor import examine, versions
from segapsith.operations.schedule import Schedule, program
from segapsith_store import Store
from segapsith_store.feed_states import later
from segapsith_store.queries import subscriptions

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
ITEMS = sample.lines("en")


def lines(n_items: int) -> str:
    return "".join(json.dumps(i) + "\n" for i in ITEMS[:n_items])


# -- schedule ----------------------------------------------------------------------------------


def test_the_schedule_names_everything_absolutely(command: Command, tmp_path: Path) -> None:
    (tmp_path / "segapsith.toml").write_text('store = "my wire.db"\n')
    code, out, _ = command("schedule", "show", "--at", "03:07", "--inbox", "in", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["command"] == [
        *program(), "update", "--nightly", "--quiet", "--wait", "600",
        "--store", str(tmp_path / "my wire.db"), "--config", str(tmp_path / "segapsith.toml"),
        "--inbox", str(tmp_path / "in"),
    ]  # fmt: skip
    assert os.access(program()[0], os.X_OK)
    assert "\n7 3 * * * cd " in found["crontab"]
    assert "OnCalendar=*-*-* 03:07:00" in found["timer"]
    assert "Persistent=true" in found["timer"]
    assert f"User={found['user']}\n" in found["service"]
    code, out, _ = command("schedule", "show")
    assert code == 0
    assert "02:30" in out and "crontab" in out and "[Service]" in out
    for wrong in ("3:15", "24:00", "noon"):
        assert command("schedule", "show", "--at", wrong)[0] == 2


NASTY = ['/srv/100% of $HOME/it\'s "here"/segapsith', "--store", "a b;rm\\x.db", "--inbox", "é"]


def test_cron_and_the_shell_read_the_same_words() -> None:
    made = Schedule(NASTY, "/srv/my wire", "wire")
    line = made.crontab.splitlines()[-1]
    assert not re.search(r"(?<!\\)%", line)
    said = line.split(" ", 5)[5].replace(r"\%", "%")
    assert shlex.split(said) == ["cd", "/srv/my wire", "&&", *NASTY]


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


# -- logs --------------------------------------------------------------------------------------


def test_messages_are_json_lines_if_wanted(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(5) + "junk\n")
    assert command("ingest", "a.jsonl", "--lang", "en", "--quiet")[0] == 0
    for place in (["--log-json", "ingest"], ["ingest", "--log-json"]):
        code, out, err = command(*place, "nowhere", "--quiet")
        (line,) = (json.loads(text) for text in err.splitlines())
        assert (code, out, line["level"]) == (66, "", "error")
        assert "nowhere" in line["message"] and line["at"]
    code, _, err = command("update", "--nightly", "--lang", "en", "--quiet", "--log-json")
    told = [json.loads(text) for text in err.splitlines()]
    assert code == 0
    assert [line["facts"]["step"] for line in told][:2] == ["store", "inbox"]
    assert all(line["facts"]["seconds"] >= 0 for line in told)


def test_messages_go_to_a_file_as_well(command: Command, tmp_path: Path) -> None:
    (tmp_path / "segapsith.toml").write_text('log_file = "wire.log"\n')
    code, _, err = command("ingest", "nowhere\x1b[31m")
    assert code == 66
    assert err.startswith("segapsith: nowhere")
    kept = (tmp_path / "wire.log").read_text()
    assert re.match(r"20\d\d-\S+ error nowhere", kept)
    assert "\x1b" not in kept
    assert command("status", "--log-file", "no/such/place")[0] == 78
    assert command("--log-json", "config", "--json")[0] == 0


def test_debug_shows_where_an_error_came_from(command: Command) -> None:
    for arguments in (("--debug", "status"), ("status", "--debug")):
        code, _, err = command(*arguments)
        assert code == 66
        assert "Traceback" in err and "there is no store" in err
    assert "Traceback" not in command("status")[2]


# -- status ------------------------------------------------------------------------------------

MAY_DIFFER = {"store", "versions", "sqlite_version", "run", "runs", "last_run", "history"}


def test_status_tells_how_the_store_is_doing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(12))
    for store, batch in (("one.db", "5"), ("two.db", "12")):
        os.environ["SEGAPSITH_BATCH_SIZE"] = batch
        assert command("ingest", "a.jsonl", "--lang", "en", "--store", store)[0] == 0
        del os.environ["SEGAPSITH_BATCH_SIZE"]
    one, two = (
        json.loads(command("status", "--json", "--store", s)[1]) for s in ("one.db", "two.db")
    )
    assert one["versions"]["sqlite"] == sqlite3.sqlite_version
    assert one["versions"]["numpy"] and "pyarrow" not in one["versions"]
    assert [run["command"] for run in one["history"]] == ["ingest"]
    same = {name for name in one if name not in MAY_DIFFER and not name.endswith("_at")}
    assert {n: one[n] for n in same} == {n: two[n] for n in same}
    command("feeds", "add", "https://example.org/a", "--store", "one.db")
    full = json.loads(command("status", "--full", "--json", "--store", "one.db")[1])
    assert full["feeds"] == {"subscribed": 1, "due": 1, "failing": 0, "waiting": 0}
    assert full["next_check_at"]
    assert full["sizes"]["file_bytes"] == os.path.getsize(tmp_path / "one.db")
    assert full["sizes"]["bytes_per_document"] == full["sizes"]["file_bytes"] // 12
    assert full["sizes"]["text_bytes"] == sum(
        len(f"{i['title']}{i['text']}".encode()) for i in ITEMS[:12]
    )
    code, out, _ = command("status", "--full", "--store", "one.db")
    assert code == 0
    assert "run              1 ingest done" in out


def test_versions_name_what_is_needed_to_run() -> None:
    found = versions()
    assert {"python", "sqlite", "segapsith", "numpy", "spacy"} <= set(found)
    assert "missing" not in found.values()


# -- doctor ------------------------------------------------------------------------------------


def states(house: Any, **more: Any) -> dict[str, str]:
    """The worst state of each thing that was looked at."""
    worst: dict[str, str] = {}
    with house.open(**more) as wire:
        for finding in examine(wire, now=lambda: house.date):
            if worst.get(finding.what) != "trouble":
                worst[finding.what] = (
                    finding.state if finding.state != "ok" else worst.get(finding.what, "ok")
                )
            assert finding.text
            assert finding.advice or finding.state == "ok"
    return worst


def test_a_healthy_house_has_no_trouble(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    house.date = later(house.date, -3600 * 20)
    found = states(house)
    assert {name for name, state in found.items() if state != "ok"} <= {"sqlite"}
    assert {
        "packages",
        "python",
        "plugins",
        "store",
        "lock",
        "disk",
        "feeds",
        "nights",
        "backup",
    } <= (set(found))


def test_what_is_wrong_is_named_with_what_to_do(house: Any) -> None:
    assert states(house)["store"] == "trouble"  # there is none
    house.drop("a.jsonl", ITEMS[:10])
    with house.open() as wire:
        wire.ingest(ITEMS[:5])
        url = "https://example.org/a"
        subscriptions.add(wire.writer, url)
        wire.writer.change(
            lambda c: c.execute("UPDATE feeds SET failures = 4, error = 'gone'").rowcount
        )
    found = states(house)
    assert (found["nights"], found["feeds"]) == ("note", "note")
    house.night()
    house.pass_day(5)
    found = states(house)
    assert (found["nights"], found["backup"]) == ("note", "note")
    with Store.writing(house.path):
        assert states(house)["lock"] == "note"
    house.path.chmod(0o666)
    assert states(house)["permissions"] == "trouble"
    house.path.chmod(0o644)
    assert states(house, segmenter="nosuch")["plugins"] == "trouble"


def test_a_full_disk_and_a_damaged_store_are_trouble(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    house.night()
    with monkeypatch.context() as patch:
        usage = type("Usage", (), {"free": 1000})()
        patch.setattr("segapsith.operations.doctor.shutil.disk_usage", lambda _: usage)
        assert states(house)["disk"] == "trouble"
    data = bytearray(house.path.read_bytes())
    data[8192:12288] = b"\xff" * 4096
    house.path.write_bytes(data)
    assert states(house)["store"] == "trouble"


def test_doctor_ends_with_1_if_there_is_trouble(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("doctor", "--json")
    assert code == 1
    assert json.loads(out)["well"] is False
    (tmp_path / "a.jsonl").write_text(lines(5))
    command("ingest", "a.jsonl", "--lang", "en")
    code, out, _ = command("doctor", "--json")
    assert (code, json.loads(out)["well"]) == (0, True)
    code, out, _ = command("doctor")
    assert code == 0
    assert "segapsith schedule show --store segapsith.db" in out
    assert command("doctor", "--quiet") == (0, "", "")

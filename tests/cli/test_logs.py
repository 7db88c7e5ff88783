"""Messages: as text or JSON lines, in a file as well, and with a traceback if that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]


def lines(n_items: int) -> str:
    return "".join(json.dumps(item) + "\n" for item in sample.lines("en")[:n_items])


def test_messages_are_json_lines_if_wanted(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(5) + "junk\n")
    assert command("ingest", "a.jsonl", "--lang", "en", "--quiet")[0] == 0
    for place in (["--log-json", "ingest"], ["ingest", "--log-json"]):
        code, out, err = command(*place, "nowhere", "--quiet")
        (line,) = (json.loads(text) for text in err.splitlines())
        assert (code, out, line["level"]) == (66, "", "error")
        assert "nowhere" in line["message"] and line["at"]
    code, _, err = command("update", "--nightly", "--lang", "en", "--quiet", "--log-json")
    logged = [json.loads(text) for text in err.splitlines()]
    assert code == 0
    assert [line["facts"]["step"] for line in logged][:2] == ["fetch", "open"]
    assert all(line["facts"]["seconds"] >= 0 for line in logged)


def test_messages_go_to_a_file_as_well(command: Command, tmp_path: Path) -> None:
    (tmp_path / "segapsith.toml").write_text('log_file = "wire.log"\n')
    code, _, err = command("ingest", "nowhere\x1b[31m")
    assert code == 66
    assert err.startswith("segapsith: nowhere")
    written = (tmp_path / "wire.log").read_text()
    assert re.match(r"20\d\d-\S+ error nowhere", written)
    assert "\x1b" not in written
    assert command("status", "--log-file", "no/such/place")[0] == 78
    assert command("--log-json", "config", "--json")[0] == 0


def test_debug_shows_where_an_error_came_from(command: Command) -> None:
    for arguments in (("--debug", "status"), ("status", "--debug")):
        code, _, err = command(*arguments)
        assert code == 66
        assert "Traceback" in err and "there is no store" in err
    assert "Traceback" not in command("status")[2]

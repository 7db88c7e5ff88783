"""The command line, driven as a user drives it."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

import segapsith
from segapsith.demo import sample
from segapsith.domains.values import PlacementSettings
from segapsith.errors import ConfigurationError
from segapsith.settings import ENGINE, SETTINGS, checked

Command = Callable[..., tuple[int, str, str]]


def answer(command: Command, *arguments: str) -> Any:
    code, out, err = command(*arguments, "--json")
    assert code == 0, err
    return json.loads(out, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def wire_file(tmp_path: Path) -> Path:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(sample.path("en").read_bytes())
    return path


@pytest.mark.slow
def test_from_a_text_to_a_domain(command: Command, wire_file: Path) -> None:
    done = answer(command, "ingest", str(wire_file))
    assert set(done) >= {
        "run", "read", "new", "duplicate", "corrected", "rejected", "units", "units_kept",
        "domains_joined", "domains_new", "seconds",
    }  # fmt: skip
    assert done["read"] == done["new"] + done["duplicate"] + done["corrected"] + done["rejected"]
    status = answer(command, "status")
    assert set(status) >= {
        "store", "schema", "digest", "documents", "units", "domains", "stable_domains", "words",
        "runs", "last_run",
    }  # fmt: skip
    assert status["documents"] == done["new"]
    domains = answer(command, "domains", "--top", "5")
    assert [(-d["units"], d["id"]) for d in domains] == sorted(
        (-d["units"], d["id"]) for d in domains
    )
    assert all(set(w) == {"word", "weight", "occurrences"} for w in domains[0]["words"])
    shown = answer(command, "show", str(domains[0]["id"]))
    assert len(shown["unit_ids"]) == domains[0]["units"]
    assert len(shown["document_ids"]) == domains[0]["documents"]
    assert sum(shown["days"].values()) == domains[0]["units"]
    assert {"history", "near"} <= set(shown)
    code, out, _ = command("verify")
    assert code == 0
    assert "sound" in out
    assert answer(command, "verify")["digest"] == status["digest"]


@pytest.mark.slow
def test_ingesting_twice_changes_nothing(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    before = answer(command, "status")
    again = answer(command, "ingest", str(wire_file))
    assert again["new"] == again["corrected"] == 0
    after = answer(command, "status")
    for name in ("runs", "last_run", "history"):
        before.pop(name), after.pop(name)
    assert after == before


@pytest.mark.slow
def test_deliveries_of_every_kind_are_counted_once(command: Command, tmp_path: Path) -> None:
    lines = sample.path("en").read_bytes().splitlines(keepends=True)[:40]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"".join(lines[:25]))
    with gzip.open(folder / "b.jsonl.gz", "wb") as packed:
        packed.write(b"".join(lines[15:]))
    done = answer(command, "ingest", str(folder))
    status = answer(command, "status")
    assert status["documents"] == done["new"]
    ids = {json.loads(line)["id"] for line in lines}
    assert status["documents"] + status["duplicates"] == len(ids)
    digest = status["digest"]
    (tmp_path / "renamed.txt").write_bytes(b"".join(lines))
    answer(command, "ingest", str(tmp_path / "renamed.txt"), str(folder / "a.jsonl"))
    assert answer(command, "status")["digest"] == digest


@pytest.mark.slow
def test_standard_input_is_read(tmp_path: Path) -> None:
    text = b"The river rose and the flood reached the town below the dam."
    done = subprocess.run(
        [sys.executable, "-m", "segapsith", "ingest", "-", "--store", "s.db", "--json"],
        input=text, capture_output=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["new"] == 1


@pytest.mark.slow
def test_shared_options_may_stand_before_the_command(command: Command, wire_file: Path) -> None:
    code, out, _ = command("--json", "--store", "other.db", "ingest", str(wire_file))
    assert code == 0
    assert json.loads(out)["run"] == 1
    assert Path("other.db").exists()


@pytest.mark.slow
def test_missing_and_unreadable_inputs_are_named_and_the_rest_is_stored(
    command: Command, wire_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"id": "1", "text": "A flood."}\n' * 50)[:-30])
    code, _, err = command("ingest", "nowhere.jsonl", str(wire_file))
    assert code == 66
    assert "nowhere.jsonl" in err
    code, _, err = command("ingest", str(broken), "nowhere.jsonl")
    assert code == 65
    assert "broken.jsonl.gz" in err
    assert answer(command, "status")["documents"] > 100


def test_rejects_are_written_and_strict_says_so(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(
        '{"id": "1", "text": "A flood in the town."}\n{"id": "2"}\nnot json\n[1]\n'
        '{"id": "3", "text": 7}\n{"id": "4", "text": "A strike of drivers."}\n'
    )
    code, _, _ = command("ingest", str(path), "--rejects", "rejects.jsonl")
    assert code == 0
    rejects = [json.loads(line) for line in Path("rejects.jsonl").read_text().splitlines()]
    assert len(rejects) == 4
    assert "line 3" in rejects[1]["name"]
    assert command("ingest", str(path), "--strict")[0] == 65


@pytest.mark.slow
def test_a_dry_run_leaves_the_store_alone(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    digest = answer(command, "status")["digest"]
    code, out, _ = command("ingest", str(sample.path("fr")), "--dry-run")
    assert code == 0
    assert "dry run" in out
    assert answer(command, "status")["digest"] == digest


def test_ready_units_come_as_bags(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "bags.jsonl"
    path.write_text('{"id": "1", "words": {"flood": 2}}\n{"id": "2", "text": "no bag"}\n')
    done = answer(command, "ingest", str(path), "--bag")
    assert (done["new"], done["rejected"]) == (1, 1)


@pytest.mark.slow
def test_forget_undo_and_runs(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    before = answer(command, "status")["digest"]
    answer(command, "ingest", str(sample.path("fr")))
    assert answer(command, "runs", "undo")["run"] == 2
    assert answer(command, "status")["digest"] == before
    assert answer(command, "forget", "en-001")["document"] == "en-001"
    assert command("forget", "en-001")[0] == 66
    assert command("verify")[0] == 0
    runs = answer(command, "runs")
    assert [r["command"] for r in runs] == ["forget", "undo", "ingest", "ingest"]
    assert runs[2]["status"] == "undone"
    assert command("runs", "undo")[0] == 2


@pytest.mark.slow
def test_search_finds_documents_and_domains(command: Command) -> None:
    answer(command, "ingest", str(sample.path("fr")))
    found = answer(command, "search", "grève")
    assert found["documents"]
    assert found["domains"]
    assert answer(command, "search", "GREVE")["documents"] == found["documents"]
    assert answer(command, "search", '"; DROP TABLE domains; --')["documents"] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["documents", "units", "domains", "assignments"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_everything_can_be_exported(
    command: Command, wire_file: Path, what: str, form: str
) -> None:
    if not Path("segapsith.db").exists():
        wire_file.write_bytes(b"".join(wire_file.read_bytes().splitlines(keepends=True)[:12]))
        answer(command, "ingest", str(wire_file))
    code, _, err = command("export", "--what", what, "--to", form, "--output", "out")
    assert code == 0, err
    assert Path("out").stat().st_size > 0


@pytest.mark.slow
def test_exported_assignments_point_into_the_text(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    code, out, _ = command("export", "--to", "jsonl", "--what", "assignments")
    assert code == 0
    texts = {i["id"]: f"{i['title']}\n\n{i['text']}" for i in sample.lines("en")}
    rows = [json.loads(line) for line in out.splitlines()]
    assert {r["document"] for r in rows} == set(texts)
    for row in rows:
        assert set(row) == {"document", "unit", "start", "end", "domain", "topic", "score"}
        assert texts[row["document"]][row["start"] : row["end"]].strip()
    code, out, _ = command("export", "--to", "graphml")
    assert code == 0
    assert out.startswith("<?xml")


def test_settings_say_where_they_come_from(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("segapsith.toml").write_text('lang = "en"\nthreshold = 0.3\n[set]\nmin_words = 9\n')
    monkeypatch.setenv("SEGAPSITH_THRESHOLD", "0.4")
    monkeypatch.setenv("SEGAPSITH_STORE", "env.db")
    shown = answer(command, "config", "--store", "flag.db")
    assert shown["store"] == {"value": "flag.db", "origin": "flag"}
    assert shown["threshold"] == {"value": 0.4, "origin": "environment"}
    assert shown["lang"]["origin"] == "file segapsith.toml"
    assert shown["annotator"]["origin"] == "default"
    assert shown["set.min_words"]["value"] == 9


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("treshold = 1", "did you mean 'threshold'"),
        ('threshold = "high"', "threshold='high' (file segapsith.toml) should be a number from 0"),
        ("threshold = true", "should be a number from 0 to 1"),
        ("threshold = 1.5", "threshold=1.5 (file segapsith.toml) should be a number from 0 to 1"),
        ("threshold = nan", "should be a number from 0 to 1"),
        ("workers = 0", "workers=0 (file segapsith.toml) should be a whole number of at least 1"),
        ("retire_after = -1", "should be a whole number of at least 0"),
        ("keep_daily = 2.5", "should be a whole number of at least 1"),
        ("learn_terms = 3", "should be true or false"),
        ("inbox = 3", "should be a text"),
        ('preset = "mine"', "should be one of"),
        ("= 1", "segapsith.toml"),
    ],
)
def test_a_wrong_configuration_is_explained(command: Command, content: str, says: str) -> None:
    Path("segapsith.toml").write_text(content)
    code, _, err = command("config")
    assert code == 78
    assert says in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("threshold=abc",), "threshold='abc' (flag) should be a number from 0 to 1"),
        (("engine.threshold=2",), "threshold=2 (flag) should be a number from 0 to 1"),
        (("activation_most=few",), "activation_most='few' (flag) should be a whole number"),
        (("prefilter=all",), "prefilter='all' (flag) should be one of none, activation"),
        (("min_words=abc",), "segmenter 'cohesion': min_words='abc' should be a whole number"),
        (("min_words=0",), "segmenter 'cohesion': min_words=0 should be"),
        (("infer=3",), "segmenter 'cohesion': infer=3 should be true or false"),
        (
            ("prune_population=x", "--placement", "chi-sim"),
            "similarity 'chi-sim': prune_population='x' should be 'all' or 'nonzero'",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_named_with_what_was_expected(
    command: Command, arguments: tuple[str, ...], says: str
) -> None:
    code, _, err = command("ingest", str(sample.path("en")), "--set", *arguments)
    assert code == 78
    assert says in err
    assert not Path("segapsith.db").exists()


def test_every_number_has_a_range_and_every_default_lies_in_it() -> None:
    for setting in {**SETTINGS, **ENGINE}.values():
        assert checked(setting, setting.default, "default") == setting.default
        if isinstance(setting.default, int | float) and not isinstance(setting.default, bool):
            assert setting.least is not None, setting.name
            with pytest.raises(ConfigurationError, match="should be a"):
                checked(setting, setting.least - 1, "flag")


def test_what_the_engine_alone_takes_has_its_defaults() -> None:
    fields = {**SETTINGS, **ENGINE}
    for name, default in asdict(PlacementSettings()).items():
        assert fields[name].default == default


def test_python_is_told_of_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'threshold'"):
        segapsith.open(tmp_path / "wire.db", treshold=0.3)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ingest",), 2),
        (("nonsense",), 2),
        (("ingest", "x", "--set", "novalue"), 2),
        (("ingest", "x", "--annotator", "nobody"), 78),
        (("ingest", "x", "--set", "nothing=1"), 78),
        (("ingest", "x", "--set", "min_words=0"), 78),
        (("ingest", "x", "--format", "nobody"), 78),
        (("ingest", "x", "--store", "no/such/dir/s.db"), 73),
        (("ingest", "x", "--store", "."), 73),
        (("status",), 66),
        (("verify",), 66),
        (("show", "1"), 66),
        (("config", "--config", "nowhere.toml"), 78),
        (("export", "--to", "pdf"), 2),
    ],
)
def test_exit_codes(command: Command, arguments: tuple[str, ...], code: int) -> None:
    found, _, err = command(*arguments)
    assert found == code, err
    assert err.strip()
    assert "Traceback" not in err


def test_a_missing_store_is_not_made_by_reading(command: Command) -> None:
    for arguments in (("status",), ("domains",), ("runs", "undo"), ("forget", "x"), ("validate",)):
        assert command(*arguments)[0] == 66
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_foreign_files_are_refused_and_left_alone(command: Command, wire_file: Path) -> None:
    Path("notes.txt").write_text("These are my notes, not a database. " * 100)
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    for name in ("notes.txt", "other.db"):
        before = Path(name).read_bytes()
        for arguments in (("status",), ("verify",), ("ingest", str(wire_file)), ("runs", "undo")):
            code, _, err = command(*arguments, "--store", name)
            assert 0 < code < 126
            assert name in err
        assert Path(name).read_bytes() == before


@pytest.mark.slow
def test_a_damaged_store_is_noticed(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    with sqlite3.connect("segapsith.db") as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.execute("UPDATE words SET occurrences = occurrences + 1 WHERE id = 3")
    store.close()
    code, _, err = command("verify")
    assert code == 1
    assert "should be" in err
    data = bytearray(Path("segapsith.db").read_bytes())
    data[8192:40960] = b"\x5a" * (40960 - 8192)
    Path("segapsith.db").write_bytes(data)
    code, _, err = command("verify")
    assert 0 < code < 126
    assert "Traceback" not in err


def test_a_busy_store_says_so(command: Command, wire_file: Path) -> None:
    from segapsith_store import Store

    with Store.writing("segapsith.db"):
        code, _, err = command("ingest", str(wire_file), "--wait", "0.1")
        assert code == 75
        assert "busy" in err
        assert command("status")[0] == 0


@pytest.mark.slow
def test_a_foreign_transaction_is_waited_for_and_then_named(
    command: Command, wire_file: Path
) -> None:
    answer(command, "ingest", str(wire_file))
    other = sqlite3.connect("segapsith.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    code, _, err = command("ingest", str(sample.path("fr")), "--wait", "0.2")
    assert code == 75
    assert "busy" in err
    other.execute("ROLLBACK")
    other.close()
    assert command("ingest", str(sample.path("fr")))[0] == 0


@pytest.mark.slow
def test_backup_is_a_sound_copy(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    assert command("backup", "copy.db")[0] == 0
    original, copy = answer(command, "status"), answer(command, "status", "--store", "copy.db")
    assert copy["digest"] == original["digest"]
    assert command("verify", "--store", "copy.db")[0] == 0
    assert command("backup", "copy.db")[0] == 73


@pytest.mark.slow
def test_nothing_is_writable_by_others(command: Command, wire_file: Path) -> None:
    before = os.umask(0)
    try:
        answer(command, "ingest", str(wire_file))
        command("report", "--output", "page.html")
        command("backup", "copy.db")
        command("export", "--output", "out.jsonl")
    finally:
        os.umask(before)
    for path in Path().iterdir():
        if path != wire_file and path.name != wire_file.name:
            assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path


@pytest.mark.slow
def test_feed_text_reaches_the_terminal_without_control_characters(
    command: Command, tmp_path: Path
) -> None:
    nasty = "Flood \x1b[31mred\x07 \u202eback\r hidden \x9b1m"
    path = tmp_path / "nasty.jsonl"
    path.write_text(json.dumps({"id": "n\x1b1", "title": nasty, "text": f"{nasty} in the town"}))
    command("ingest", str(path))
    outputs = [
        command("domains"), command("show", "1"), command("search", "flood"),
        command("search", "flood", "--json"), command("domains", "--json"),
        command("ingest", "n\x1b[2Jowhere"), command("forget", "x\x1b[0m"),
    ]  # fmt: skip
    for _, out, err in outputs:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out + err)


VECTORS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</style><script>alert(1)</script>",
    "{{ 7*7 }}",
    "&lt;b&gt;",
    "<iframe srcdoc='<script>'></iframe>",
]


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.update(value or "" for name, value in attrs if name in ("href", "src"))


@pytest.mark.slow
def test_the_report_escapes_whatever_a_feed_says(command: Command, tmp_path: Path) -> None:
    """Each vector stands in a story of its own, so that its headline is shown."""
    path = tmp_path / "nasty.jsonl"
    stories = sample.lines("en")[:100:5]
    path.write_text(
        "\n".join(
            json.dumps({"id": f"{v}{i}", "title": v, "text": stories[i]["text"], "source": v})
            for i, v in enumerate(VECTORS)
        )
    )
    command("ingest", str(path))
    assert command("report", "--output", "page.html", "--min-units", "1")[0] == 0
    html = Path("page.html").read_text(encoding="utf-8")
    found = _Elements()
    found.feed(html)
    assert not found.tags & {"script", "img", "iframe", "object", "link"}
    assert all(re.fullmatch(r"#[a-z]+(-\d+)?", link) for link in found.links), found.links
    assert not {name for name in found.attributes if name.startswith("on") or name == "style"}
    assert "default-src 'none'" in html
    for vector in VECTORS:
        assert str(escape(vector)) in html, vector  # shown as it stands, not run


@pytest.mark.slow
def test_the_demo_is_the_whole_line(command: Command) -> None:
    code, out, err = command("demo", "--store", "demo.db")
    assert code == 0, err
    assert "B-cubed F1" in out
    assert "kappa" in out
    assert Path("demo.html").exists()
    assert command("verify", "--store", "demo.db")[0] == 0


@pytest.mark.slow
def test_the_demo_differs_with_another_annotator(command: Command) -> None:
    ours = answer(command, "demo", "--store", "ours.db")
    other = answer(command, "demo", "--store", "spacy.db", "--annotator", "spacy")
    assert other["status"]["digest"] != ours["status"]["digest"]
    assert other["status"]["documents"] == ours["status"]["documents"]
    assert command("verify", "--store", "spacy.db")[0] == 0


@pytest.mark.slow
def test_validation_keeps_the_contract(command: Command, wire_file: Path) -> None:
    answer(command, "ingest", str(wire_file))
    found = answer(command, "validate", "--min-units", "5")
    assert set(found) >= {
        "run", "units", "share", "domains", "clusters", "links", "coverage", "kappa", "mantel",
        "ari", "nmi",
    }  # fmt: skip
    assert set(found["kappa"]) == {"greedy", "hungarian", "optimal", "random"}
    assert set(found["mantel"]) >= {"z", "expected", "sd", "z_max", "p", "permutations"}
    assert found["kappa"]["optimal"] >= found["kappa"]["greedy"]
    assert command("validate", "--min-units", "5", "--fail-under", "kappa=1.01")[0] == 76
    assert command("validate", "--min-units", "5", "--fail-under", "kappa=0.1")[0] == 0
    assert command("validate", "--min-units", "5", "--clusterer", "nobody")[0] == 78
    empty = answer(command, "validate", "--min-units", "100000")
    assert empty["kappa"]["greedy"] is None
    assert command("validate", "--fail-under", "beauty=1")[0] == 2


@pytest.mark.slow
def test_quiet_is_quiet(command: Command, wire_file: Path) -> None:
    for arguments in (
        ("ingest", str(wire_file)), ("status",), ("domains",), ("verify",), ("runs",),
        ("validate", "--min-units", "5"), ("report",), ("plugins",), ("config",),
    ):  # fmt: skip
        code, out, err = command(*arguments, "--quiet")
        assert (code, out, err) == (0, "", ""), arguments

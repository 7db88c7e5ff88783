"""Documents are read once, counted, and stored whatever else fails."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


def test_from_a_text_to_a_domain(command: Command, answer: Answer, wire_file: Path) -> None:
    done = answer("ingest", str(wire_file))
    assert set(done) >= {
        "run", "read", "new", "duplicate", "corrected", "rejected", "units", "units_kept",
        "domains_joined", "domains_new", "seconds",
    }  # fmt: skip
    assert done["read"] == done["new"] + done["duplicate"] + done["corrected"] + done["rejected"]
    status = answer("status")
    assert set(status) >= {
        "store", "schema", "digest", "documents", "units", "domains", "stable_domains", "words",
        "runs", "last_run",
    }  # fmt: skip
    assert status["documents"] == done["new"]
    domains = answer("domains", "--top", "5")
    assert [(-d["units"], d["id"]) for d in domains] == sorted(
        (-d["units"], d["id"]) for d in domains
    )
    assert all(set(w) == {"word", "weight", "occurrences"} for w in domains[0]["words"])
    shown = answer("show", str(domains[0]["id"]))
    assert len(shown["unit_ids"]) == domains[0]["units"]
    assert len(shown["document_ids"]) == domains[0]["documents"]
    assert sum(shown["days"].values()) == domains[0]["units"]
    assert {"history", "near"} <= set(shown)
    code, out, _ = command("verify")
    assert code == 0
    assert "sound" in out
    assert answer("verify")["digest"] == status["digest"]


@pytest.mark.slow
def test_ingesting_twice_changes_nothing(answer: Answer, wire_file: Path) -> None:
    answer("ingest", str(wire_file))
    before = answer("status")
    again = answer("ingest", str(wire_file))
    assert again["new"] == again["corrected"] == 0
    after = answer("status")
    for name in ("runs", "last_run", "history"):
        before.pop(name), after.pop(name)
    assert after == before


def test_deliveries_of_every_kind_are_counted_once(answer: Answer, tmp_path: Path) -> None:
    lines = sample.path("en").read_bytes().splitlines(keepends=True)[:40]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"".join(lines[:25]))
    with gzip.open(folder / "b.jsonl.gz", "wb") as packed:
        packed.write(b"".join(lines[15:]))
    done = answer("ingest", str(folder))
    status = answer("status")
    assert status["documents"] == done["new"]
    ids = {json.loads(line)["id"] for line in lines}
    assert status["documents"] + status["duplicates"] == len(ids)
    digest = status["digest"]
    (tmp_path / "renamed.txt").write_bytes(b"".join(lines))
    answer("ingest", str(tmp_path / "renamed.txt"), str(folder / "a.jsonl"))
    assert answer("status")["digest"] == digest


@pytest.mark.slow
def test_standard_input_is_read(tmp_path: Path) -> None:
    text = b"The river rose and the flood reached the town below the dam."
    done = subprocess.run(
        [sys.executable, "-m", "segapsith", "ingest", "-", "--store", "s.db", "--json"],
        input=text, capture_output=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["new"] == 1


@pytest.mark.slow
def test_missing_and_unreadable_inputs_are_named_and_the_rest_is_stored(
    command: Command, answer: Answer, wire_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"id": "1", "text": "A flood."}\n' * 50)[:-30])
    code, _, err = command("ingest", "nowhere.jsonl", str(wire_file))
    assert code == 66
    assert "nowhere.jsonl" in err
    code, _, err = command("ingest", str(broken), "nowhere.jsonl")
    assert code == 65
    assert "broken.jsonl.gz" in err
    assert answer("status")["documents"] > 100


@pytest.mark.slow
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


def test_inputs_that_all_fail_make_neither_a_store_nor_a_run(
    command: Command, tmp_path: Path
) -> None:
    code, out, err = command("ingest", "nowhere.jsonl")
    assert (code, out) == (66, "")
    assert "nowhere.jsonl" in err
    assert not list(tmp_path.glob("*.db*"))


@pytest.mark.slow
def test_the_first_rejects_are_named_with_the_way_to_all_of_them(
    command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(
        '{"id": "1", "text": "A flood in the town."}\n' + '{"id": "2"}\n' * 2 + "[\n" * 3
    )
    code, _, err = command("ingest", str(path))
    assert code == 0
    assert err.count("rejected: ") == 3 and "line 4" in err
    assert "2 more rejected; --rejects FILE writes all of them" in err
    assert "2 more rejected; they are in r.jsonl" in command(
        "ingest", str(path), "--dry-run", "--rejects", "r.jsonl"
    )[2]  # fmt: skip


@pytest.mark.slow
def test_a_dry_run_leaves_the_store_alone(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file))
    digest = answer("status")["digest"]
    code, out, _ = command("ingest", str(sample.path("fr")), "--dry-run")
    assert code == 0
    assert "dry run" in out
    assert answer("status")["digest"] == digest


def test_ready_units_come_as_bags(answer: Answer, tmp_path: Path) -> None:
    path = tmp_path / "bags.jsonl"
    path.write_text('{"id": "1", "words": {"flood": 2}}\n{"id": "2", "text": "no bag"}\n')
    done = answer("ingest", str(path), "--bag")
    assert (done["new"], done["rejected"]) == (1, 1)


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


def test_a_busy_store_says_so(command: Command, wire_file: Path) -> None:
    from segapsith_store import Store

    with Store.writing("segapsith.db"):
        code, _, err = command("ingest", str(wire_file), "--wait", "0.1")
        assert code == 75
        assert "busy" in err
        assert command("status")[0] == 0


@pytest.mark.slow
def test_a_foreign_transaction_is_waited_for_and_then_named(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file))
    other = sqlite3.connect("segapsith.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    code, _, err = command("ingest", str(sample.path("fr")), "--wait", "0.2")
    assert code == 75
    assert "busy" in err
    other.execute("ROLLBACK")
    other.close()
    assert command("ingest", str(sample.path("fr")))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-", "--follow", "--dry-run"), "stores nothing"),
        (("a.jsonl", "b.jsonl", "--follow"), "one file"),
        ((".", "--follow"), "one file"),
        (("-", "--follow", "--full-text"), "leave out --full-text"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    command: Command, arguments: tuple[str, ...], reason: str
) -> None:
    code, _, err = command("ingest", *arguments)
    assert (code, reason in err) == (2, True), err


def test_a_missing_file_cannot_be_followed(command: Command) -> None:
    code, _, err = command("ingest", "missing.jsonl", "--follow")
    assert (code, "no such file" in err) == (66, True)
    assert not Path("segapsith.db").exists()


def test_a_followed_input_with_a_format_of_whole_files_is_refused(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "story.txt").write_text("The river rose.\n")
    code, _, err = command("ingest", "story.txt", "--follow")
    assert (code, "cannot be followed" in err) == (65, True)

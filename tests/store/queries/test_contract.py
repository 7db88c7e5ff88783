"""The JSON of answers has the keys that other programs rely on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]

WORD = {"word", "weight", "occurrences"}
DOMAIN = {"id", "label", "units", "documents", "first", "last", "words"}
STATUS = {
    *("store", "schema", "digest", "documents", "units", "domains", "stable_domains", "words"),
    *("runs", "last_run"),
}
INGEST = {
    *("run", "read", "new", "duplicate", "corrected", "rejected", "units", "units_kept"),
    *("domains_joined", "domains_new", "seconds"),
}
VALIDATE = {
    *("run", "units", "share", "domains", "clusters", "links", "coverage", "kappa", "mantel"),
    *("ari", "nmi"),
}


@pytest.fixture
def answered(command: Command, sample_path: Path, tmp_path: Path) -> Callable[..., Any]:
    """Run a command on a copy of the sample store and return its JSON."""
    (tmp_path / "wire.db").write_bytes(sample_path.read_bytes())

    def answer(*arguments: str) -> Any:
        code, out, err = command(*arguments, "--store", str(tmp_path / "wire.db"), "--json")
        assert code == 0, err
        return json.loads(out)

    return answer


def test_answers_have_the_required_keys(answered: Callable[..., Any], tmp_path: Path) -> None:
    assert answered("status").keys() >= STATUS
    domains = answered("domains")
    assert all(domain.keys() >= DOMAIN and domain["words"][0].keys() >= WORD for domain in domains)
    assert [d["units"] for d in domains] == sorted((d["units"] for d in domains), reverse=True)
    shown = answered("show", str(domains[0]["id"]))
    assert shown.keys() >= DOMAIN | {"unit_ids", "document_ids", "days", "history", "near"}
    topics = answered("topics")
    assert all(topic.keys() >= {"id", "label", "domains", "units", "words"} for topic in topics)
    assert all(isinstance(number, int) for topic in topics for number in topic["domains"])


def test_commands_that_write_have_the_required_keys(
    answered: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, sample.lines("en")[80:90])))
    assert answered("ingest", str(tmp_path / "more.jsonl")).keys() >= INGEST
    validated = answered("validate", "--min-units", "1")
    assert validated.keys() >= VALIDATE
    assert validated["links"].keys() >= {"similarity", "entropy"}
    assert validated["kappa"].keys() >= {"greedy", "hungarian", "optimal", "random"}
    assert validated["mantel"].keys() >= {"z", "expected", "sd", "z_max", "p", "permutations"}


def test_segments_have_the_required_keys(answered: Callable[..., Any], tmp_path: Path) -> None:
    text = sample.lines("en")[0]["text"]
    (tmp_path / "story.txt").write_text(str(text))
    segmented = answered("segment", str(tmp_path / "story.txt"), "--lang", "en")
    assert segmented.keys() >= {"units", "curve"}
    required = {"start", "end", "cohesion", "kept", "words", "inferred"}
    assert all(unit.keys() >= required for unit in segmented["units"])


def test_exported_assignments_have_the_required_keys(command: Command, sample_path: Path) -> None:
    code, out, _ = command("export", "--what", "assignments", "--store", str(sample_path))
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and lines
    required = {"document", "unit", "start", "end", "domain", "topic", "score"}
    assert all(line.keys() >= required for line in lines)


@pytest.mark.parametrize("what", ["documents", "units", "domains", "topics", "network"])
@pytest.mark.parametrize("to", ["jsonl", "csv"])
def test_every_subject_is_exported(command: Command, sample_path: Path, what: str, to: str) -> None:
    code, out, err = command("export", "--what", what, "--to", to, "--store", str(sample_path))
    assert code == 0, err
    assert out.count("\n") > 1

"""A paper can name exactly which program and which store it used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segapsith.cli import cite

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]
ROOT = Path(__file__).parents[2]


def test_every_form_has_digest_versions_and_settings(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file), "--as-units")
    digest = answer("status")["digest"]
    facts = answer("cite")
    assert facts["store"]["digest"] == digest
    assert facts["settings"]["segmenter"] == "none"
    assert {"segapsith", "python", "numpy"} <= facts["versions"].keys()
    assert json.loads(command("cite", "--to", "json")[1]) == facts
    for form in ("text", "bibtex"):
        _, text, _ = command("cite", "--to", form)
        assert digest in text
        assert "segmenter none" in text
        assert facts["version"] in text
    assert command("cite", "--to", "bibtex")[1].startswith("@software{segapsith,")
    assert command("cite", "--to", "roman")[0] == 2


def test_without_a_store_the_program_is_cited(answer: Answer) -> None:
    assert answer("cite")["store"] is None


def test_the_reference_agrees_with_the_citation_file() -> None:
    file = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\ntitle: {cite.TITLE}\n" in file
    assert f"- name: {cite.AUTHOR}\n" in file
    titles = re.findall(r"^    title: (.*)$", file, re.MULTILINE)
    assert titles[0] in cite.METHODS

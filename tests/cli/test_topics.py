"""The command `topics link`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


def test_links_across_languages_are_proposals(command: Command, answer: Answer) -> None:
    for lang in ("de", "es"):
        assert command("ingest", str(sample.path(lang)), "--store", "s.db")[0] == 0
    assert answer("topics", "link", "--across", "--store", "s.db") == []  # not grouped yet
    assert command("topics", "--store", "s.db")[0] == 0
    links = answer("topics", "link", "--across", "--limit", "3", "--store", "s.db")
    assert len(links) == 3
    assert all(link["proposal"] and link["left"]["lang"] != link["right"]["lang"] for link in links)
    code, out, _ = command("topics", "link", "--across", "--store", "s.db")
    assert code == 0
    assert out.startswith("proposal")


def test_link_needs_to_know_between_what(command: Command) -> None:
    code, _, err = command("topics", "link", "--store", "s.db")
    assert code == 2
    assert "--across" in err

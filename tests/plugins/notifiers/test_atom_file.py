"""The Atom file: valid, newest first, each id once, never more than its limit."""

from __future__ import annotations

from pathlib import Path

import feedparser
import pytest

from segapsith.errors import ConfigurationError, DeliveryError
from segapsith.model import Notice
from segapsith_plugins.notifiers.atom_file import AtomFile


def test_a_feed_reader_reads_the_file(tmp_path: Path, notices: list[Notice]) -> None:
    path = tmp_path / "news.atom"
    AtomFile(path=str(path), title="Desk & co").send(notices)
    feed = feedparser.parse(path.read_bytes())
    assert not feed.bozo and feed.feed.title == "Desk & co"
    assert [e.title for e in feed.entries] == [" ".join(n.title.split()) for n in notices]
    assert feed.entries[0].updated == notices[0].at and feed.entries[0].tags[0].term == "alarm"


def test_entries_are_added_before_the_old_ones_and_never_twice(
    tmp_path: Path, notices: list[Notice]
) -> None:
    path = tmp_path / "news.atom"
    atom = AtomFile(path=str(path), most=3)
    atom.send(notices)
    atom.send(notices)
    assert len(feedparser.parse(path.read_bytes()).entries) == 2
    for n in range(3):
        atom.send([Notice(f"later/{n}", "rising", f"later {n}", at=notices[0].at)])
    titles = [entry.title for entry in feedparser.parse(path.read_bytes()).entries]
    assert titles == ["later 2", "later 1", "later 0"]
    assert [p.name for p in tmp_path.iterdir()] == ["news.atom"]


def test_failures_are_named(tmp_path: Path, notices: list[Notice]) -> None:
    with pytest.raises(ConfigurationError, match="needs path"):
        AtomFile().send(notices)
    with pytest.raises(DeliveryError, match="missing"):
        AtomFile(path=str(tmp_path / "missing" / "a.atom")).send(notices)
    with pytest.raises(ValueError, match="most=0"):
        AtomFile(most=0)

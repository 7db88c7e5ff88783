"""Labels of a store: computed when the evidence changes, never empty, never twice the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.model import Subject
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve
from segapsith_plugins.annotators import simplemma_words
from segapsith_plugins.segmenters import cohesion


def labels_of(wire: Wire) -> dict[int, str]:
    return {domain.id: domain.label for domain in wire.domains()}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labels") / "w.db"
    with segapsith.open(path) as wire:
        wire.ingest([*sample.lines("en")[:90], *sample.lines("fr")[:40]])
        wire.topics()
    return path


@pytest.fixture
def wire(learned: Path, tmp_path: Path) -> Any:
    path = tmp_path / "copy.db"
    path.write_bytes(learned.read_bytes())
    with segapsith.open(path) as opened:
        yield opened


def test_every_label_is_there_and_no_two_are_equal(wire: Wire) -> None:
    for labels in (list(labels_of(wire).values()), [t.label for t in wire.topics()]):
        assert all(labels)
        assert len({label.casefold() for label in labels}) == len(labels)


def test_domains_have_headlines_of_their_own_stories_in_both_languages(wire: Wire) -> None:
    titles = {
        row[0] for row in wire.read(lambda store: list(store.rows("SELECT title FROM versions")))
    }
    for lang in ("en", "fr"):
        named = [domain.label for domain in wire.domains(lang=lang, min_units=3)]
        assert sum(label in titles for label in named) >= len(named) / 2


def test_a_name_given_by_a_person_wins_until_it_is_taken_back(wire: Wire) -> None:
    first = wire.domains()[0]
    wire.domains.rename(first.id, "My name")
    assert labels_of(wire)[first.id] == "My name"
    wire.ingest(sample.lines("en")[90:100])
    assert labels_of(wire)[first.id] == "My name"
    wire.domains.rename(first.id, "")
    assert labels_of(wire)[first.id] not in ("", "My name")
    topic = wire.topics(regroup=False)[0]
    wire.topics.rename(topic.id, "My topic")
    assert {t.id: t.label for t in wire.topics()}[topic.id] == "My topic"


def test_labels_change_neither_the_digest_nor_without_evidence(wire: Wire) -> None:
    digest, labels = wire.status().digest, labels_of(wire)
    wire.writer.change(
        lambda c: c.execute("INSERT INTO unlabelled SELECT id FROM domains").rowcount
    )
    assert labels_of(wire) == labels
    assert wire.status().digest == digest


def test_undoing_a_run_brings_the_labels_back(wire: Wire) -> None:
    domains, topics = labels_of(wire), {t.id: t.label for t in wire.topics()}
    wire.ingest(sample.lines("en")[90:130])
    wire.topics()
    wire.runs.undo()
    wire.runs.undo()
    assert labels_of(wire) == domains
    assert {t.id: t.label for t in wire.topics(regroup=False)} == topics


def test_nothing_of_a_forgotten_story_is_left_in_a_label(wire: Wire) -> None:
    titles = dict(
        wire.read(
            lambda store: list(
                store.rows(
                    "SELECT v.title, d.uid FROM versions v JOIN documents d ON d.id = v.document"
                )
            )
        )
    )
    number, label = next((n, label) for n, label in labels_of(wire).items() if label in titles)
    wire.forget(titles[label])
    stored = dict(wire.writer.rows("SELECT id, label FROM domains"))
    assert label not in stored.values()  # before any label is computed again, too
    assert label not in labels_of(wire).values()
    assert number in stored


def test_an_earlier_moment_has_the_labels_of_then(wire: Wire) -> None:
    before, run = labels_of(wire), wire.runs()[0].id
    wire.ingest(sample.lines("en")[90:130])
    then = {domain.id: domain.label for domain in wire.domains(as_of=run)}
    assert then.keys() == before.keys()
    assert all(then.values())
    same = [number for number, label in then.items() if before[number] == label]
    assert len(same) > len(then) / 2


def test_units_without_text_are_named_by_their_words() -> None:
    units = [
        {"id": str(n), "date": "2026-03-01", "words": {"storm": 3, "coast": 2, f"place{n % 2}": 1}}
        for n in range(8)
    ]
    with segapsith.open(":memory:") as wire:
        wire.learn(units)
        assert all("storm" in label or "coast" in label for label in labels_of(wire).values())


def test_stories_without_a_title_are_named_by_their_first_sentence() -> None:
    text = "The storm reached the northern coast last night. Roads are closed along the coast."
    with segapsith.open(":memory:", lang="en") as wire:
        wire.ingest([{"id": "1", "text": text, "title": ""}])
        assert list(labels_of(wire).values()) == ["The storm reached the northern coast last night"]


def test_stories_with_the_same_headline_in_two_domains_have_two_labels() -> None:
    stories = [
        ("Mayor opens the long meeting", "The council raised taxes on houses and gardens. " * 6),
        (
            "Mayor opens the long meeting",
            "Scientists found penguins near volcanoes and glaciers. " * 6,
        ),
    ]
    with segapsith.open(":memory:", lang="en", duplicate_window=0, threshold=0.9) as wire:
        wire.ingest([{"id": str(n), "title": t, "text": x} for n, (t, x) in enumerate(stories)])
        labels = list(labels_of(wire).values())
        assert len(set(labels)) == len(labels) > 1


class _Shouting:
    """A labeller of somebody else."""

    def label(self, subject: Subject) -> str:
        return f"{subject.kind.upper()} {next(iter(subject.words), '')}"


class _Plugin:
    @hookimpl
    def register_labellers(self) -> dict[str, type[_Shouting]]:
        return {"shouting": _Shouting}


def test_another_labeller_names_everything_again(learned: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(learned.read_bytes())
    registry = load_plugins(_Plugin(), simplemma_words, cohesion, installed=False)
    settings = resolve({"labeller": "shouting"}, environment={})
    with Wire(path, settings, registry) as wire:
        wire.ingest(sample.lines("en")[90:92])
        assert all(label.startswith("DOMAIN ") for label in labels_of(wire).values())
        wire.topics(regroup=False)
        assert all(t.label.startswith("TOPIC ") for t in wire.topics(regroup=False))
    with segapsith.open(path) as wire:
        wire.ingest(sample.lines("en")[92:94])
        assert not any(label.startswith("DOMAIN ") for label in labels_of(wire).values())

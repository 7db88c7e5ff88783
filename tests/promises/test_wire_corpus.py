"""The readers against a corpus of made files: all is found in sound ones, none harms when damaged.

The long form is `scripts/bench feeds`, with thousands of files.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from segapsith.io.inputs import Inputs
from segapsith.model import Document, Reject
from segapsith.plugin.contracts import Source
from segapsith.plugin.registry import load_plugins


def _corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "wire_corpus", Path(__file__).with_name("wire_corpus.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


wires = _corpus()


@pytest.fixture(scope="module")
def known() -> dict[str, Source]:
    registry = load_plugins()
    return {name: registry.make("source", name) for name in registry.names("source")}


def read(path: Path, known: dict[str, Source]) -> tuple[list[Document], list[str]]:
    inputs = Inputs([str(path)], known)
    found = list(inputs.items())
    refused = [i.reason for i in found if isinstance(i, Reject)] + [str(f) for f in inputs.failures]
    return [i for i in found if isinstance(i, Document)], refused


def test_the_corpus_is_the_same_each_time_and_has_every_kind() -> None:
    made = list(wires.corpus(7, 58))
    assert [one.data for one in made] == [one.data for one in wires.corpus(7, 58)]
    assert {one.source for one in made} == {"feed", "newsml", "nitf", "ninjs", "anpa"}


@pytest.mark.slow
def test_every_story_of_every_sound_file_is_found(tmp_path: Path, known: dict[str, Source]) -> None:
    path = tmp_path / "file"
    for made in wires.corpus(2, 290):
        path.write_bytes(made.data)
        documents, refused = read(path, known)
        wrong = wires.missing(made, [(d.title, d.body) for d in documents])
        assert not wrong and not refused, (made.name, made.habits, wrong, refused)


def test_a_reader_that_misses_something_is_noticed() -> None:
    made = next(iter(wires.corpus(3, 1)))
    whole = [(story.title, "\n".join(story.paragraphs)) for story in made.stories]
    assert not wires.missing(made, whole)
    assert wires.missing(made, whole[1:])
    assert wires.missing(made, [(title, body[:-5]) for title, body in whole])
    assert wires.missing(made, [(title, f"<p>{body}</p>") for title, body in whole])


@pytest.mark.slow
def test_damaged_files_are_recovered_or_reported_soon(
    tmp_path: Path, known: dict[str, Source]
) -> None:
    path = tmp_path / "file"
    sound = [made.data for made in wires.corpus(4, 58)]
    chance = random.Random(4)
    for number in range(290):
        path.write_bytes(wires.broken(sound[number % len(sound)], chance, sound))
        begin = time.process_time()
        documents, refused = read(path, known)
        assert documents or refused, number
        assert time.process_time() - begin < 15, number  # quadratic work would take hours

"""Bytes that a fuzzer found interesting, or that once raised: each is read or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from segapsith.plugin.contracts import example_of

from . import fuzz_targets

CORPUS = Path(__file__).parent / "corpus"
TARGETS = fuzz_targets.targets()


@pytest.mark.parametrize("name", TARGETS)
def test_every_kept_input_is_read_or_refused_in_words(name: str) -> None:
    files = sorted((CORPUS / name).iterdir())
    assert files
    for path in files:
        fuzz_targets.survives(TARGETS[name], path.read_bytes())


def test_no_target_of_the_corpus_is_unknown() -> None:
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()


def test_a_fault_is_noticed() -> None:
    def faulty(data: bytes) -> None:
        data.decode("ascii")

    with pytest.raises(UnicodeDecodeError):
        fuzz_targets.survives(faulty, b"\xff")


def test_examples_of_sources_give_stories() -> None:
    """The seeds reach the inside of the readers."""
    for source in fuzz_targets.sources().values():
        example = example_of(source)
        assert not example or fuzz_targets.stories(source, example) > 0

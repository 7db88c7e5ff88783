"""Prepared archives give the store of the archives themselves, whoever prepares them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.api.factory import Factory
from segapsith.api.preparation import Preparation, folder, portions, prepare, prepare_with
from segapsith.api.preparation.portions import FileGroup, InputFile, groups
from segapsith.api.preparation.tasks import prepared_items
from segapsith.demo import sample
from segapsith.errors import BusyError, InputError, SegapsithError, UsageError
from segapsith.intake import fingerprints, language
from segapsith.intake.documents import language_of
from segapsith.intake.language import language_version
from segapsith.io.shards import read_header
from segapsith.model import Document, document_of
from segapsith.settings import resolve
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

SHARD = 30
"""Stories of a shard in these tests."""

USUAL = portions.STORIES


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "STORIES", SHARD)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two languages, several formats, a folder, units without text, items that cannot be read."""
    monkeypatch.chdir(tmp_path)
    english = sample.path("en").read_text("utf-8").splitlines()
    Path("en.jsonl").write_text("\n".join(english[:70]) + "\n{broken\n", "utf-8")
    whole = gzip.compress(sample.path("fr").read_bytes(), mtime=0)
    Path("fr.jsonl.gz").write_bytes(whole[: len(whole) * 2 // 3])  # ends in a story
    days = Path("days")
    days.mkdir()
    samples = Path(__file__).parents[1] / "samples"
    for name in ("newsml/g2_message.xml", "anpa/anpa_english.txt", "feed/broken_rss.xml"):
        days.joinpath(Path(name).name).write_bytes((samples / name).read_bytes())
    days.joinpath("empty.txt").write_bytes(b"")
    units = [
        {"id": "u1", "date": "2026-03-02", "words": {"river": 2, "flood": 1}},
        {"id": "kill", "title": "Mill", "text": "The mill stands.", "status": "canceled"},
        {"title": "No id", "text": "The prime minister came to the river\x00 on Monday."},
        {"id": "void", "text": "  "},
    ]
    days.joinpath("units.jsonl").write_text("\n".join(map(json.dumps, units)), "utf-8")
    Path("rest.jsonl").write_text("\n".join(english[60:]), "utf-8")
    return ["en.jsonl", "fr.jsonl.gz", "days", "rest.jsonl"]


def outcome(store: str, names: list[str], **settings: Any) -> tuple[Any, ...]:
    """The digest after ingesting inputs, and what the run counted."""
    with segapsith.open(store, **settings) as wire:
        inputs = wire.factory.inputs(names)
        summary = wire.ingest(inputs)
        counts = (summary.read, summary.new, summary.duplicate, summary.corrected)
        assert wire.verify().sound
        return wire.status().digest, *counts, summary.rejected, summary.units


def shards(output: str = "shards") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(output).iterdir())}


# -- the same store --------------------------------------------------------------------------


def test_the_store_is_that_of_the_archive(archive: list[str]) -> None:
    done = prepare(archive, "shards")
    raw, prepared = outcome("raw.db", archive), outcome("prepared.db", ["shards"])
    assert raw == prepared
    assert done.rejected > 0 and done.stories + done.rejected >= raw[1]
    assert [str(failure) for failure in done.failures] == [
        (
            "fr.jsonl.gz: could not be read to the end: Compressed file ended before the"
            " end-of-stream marker was reached"
        )
    ]
    assert done.shards == done.written == len(shards()) > 4


def test_the_words_of_prepared_texts_are_not_found_again(
    archive: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.remove("days")  # it has a story that its sender takes back, which gets another title
    prepare(archive, "shards")
    expected = outcome("raw.db", archive)

    def forbidden(*_: Any) -> Any:
        raise AssertionError("this was prepared")

    monkeypatch.setattr(SimplemmaWords, "annotate", forbidden)
    monkeypatch.setattr(fingerprints, "signature", forbidden)
    monkeypatch.setattr(language, "_model", forbidden)
    assert outcome("prepared.db", ["shards"]) == expected


@pytest.mark.parametrize(
    "settings", [{"annotator": "spacy"}, {"lang": "fr"}, {"segmenter": "paragraphs"}], ids=str
)
def test_the_store_is_the_same_under_other_settings(
    archive: list[str], settings: dict[str, Any]
) -> None:
    reading = {name: value for name, value in settings.items() if name != "segmenter"}
    prepare(archive, "shards", **reading)
    assert outcome("raw.db", archive, **settings) == outcome("shard.db", ["shards"], **settings)


@pytest.mark.parametrize(
    ("prepared", "used", "reason"),
    [
        ({}, {"annotator": "spacy"}, "prepared with simplemma .*; the annotator here is spacy "),
        ({"annotator": "spacy"}, {}, "prepared with spacy .*; the annotator here is simplemma "),
        ({}, {"lang": "en"}, "prepared for the language 'fr', but read as 'en'"),
    ],
    ids=["spacy", "simplemma", "language"],
)
def test_what_other_settings_prepared_is_read_again_with_a_warning(
    archive: list[str],
    prepared: dict[str, Any],
    used: dict[str, Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    prepare(archive, "shards", **prepared)
    assert outcome("raw.db", archive, **used) == outcome("shard.db", ["shards"], **used)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any(warning.startswith("prepared texts are read again: ") for warning in warnings)
    assert any(re.search(reason, warning) for warning in warnings), warnings


def test_shards_of_other_rules_are_read_again(
    archive: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(archive, "shards")
    expected = outcome("raw.db", archive)
    monkeypatch.setattr("segapsith_plugins.sources.shards.texts_version", lambda: "rules 9")
    assert outcome("prepared.db", ["shards"]) == expected
    assert caplog.text.count("here it is rules 9: texts are read again") == 1


def test_a_text_that_changed_after_it_was_prepared_is_read_as_it_is(archive: list[str]) -> None:
    """As with --full-text, which puts the article in place of its summary."""
    prepare(archive, "shards")

    def changed(document: Document) -> Document:
        if not document.body:
            return document
        return replace(document, body=f"{document.body} The harbour froze.")

    digests = []
    for names in (archive, ["shards"]):
        with segapsith.open(f"{names[0]}.db") as wire:
            items = wire.factory.inputs(names).items()
            wire.ingest(changed(i) if isinstance(i, Document) else i for i in items)  # type: ignore[misc]  # files have no feed states
            digests.append(wire.status().digest)
    assert digests[0] == digests[1]


def test_shards_can_be_read_by_workers_and_prepared_again(archive: list[str]) -> None:
    prepare(archive, "shards")
    prepare(["shards"], "again")
    raw = outcome("raw.db", archive)
    assert outcome("two.db", ["shards"], workers="processes:2") == raw
    assert outcome("again.db", ["again"])[0] == raw[0]


# -- the same shards -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("workers", ["processes:2", "dask:1", "dask:2", "dask:4"])
def test_the_shards_are_the_same_for_any_workers(
    archive: list[str], workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if workers.startswith("dask"):
        pytest.importorskip("distributed")
    monkeypatch.setattr(portions, "STORIES", USUAL)  # other processes have shards of this size
    monkeypatch.setattr(portions, "GROUP_FILES", 1)
    prepare(archive, "one")
    done = prepare(archive, "shards", workers=workers)
    assert done.shards > 4 and shards() == shards("one")


def test_the_same_command_again_writes_nothing(archive: list[str]) -> None:
    first = prepare(archive, "shards")
    before = {path: path.stat().st_mtime_ns for path in Path("shards").iterdir()}
    again = prepare(archive, "shards")
    assert (again.written, again.kept, again.stories) == (0, first.shards, first.stories)
    assert before == {path: path.stat().st_mtime_ns for path in Path("shards").iterdir()}
    assert list(map(str, again.failures)) == list(map(str, first.failures))


def prepare_and_die(names: list[str], after: int) -> int:
    """Prepare in a child that kills itself in the write after so many shards; return the signal."""
    child = os.fork()
    if child == 0:
        original, left = os.fsync, [after]

        def fuse(file: int) -> None:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            original(file)

        try:
            os.fsync = fuse
            prepare(names, "shards")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


@pytest.mark.parametrize("is_large", [False, True], ids=["small files", "large files"])
def test_after_a_kill_the_same_command_makes_the_same_shards(
    archive: list[str], is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr(portions, "WHOLE_BYTES", 1000)
    prepare(archive, "whole")
    expected = shards("whole")
    assert len(expected) > 4
    for after in range(1, 5):
        assert prepare_and_die(archive, after) == signal.SIGKILL
        left = shards()
        assert 0 < len(left) < len(expected) and left.items() <= expected.items()
    done = prepare(archive, "shards")
    assert shards() == expected
    assert (done.kept > 0) == is_large  # small files are prepared together, or again
    assert not list(Path().glob(".*.unfinished"))


def test_a_prefix_of_the_shards_can_be_ingested_and_the_rest_later(archive: list[str]) -> None:
    assert prepare_and_die(archive, 3) == signal.SIGKILL
    outcome("prepared.db", ["shards"])
    prepare(archive, "shards")
    assert outcome("prepared.db", ["shards"])[0] == outcome("raw.db", archive)[0]


def test_an_input_that_changed_replaces_its_shards(archive: list[str]) -> None:
    prepare(archive, "shards")
    Path("days/units.jsonl").write_text('{"id": "new", "text": "The bridge opened."}', "utf-8")
    done = prepare(archive, "shards")
    assert done.removed >= 1 and done.written >= 1
    prepare(archive, "fresh")
    assert shards() == shards("fresh")


def test_shards_of_other_inputs_or_settings_are_not_mixed(archive: list[str]) -> None:
    prepare(archive, "shards")
    before = shards()
    for names, settings in ((archive[:1], {}), (archive, {"lang": "fr"})):
        with pytest.raises(UsageError, match=r"has \d+ shards of other inputs, settings or"):
            prepare(names, "shards", **settings)
        assert shards() == before
    done = prepare(archive[:1], "shards", replace=True)
    assert done.removed == len(before) and len(shards()) == done.shards == done.written


def test_a_folder_with_other_files_is_left_alone(archive: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^\.: days is not a shard of this version"):
        prepare(archive, ".", replace=True)
    assert Path("en.jsonl").exists()
    with pytest.raises(UsageError, match="should be a directory, and this is a file"):
        prepare(archive, "en.jsonl")


def test_two_processes_cannot_prepare_into_one_folder(archive: list[str]) -> None:
    with (
        folder.ShardFolder(Path("shards")),
        pytest.raises(BusyError, match="another process prepares into this folder"),
    ):
        prepare(archive, "shards")


def test_unfinished_files_are_inside_if_they_cannot_be_beside(
    archive: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("shards").mkdir()
    Path(".shards.unfinished").write_text("in the way", "utf-8")
    seen: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda _: seen.extend(str(p) for p in Path("shards").rglob(".*"))
    )
    prepare(archive, "shards")
    assert any(".unfinished" in name for name in seen)
    assert all(name.endswith(".shard") for name in shards())


# -- portions --------------------------------------------------------------------------------


def test_small_files_are_put_together_and_large_ones_stay_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "GROUP_FILES", 3)
    monkeypatch.setattr(portions, "GROUP_BYTES", 50)
    monkeypatch.setattr(portions, "WHOLE_BYTES", 100)
    sizes = {"a": 1, "b": 1, "c": 1, "d": 60, "e": 1, "f": 101, "g": 1}
    for name, size in sizes.items():
        tmp_path.joinpath(name).write_bytes(b"x" * size)
    failures: list[SegapsithError] = []
    found = list(groups([str(tmp_path), "missing"], failures))
    names = ["".join(Path(file.name).name for file in group.files) for group in found]
    assert names == ["abc", "d", "e", "f", "g"]
    assert [group.number for group in found] == list(range(5))
    assert [group.is_large for group in found] == [False, False, False, True, False]
    assert [str(failure) for failure in failures] == ["missing: no such file or directory"]


def test_the_key_of_a_group_depends_on_names_contents_and_recipe(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one", "utf-8")
    group = FileGroup(0, (InputFile(str(path), 3, in_folder=False),))
    key = group.key("recipe")
    assert key == group.key("recipe") != group.key("other")
    path.write_text("two", "utf-8")
    assert group.key("recipe") != key


@pytest.mark.parametrize("name", ["-", "https://example.org/feed"])
def test_only_files_can_be_prepared(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="prepare reads files and directories"):
        prepare([name], tmp_path / "shards")
    assert list(tmp_path.iterdir()) == []


def test_inputs_that_are_all_missing_leave_no_folder(tmp_path: Path) -> None:
    done = prepare([tmp_path / "missing"], tmp_path / "shards")
    assert done.shards == 0 and len(done.failures) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_a_failure_or_a_reject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = prepare([tmp_path / "pipe"], tmp_path / "one")
    assert [type(failure) for failure in done.failures] == [InputError]
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder" / "pipe")
    done = prepare([tmp_path / "folder"], tmp_path / "two")
    assert (done.rejected, done.failures) == (1, ())


# -- results ---------------------------------------------------------------------------------


def test_each_shard_is_announced_and_counted(archive: list[str]) -> None:
    announced = []
    factory = Factory(resolve({}, environment={}))
    done = prepare_with(factory, archive, "shards", on_shard=announced.append)
    assert [shard.path.name for shard in announced] == list(shards())
    assert isinstance(done, Preparation) and "failures" not in done.as_json()
    assert done.bytes == sum(len(data) for data in shards().values())
    for name, data in shards().items():
        header = read_header(data, name)
        assert header.n_stories + header.n_rejects <= SHARD
        first_line = data.partition(b"\n")[0]
        assert name.split("-")[2].removesuffix(".shard") == first_line[-64:-48].decode()


def test_the_rules_of_a_version_have_not_changed() -> None:
    """If this fails, words, fingerprints or languages of a text are others than before.

    Then raise the number of the rules (`RULES` in `_words.py`, `documents.py` or `language.py`), so
    that shards that were made before are read again, and put the new hash here.
    """
    annotator = Factory(resolve({}, environment={})).annotator()
    items = [document_of(line) for lang in ("en", "fr") for line in sample.lines(lang)]
    parts = {name: hashlib.sha256() for name in ("texts", "languages", "words")}
    for item in prepared_items(items, annotator, language_of("auto"), language_version("auto")):
        assert isinstance(item, Document)
        if item.prepared is None or item.prepared.words is None:
            continue
        text, words = item.prepared, item.prepared.words
        parts["texts"].update(text.digest.encode() + text.signature)
        parts["languages"].update(text.lang.encode())
        arrays = (words.spans, words.content, words.sentences, words.joined)
        parts["words"].update("\0".join(words.lemmas).encode())
        parts["words"].update(b"".join(array.astype("<i4").tobytes() for array in arrays))
    assert {name: part.hexdigest()[:16] for name, part in parts.items()} == {
        "texts": "4bce491c6b853c9a",
        "languages": "2bc82ab0193be65f",
        "words": "2d9f6701140e07ae",
    }

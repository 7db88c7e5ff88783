"""Inputs that stay open: nothing is lost, nothing is read in halves, and nothing waits for ever."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith.errors import FeedError, InputError
from segapsith.io.following import Following
from segapsith.io.inputs import Inputs, Live
from segapsith.model import Document, EndOfBatch, Item, Positioned
from segapsith_plugins.sources.csv_rows import CsvRows
from segapsith_plugins.sources.json_lines import JsonLines
from segapsith_plugins.sources.ninjs import NinJs
from segapsith_plugins.sources.plain_text import PlainText

SOURCES = {"jsonl": JsonLines(), "csv": CsvRows(), "text": PlainText(), "ninjs": NinJs()}


def line(number: int) -> bytes:
    return json.dumps({"id": str(number), "text": f"Story {number}."}).encode() + b"\n"


def followed(path: Path, following: Following) -> Inputs:
    return Inputs([str(path)], SOURCES, live=Live(following=following))


def stories(items: Iterator[Item], number: int) -> list[str]:
    """Returns the ids of the next documents."""
    found: list[str] = []
    while len(found) < number:
        item = next(items)
        if isinstance(item, Document):
            found.append(item.uid)
    return found


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def following() -> Iterator[Following]:
    made = Following(0.05)
    yield made
    made.stop()


def test_a_growing_file_is_read_as_it_grows(tmp_path: Path, following: Following) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(line(1) + line(2))
    items = followed(path, following).items()
    assert stories(items, 2) == ["1", "2"]
    append(path, line(3))
    assert stories(items, 1) == ["3"]
    following.stop()
    assert not [item for item in items if isinstance(item, Document)]


def test_a_line_is_read_when_it_is_complete(tmp_path: Path, following: Following) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(line(1) + line(2)[:9])
    inputs = followed(path, following)
    items = inputs.items()
    assert stories(items, 1) == ["1"]
    append(path, line(2)[9:] + line(3)[:9])
    assert stories(items, 1) == ["2"]
    following.stop()
    assert not [item for item in items if not isinstance(item, EndOfBatch)]
    assert not inputs.failures


def test_a_replaced_file_is_read_to_its_end_and_then_the_new_one(
    tmp_path: Path, following: Following
) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(line(1))
    items = followed(path, following).items()
    assert stories(items, 1) == ["1"]
    append(path, line(2).removesuffix(b"\n"))  # its writer never ends this line
    os.replace(path, tmp_path / "wire.jsonl.1")
    path.write_bytes(line(3))
    assert stories(items, 2) == ["2", "3"]


def test_a_shortened_file_is_read_from_its_start(tmp_path: Path, following: Following) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(line(100) + line(200))
    items = followed(path, following).items()
    assert stories(items, 2) == ["100", "200"]
    path.write_bytes(line(3))
    assert stories(items, 1) == ["3"]


def test_what_waits_is_stored_when_nothing_more_comes(following: Following) -> None:
    more = threading.Event()

    def slow() -> Iterator[Item]:
        yield Document("1", body="Flood.")
        more.wait()
        yield Document("2", body="Strike.")

    items = following.items(slow())
    assert isinstance(next(items), Document)
    assert next(items) == EndOfBatch()
    more.set()
    assert [item for item in items if isinstance(item, Document)] == [Document("2", body="Strike.")]


def test_a_stream_without_pauses_is_stored_in_time_too() -> None:
    moments = iter(range(1000))
    following = Following(5.0, clock=lambda: float(next(moments)))
    stream = [Document(str(number), body="Flood.") for number in range(40)]
    items = list(following.items(iter(stream)))
    assert [item for item in items if isinstance(item, Document)] == stream
    assert sum(isinstance(item, EndOfBatch) for item in items) > 3


def test_an_error_of_the_reader_reaches_the_caller(following: Following) -> None:
    def failing() -> Iterator[Item]:
        yield Document("1", body="Flood.")
        raise InputError("damaged")

    items = following.items(failing())
    assert isinstance(next(items), Document)
    with pytest.raises(InputError, match="damaged"):
        list(items)


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(b"id,text\n1,Flood\n", id="table"),
        pytest.param(b'[\n{"id": "1", "text": "Flood"},\n', id="array"),
        pytest.param(b'{\n"id": "1", "text": "Flood"}\n', id="spread object"),
        pytest.param(b"Flood.\nThe river rose.\n", id="text"),
    ],
)
def test_what_has_no_item_per_line_cannot_be_followed(
    beginning: bytes, tmp_path: Path, following: Following
) -> None:
    path = tmp_path / "wire"
    path.write_bytes(beginning)
    inputs = followed(path, following)
    assert list(inputs.items()) == []
    assert "cannot be followed" in str(inputs.failures[0])


def test_a_long_first_line_is_followed(tmp_path: Path, following: Following) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(json.dumps({"id": "1", "text": ",{" * 9000}).encode() + b"\n")
    assert stories(followed(path, following).items(), 1) == ["1"]


def test_a_pipe_ends_when_it_is_closed(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, line(1) + line(2).removesuffix(b"\n"))
    os.close(writing)
    with os.fdopen(reading) as standard_input:
        monkeypatch.setattr("sys.stdin", standard_input)
        items = Inputs(["-"], SOURCES, live=Live(following=following)).items()
        assert [item.uid for item in items if isinstance(item, Document)] == ["1", "2"]


def test_a_followed_stream_has_no_largest_size(
    tmp_path: Path, following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith.limits.MAX_DECODED_BYTES", 60)
    path = tmp_path / "wire.jsonl"
    path.write_bytes(b"".join(map(line, range(10))))
    assert stories(followed(path, following).items(), 10) == [str(n) for n in range(10)]


class Unsteady:
    """A source of two stories whose server fails after each of them."""

    schemes = frozenset({"unsteady"})

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def address(self, url: str) -> str:
        return url

    def receive(self, url: str, position: str | None) -> Iterator[tuple[Document, str] | None]:
        self.asked.append(position)
        number = int(position or 0) + 1
        if number > 2:
            yield None
            return
        yield Document(str(number), body="Flood."), str(number)
        raise FeedError("the server is gone")


def test_a_stream_that_fails_is_continued_behind_its_last_item(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith.io.inputs.RECONNECT_SECONDS", 0.0)
    source: Any = Unsteady()
    inputs = Inputs(["unsteady://x"], {"unsteady": source}, live=Live(following=following))
    items = [item for item in inputs.items() if isinstance(item, Positioned)]
    assert [(item.item.uid, item.state.etag) for item in items] == [("1", "1"), ("2", "2")]  # type: ignore[union-attr]
    assert source.asked == [None, "1", "2"]
    assert not inputs.failures


def test_without_following_a_failing_stream_is_a_failure() -> None:
    source: Any = Unsteady()
    inputs = Inputs(["unsteady://x"], {"unsteady": source}, live=Live({"unsteady://x": "1"}))
    assert [item.item.uid for item in inputs.items()] == ["2"]  # type: ignore[union-attr]
    assert "the server is gone" in str(inputs.failures[0])

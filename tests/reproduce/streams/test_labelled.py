"""Labelled streams: documents of any set of the layout, halves, and what is learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from segapsith.errors import MissingInputError
from segapsith_reproduce.streams.labelled import half_of, learn, stream_documents
from tests.reproduce.conftest import WriteSet

TEXTS = {
    "boats": "The harbour pilot moored the sailing boat, with anchor, keel and rudder.",
    "stars": "A telescope follows the comet, the planet and the galaxy through its orbit.",
}


def _items(n: int) -> list[dict[str, object]]:
    return [
        {
            "id": n, "event": name, "date": f"2020-01-{1 + number:02}",
            "title": None, "text": f"{text} {name}{number}",
        }
        for number in range(n)
        for name, text in TEXTS.items()
        for n in [f"{name}-{number}"]
    ]  # fmt: skip


def test_a_set_is_read_with_its_labels(tmp_path: Path, write_set: WriteSet) -> None:
    write_set("new-set", _items(3))
    documents = stream_documents(tmp_path, "new-set")
    assert [d.metadata["label"] for d in documents] == ["boats", "stars"] * 3
    assert documents[0].title == "" and documents[0].date == "2020-01-01"
    titles = stream_documents(tmp_path, "new-set text")
    assert titles[1].body == documents[1].body


def test_several_labels_are_no_class(tmp_path: Path, write_set: WriteSet) -> None:
    items = [
        {"id": i, "labels": ["a"] * i, "title": "", "text": "x", "date": None} for i in range(3)
    ]
    write_set("many", items)
    assert [d.uid for d in stream_documents(tmp_path, "many")] == ["1"]


def test_what_is_no_labelled_set_is_named(tmp_path: Path, write_set: WriteSet) -> None:
    with pytest.raises(MissingInputError, match=r"neither docs\.jsonl\.gz nor matrix\.npz"):
        stream_documents(tmp_path, "nothing")
    write_set("plain", [{"id": 1, "title": "", "text": "x", "date": None}])
    with pytest.raises(MissingInputError, match="no document with a label"):
        stream_documents(tmp_path, "plain")
    with pytest.raises(MissingInputError, match="without the field 'lead'"):
        stream_documents(tmp_path, "plain lead")


def test_halves_share_the_documents_and_do_not_change() -> None:
    halves = [half_of(f"story-{number}") for number in range(1000)]
    assert 450 < halves.count("first") < 550
    assert halves[:6] == ["second"] * 3 + ["first"] * 3


@pytest.mark.slow
def test_every_level_groups_the_labelled_documents(tmp_path: Path, write_set: WriteSet) -> None:
    items = _items(12)
    items.append({**items[0], "id": "copy", "date": "2020-02-01"})
    items.append({**items[1], "id": "unlabelled", "event": None, "text": "Nothing of the kind."})
    write_set("new-set", items)
    stream, rate = learn(stream_documents(tmp_path, "new-set"))
    assert rate > 0 and len(stream.uids) == 25 and stream.uids[-1] == "copy"
    assert stream.stories[-1] == stream.stories[0]
    assert stream.days is not None and stream.days[-1] - stream.days[0] == 31
    for labels in (stream.levels[name] for name in ("domains", "topics", "sections")):
        assert len(set(zip(labels.tolist(), stream.classes, strict=True))) == 2
    part = stream.part(np.arange(25) < 5)
    assert part.uids == stream.uids[:5] and len(part.levels["topics"]) == 5
    assert len(part.units) == len(stream.units)

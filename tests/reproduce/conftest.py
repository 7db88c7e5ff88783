"""What the tests of tables share: data sets of a few sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

WriteSet = Callable[[str, list[dict[str, object]]], None]


@pytest.fixture
def write_set(tmp_path: Path) -> WriteSet:
    """Return a function that writes a data set into the temporary directory."""

    def write(name: str, documents: list[dict[str, object]]) -> None:
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "docs.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(document) + "\n" for document in documents)

    return write


GROUPS = {
    "rec.boats": "harbour sailing anchor keel rudder mast tide voyage",
    "sci.stars": "galaxy telescope planet orbit comet nebula lunar solar",
}


@pytest.fixture(scope="session")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `20ng`: two groups of messages, and two samples of three subsets."""
    data = tmp_path_factory.mktemp("messages")
    rng = np.random.default_rng(0)
    news = data / "20ng"
    news.mkdir()
    uids: list[str] = []
    with (
        gzip.open(news / "docs.jsonl.gz", "wt", encoding="utf-8") as docs,
        gzip.open(news / "headers.jsonl.gz", "wt", encoding="utf-8") as headers,
    ):
        for group, words in GROUPS.items():
            for number in range(8):
                uid = f"{group}/{number}"
                text = " ".join(rng.choice([*words.split(), "people", "today"], 12))
                docs.write(json.dumps({"id": uid, "text": text}) + "\n")
                fields = {"Newsgroups": group, "Subject": "galaxy harbour"}
                headers.write(json.dumps({"id": uid, "headers": fields}) + "\n")
                uids.append(uid)
    subset = {"samples": {"0": uids[:6] + uids[8:14], "1": uids[2:8] + uids[10:16]}}
    (news / "subsets.json").write_text(
        json.dumps({"subsets": dict.fromkeys(("M5", "M10", "NG1"), subset)})
    )
    return data

"""One answer, one state: a command that reads several times sees one state while others write.

Between two reads of a command the test writes to the store: it renames a domain and ingests a story.
The answer must be that of the store before these writes.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.errors import BusyError
from segapsith.model import Document
from segapsith.settings import resolve
from segapsith_store import Store

pytestmark = pytest.mark.slow

MOST_WRITES = 6
"""Writes between the reads of one command at most."""

READERS = (
    ["status"], ["status", "--full"], ["domains"], ["domains", "--all"], ["topics", "--kept"], ["sections", "--kept"],
   ["topics", "link", "--across"],
    ["events"], ["today"], ["runs"], ["search", "river"], ["show", "1"],
    ["explain", "1"], ["explain", "en-001"], ["cite"], ["verify"], ["validate"],
    ["validate", "--history"], ["validate", "drift"], ["validate", "curve"],
    ["validate", "order", "--shuffles", "2"], ["tune", "--target-new-rate", "0.5"],
    ["network", "show", "river"], ["network", "status"], 
    ["compare", "STORE", "OTHER"], ["compare", "STORE", "STORE"], ["classify", "TEXT"],
)  # fmt: skip
"""Commands that print what they read."""

WRITERS_OF_FILES = (
    ["report", "--output", "FILE.html"],
    ["report", "--similarity", "cosine", "--output", "FILE.html"],
    ["export", "--what", "assignments", "--to", "csv", "--output", "FILE.csv"],
    ["export", "--what", "domains", "--to", "csv", "--output", "FILE.csv"],
    ["federate", "STORE", "OTHER", "--output", "FILE.html"],
)
"""Commands that write what they read to a file."""


class Interruptions:
    """Writes to a store before each read of it that does not hold the state of the first one.

    The settings of a store, which its first reader stored, are no part of an answer.
    """

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.writes = 0
        self._has_read = self._busy = False
        self._patch = monkeypatch

    def __enter__(self) -> Self:
        freeze, rows, row = Store.freeze, Store.rows, Store.row

        def frozen(store: Store) -> None:
            self.interrupt(store)
            freeze(store)

        def asked(store: Store, sql: str, parameters: Sequence[Any] = ()) -> Any:
            self.interrupt(store, sql)
            return rows(store, sql, parameters)

        def asked_once(store: Store, sql: str, parameters: Sequence[Any] = ()) -> Any:
            self.interrupt(store, sql)
            return row(store, sql, parameters)

        self._patch.setattr(Store, "freeze", frozen)
        self._patch.setattr(Store, "rows", asked)
        self._patch.setattr(Store, "row", asked_once)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def interrupt(self, store: Store, sql: str | None = None) -> None:
        """Write before a read, unless it is the first one, or is of a state that is held."""
        if self._busy or Path(store.path) != self.path or sql == "SELECT * FROM facts":
            return
        if not store._db.conn.in_transaction and self._has_read and self.writes < MOST_WRITES:
            self._busy = True
            with contextlib.suppress(BusyError):  # the command itself is writing
                change(self.path, f"Interrupted {self.writes}")
                self.writes += 1
            self._busy = False
        self._has_read = self._has_read or sql is not None


def change(path: Path, name: str) -> None:
    """Rename a domain and learn a story."""
    with Wire(path, resolve({"lang": "en"}, environment={})) as wire:
        wire.domains.rename(1, name)
        wire.ingest([Document(name, body=f"The river flood rose. {name} minister bank rates.")])


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two stores, one of which has topics, sections and a validation."""
    folder = tmp_path_factory.mktemp("states")
    lines = sample.lines("en")
    for name, some in (("whole", lines), ("other", lines[: len(lines) // 2])):
        with Wire(folder / f"{name}.db", resolve({"lang": "en"}, environment={})) as wire:
            wire.ingest(some)
            wire.topics(top=1)
            wire.sections(top=1)
            wire.validation.run()
    return folder


def answer(
    stores: Path, folder: Path, command: list[str], capsys: Any, interruptions: Interruptions | None
) -> str:
    """Return the exit code and what a command prints or writes, without times and durations."""
    path, made = folder / "wire.db", folder / "made"
    for end in ("", "-wal", "-shm", ".lock"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    shutil.copy(stores / "whole.db", path)
    text = folder / "text.txt"
    text.write_text("The river rose by two metres and the bank raised its rates.", encoding="utf-8")
    places = {
        "STORE": str(path), "OTHER": str(stores / "other.db"), "TEXT": str(text),
        **{f"FILE.{end}": str(made / f"out.{end}") for end in ("html", "csv", "zip")},
    }  # fmt: skip
    words = [places.get(word, word) for word in command]
    if "STORE" not in command:
        words += ["--store", str(path)]
    capsys.readouterr()
    if interruptions is None:
        code = run(words)
    else:
        with interruptions:
            code = run(words)
    said = capsys.readouterr()
    assert code in (0, 76), said.err
    files = [
        file.read_bytes().decode("utf-8", "replace")
        for file in sorted(made.rglob("*.*"))
        if file.is_file()
    ]
    told = "\n".join([str(code), said.out, *files])
    return re.sub(r"\d+(\.\d+)? (s|ms|MB|kB)\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\S*", "…", told)


@pytest.mark.parametrize("command", [*READERS, *WRITERS_OF_FILES], ids=" ".join)
def test_an_answer_is_of_one_state(
    stores: Path, tmp_path: Path, capsys: Any, monkeypatch: Any, command: list[str]
) -> None:
    quiet = answer(stores, tmp_path, command, capsys, None)
    interruptions = Interruptions(tmp_path / "wire.db", monkeypatch)
    assert answer(stores, tmp_path, command, capsys, interruptions) == quiet
    assert "Interrupted" not in quiet


def test_a_command_that_reads_two_states_is_noticed(stores: Path, tmp_path: Path) -> None:
    path = tmp_path / "wire.db"
    shutil.copy(stores / "whole.db", path)
    with (
        pytest.MonkeyPatch.context() as patch,
        Interruptions(path, patch) as interruptions,
        Store.reading(path) as store,
    ):
        before = store.row("SELECT label FROM domains WHERE id = 1")
        after = store.row("SELECT label FROM domains WHERE id = 1")
    assert interruptions.writes >= 1
    assert before != after

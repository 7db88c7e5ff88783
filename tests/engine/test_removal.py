"""What is forgotten stays forgotten: tombstones, several documents at once, and what may fail."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import MissingInputError, UsageError
from segapsith.io.full_text import FullText
from segapsith.io.http import Answer
from segapsith.model import Document
from segapsith.operations.feeds import FeedFetcher, update
from segapsith.settings import resolve
from segapsith_plugins.sources.json_lines import JsonLines
from segapsith_store import Store, tombstones
from segapsith_store.digest import digest
from segapsith_store.queries import subscriptions

Command = Callable[..., tuple[int, str, str]]
OpenWire = Callable[..., Wire]

EN = sample.lines("en")


def sound(wire: Wire) -> str:
    verdict = wire.verify()
    assert verdict.sound, verdict.faults
    return verdict.digest


def answer(command: Command, *arguments: str, code: int = 0) -> Any:
    given, out, err = command(*arguments, "--json")
    assert given == code, err
    return json.loads(out)


def ids(wire: Wire) -> list[str]:
    return [uid for (uid,) in wire.writer.rows("SELECT uid FROM documents ORDER BY id")]


# -- deliveries ------------------------------------------------------------------------------


def test_the_same_delivery_does_not_bring_a_forgotten_document_back(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:10])
    wire.forget(EN[3]["id"])
    before = sound(wire)
    summary = wire.ingest(EN[:10])
    assert (summary.read, summary.new, summary.duplicate, summary.forgotten) == (10, 0, 9, 1)
    assert summary.as_json()["forgotten"] == 1
    assert sound(wire) == before


def test_a_forgotten_text_is_refused_under_another_id_and_without_one(open_wire: OpenWire) -> None:
    wire = open_wire()
    text = EN[3]["text"]
    wire.ingest([{"id": "a", "text": text}, EN[4]])
    wire.forget("a")
    spaced = text.replace(" ", "  ") + "\n"
    assert wire.ingest([{"id": "b", "text": spaced}, {"text": text}]).forgotten == 2
    assert ids(wire) == [EN[4]["id"]]
    sound(wire)


def test_a_correction_of_a_forgotten_document_is_refused(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:3])
    wire.forget(EN[0]["id"])
    assert wire.ingest([{**EN[0], "text": EN[8]["text"]}]).forgotten == 1
    assert wire.ingest([{**EN[1], "title": EN[0]["title"], "text": EN[0]["text"]}]).forgotten == 1
    sound(wire)


def test_every_version_of_a_forgotten_document_is_refused(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{"id": "a", "text": EN[0]["text"]}])
    wire.ingest([{"id": "a", "text": EN[1]["text"]}])
    wire.forget("a")
    items = [{"id": f"b{n}", "text": EN[n]["text"]} for n in range(3)]
    summary = wire.ingest(items)
    assert (summary.forgotten, summary.new) == (2, 1)


def test_forgotten_ready_units_are_refused_and_the_others_keep_their_words(
    open_wire: OpenWire,
) -> None:
    wire, plain = open_wire(), open_wire("plain.db")
    units = [
        {"id": str(n), "words": {"river": n + 1, f"word{n}": 2}} for n in range(6)
    ]  # fmt: skip
    wire.learn(units[2:3])
    wire.forget("2")
    assert wire.learn(units).forgotten == 1
    plain.learn([*units[:2], *units[3:]])
    words = "SELECT d.uid, u.n_words FROM units u JOIN documents d ON d.id = u.document ORDER BY 1"
    assert list(wire.writer.rows(words)) == list(plain.writer.rows(words))
    sound(wire)


def test_a_copy_that_stays_in_the_store_is_a_duplicate_when_it_comes_again(
    open_wire: OpenWire,
) -> None:
    wire = open_wire()
    copies = [{"id": uid, "text": EN[0]["text"]} for uid in "abc"]
    wire.ingest(copies[:2])
    assert wire.forget("a")["successor"] == "b"
    summary = wire.ingest(copies)
    assert (summary.duplicate, summary.forgotten) == (1, 2)
    assert ids(wire) == ["b"]


def test_an_undone_delivery_leaves_the_tombstone(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:4])
    wire.forget(EN[1]["id"])
    wire.runs.undo(1)
    assert wire.ingest(EN[:4]).forgotten == 1
    sound(wire)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_cuts_and_a_resumed_run_count_what_is_refused_once(
    open_wire: OpenWire, batch_size: int
) -> None:
    class Delivery:
        key = "eight"

        def items(self) -> Any:
            return (Document(i["id"], i["title"], i["text"]) for i in EN[:8])

    def stop(summary: Any) -> None:
        raise KeyboardInterrupt

    wire = open_wire(batch_size=batch_size)
    wire.ingest([EN[0], EN[5]])
    wire.forget([EN[0]["id"], EN[5]["id"]])
    with pytest.raises(KeyboardInterrupt):
        wire.ingest(Delivery(), on_batch=stop)
    summary = wire.ingest(Delivery())
    assert (summary.read, summary.forgotten, summary.new) == (8, 2, 6)
    assert [run["status"] for run in wire.runs()][:1] == ["done"]


def test_feeds_do_not_bring_a_forgotten_story_back_nor_is_its_article_fetched(
    open_wire: OpenWire,
) -> None:
    wire = open_wire(full_text=True)
    link = "https://a.example/article"
    lines = [
        {"id": "gone", "text": "The river rose over the bridge.", "link": link},
        {"id": "stays", "text": "The union called a strike of drivers at the harbour."},
    ]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    asked: list[str] = []

    def get(url: str, **_: object) -> Answer:
        asked.append(url)
        page = b"<html><body><p>" + b"The river rose over the old bridge. " * 40 + b"</p></body>"
        return Answer(url, url, 200, body if url.endswith("wire") else page)

    subscriptions.add(wire.writer, "https://a.example/wire")

    def night() -> Any:
        fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
        return update(wire, fetcher, {"jsonl": JsonLines()}, everything=True)

    assert night().summary.new == 2
    assert link in asked
    (gone,) = [uid for uid in ids(wire) if uid.endswith("gone")]
    wire.forget(gone)
    asked.clear()
    updated = night()
    summary, reports = updated.summary, updated.reports
    assert (summary.forgotten, summary.new) == (1, 0)
    assert reports[0].as_json()["forgotten"] == 1
    assert asked == ["https://a.example/wire"]
    sound(wire)


def test_the_link_of_a_forgotten_item_is_not_followed() -> None:
    def asked(url: str) -> bytes:
        raise AssertionError("nothing is to be fetched")

    item = Document("1", "Flood", "Short.", metadata={"link": "https://news.example/1"})
    assert FullText(asked, lambda uid: None, lambda uid: uid == "1")(item) is item


# -- tombstones ------------------------------------------------------------------------------


def test_neither_id_nor_text_of_a_forgotten_document_is_in_the_file(
    open_wire: OpenWire, tmp_path: Path
) -> None:
    wire = open_wire()
    wire.ingest([{"id": "zanzibar-4711", "text": "Zanzibarland declared xylophonists secret."}])
    (text_hash,) = wire.writer.row("SELECT hash FROM versions") or ("",)
    wire.forget("zanzibar-4711")
    wire.close()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("wire.db*"))
    for secret in (b"zanzibar-4711", b"declared xylophonists", text_hash.encode()):
        assert secret not in content


def test_tombstones_of_two_stores_have_nothing_in_common(tmp_path: Path) -> None:
    found = []
    for name in ("a.db", "b.db"):
        with Wire(tmp_path / name) as wire:
            wire.ingest(EN[:2])
            wire.forget(EN[0]["id"])
            found.append({v for row in wire.writer.rows("SELECT document, text FROM tombstones")
                          for v in row})  # fmt: skip
    assert [len(hashes) for hashes in found] == [2, 2]
    assert not found[0] & found[1]


def test_the_digest_does_not_depend_on_tombstones(tmp_path: Path) -> None:
    digests = set()
    for name in ("a.db", "b.db"):
        with Wire(tmp_path / name) as wire:
            wire.ingest(EN[:6])
            wire.forget(EN[0]["id"])
            digests.add(digest(wire.writer, anew=True))
            wire.allow_again(EN[0]["id"])
            digests.add(digest(wire.writer, anew=True))
    assert len(digests) == 1


def test_a_store_that_never_forgot_has_no_salt(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:2])
    assert tombstones.FACT not in wire.writer.facts()


DAMAGE = {
    "their salt is missing": "DELETE FROM facts WHERE name = 'tombstone_salt'",
    "are not hashes": "UPDATE tombstones SET text = x'00'",
    "is in the store": "UPDATE documents SET uid = 'a' WHERE uid = 'b'",
    "runs that is not there": "UPDATE tombstones SET run = 99",
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_verify_notices_damaged_tombstones(fault: str, tmp_path: Path) -> None:
    with Wire(tmp_path / "wire.db") as wire:
        wire.ingest([{**EN[0], "id": "a"}, {**EN[1], "id": "b"}])
        wire.forget("a")
        assert wire.verify().checked["tombstones"] == 1
        wire.writer._db.conn.execute("PRAGMA foreign_keys = OFF")
        wire.writer.change(lambda c: c.execute(DAMAGE[fault]).rowcount)
        wanted = fault.replace("runs that", "refers to a row of runs that")
        assert any(wanted in found for found in wire.verify().faults), wire.verify().faults


# -- allowing again --------------------------------------------------------------------------


def test_what_is_allowed_again_comes_with_the_next_delivery(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:4])
    before = {row["id"] for row in wire.matching(EN[2]["title"])}
    wire.forget(EN[2]["id"])
    assert wire.allow_again(EN[2]["id"])["documents"] == [EN[2]["id"]]
    summary = wire.ingest(EN[:4])
    assert (summary.new, summary.forgotten) == (1, 0)
    assert {row["id"] for row in wire.matching(EN[2]["title"])} == before
    with pytest.raises(MissingInputError, match="not forgotten"):
        wire.allow_again(EN[2]["id"])
    sound(wire)


def test_a_text_forgotten_twice_is_refused_until_both_are_allowed(open_wire: OpenWire) -> None:
    wire = open_wire()
    copies = [{"id": uid, "text": EN[0]["text"]} for uid in "ab"]
    wire.ingest(copies)
    wire.forget(["a", "b"])
    assert wire.allow_again("a")["held"] == 1
    assert wire.ingest(copies).forgotten == 2
    assert wire.allow_again("b")["held"] == 0
    assert wire.ingest(copies).forgotten == 0


def test_allowing_again_is_logged_without_the_id_and_keeps_nobody_from_undoing(
    open_wire: OpenWire,
) -> None:
    wire = open_wire()
    wire.ingest(EN[:4])
    wire.forget(EN[2]["id"])
    wire.allow_again(EN[2]["id"])
    last = wire.runs()[0]
    assert (last["command"], last["counts"]["allowed_again"]) == ("forget", 1)
    assert EN[2]["id"] not in json.dumps([run.as_json() for run in wire.runs()])
    assert wire.domains.forgotten_since(1) == 1
    with pytest.raises(UsageError, match="cannot come back"):
        wire.runs.undo()
    wire.runs.undo(1)
    assert ids(wire) == []


# -- several at once -------------------------------------------------------------------------


def test_several_documents_go_in_one_run(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:12])
    chosen = [EN[n]["id"] for n in (7, 2, 9, 2)]
    result = wire.forget(chosen)
    assert [one["document"] for one in result["documents"]] == chosen[:3]
    assert result["units"] == sum(one["units"] for one in result["documents"])
    assert [run["command"] for run in wire.runs()] == ["forget", "ingest"]
    assert wire.domains.forgotten_since(1) == 3
    assert len(ids(wire)) == 9
    sound(wire)
    assert wire.ingest(EN[:12]).forgotten == 3


def test_an_unknown_id_among_several_leaves_the_store_as_it_was(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:4])
    before = sound(wire)
    with pytest.raises(MissingInputError, match="'nobody'"):
        wire.forget([EN[0]["id"], "nobody"])
    with pytest.raises(UsageError, match="at least one"):
        wire.forget([])
    assert (sound(wire), len(wire.runs())) == (before, 1)
    wire.forget(EN[0]["id"])
    with pytest.raises(MissingInputError, match="already forgotten"):
        wire.forget([EN[0]["id"], EN[1]["id"]])


@pytest.mark.parametrize("gone", ["ab", "ba", "ac", "bc", "abc", "cba"])
def test_a_successor_is_a_copy_that_stays(open_wire: OpenWire, gone: str) -> None:
    wire = open_wire()
    wire.ingest([*({"id": uid, "text": EN[0]["text"]} for uid in "abc"), *EN[1:5]])
    result = wire.forget(list(gone))
    left = sorted(set("abc") - set(gone))
    heirs = {one["successor"] for one in result["documents"]} - {None}
    assert heirs == (set(left[:1]) if "a" in gone else set())
    sound(wire)


@pytest.mark.parametrize("reopened", [False, True])
def test_a_forgotten_headline_is_no_label_though_a_copy_takes_its_place(
    open_wire: OpenWire, reopened: bool
) -> None:
    wire = open_wire()
    body = EN[0]["text"]
    headline = "Secret headline of the first story"
    wire.ingest([{"id": "a", "title": headline, "text": body}, {"id": "b", "text": body}])
    wire.domains()  # labels are computed when they are read
    shown = {domain["label"] for domain in wire.domains()}
    assert shown == {headline}, "otherwise there is nothing to take away"
    if reopened:  # the engine then starts with the label of the store
        wire.close()
        wire = open_wire()
    wire.forget("a")
    stored = {label for (label,) in wire.writer.rows("SELECT label FROM domains WHERE units > 0")}
    assert stored
    assert headline not in stored


def test_forgetting_all_leaves_empty_sums(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(EN[:8])
    wire.forget(ids(wire))
    assert (ids(wire), wire.domains()) == ([], [])
    assert wire.writer.number("SELECT sum(occurrences) FROM words") == 0
    sound(wire)


# -- what fails ------------------------------------------------------------------------------


WORK: dict[str, Callable[[Wire], object]] = {
    "forget": lambda wire: wire.forget(EN[0]["id"]),
    "undo": lambda wire: wire.runs.undo(),
    "rename": lambda wire: wire.domains.rename(wire.domains()[0]["id"], "a name"),
}


@pytest.mark.parametrize("command", WORK)
def test_a_run_that_fails_is_marked_failed(
    open_wire: OpenWire, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = open_wire()
    wire.ingest(EN[:6])
    before = sound(wire)

    def broken(self: Store, batch: object) -> None:
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "save", broken)
        with pytest.raises(RuntimeError, match="the disk is gone"):
            WORK[command](wire)
    assert [(run["command"], run["status"]) for run in wire.runs()] == [
        (command, "failed"), ("ingest", "done"),
    ]  # fmt: skip
    assert sound(wire) == before
    WORK[command](wire)
    assert wire.runs()[0]["status"] == "done"
    sound(wire)


def test_a_failed_forget_is_not_what_undo_takes_back(
    open_wire: OpenWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = open_wire()
    wire.ingest(EN[:6])
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_overwrite_deleted", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            wire.forget(EN[0]["id"])
    assert wire.domains.forgotten_since(1) == 0
    assert wire.runs.undo()["run"] == 1


# -- the command -----------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "segapsith.db")
    with Wire(path, resolve({}, environment={})) as wire:
        wire.ingest(EN[:10])
        wire.ingest([{"id": "old", "title": "Xylophones", "text": EN[20]["text"]}])
        wire.ingest([{"id": "old", "title": "Corrected", "text": EN[21]["text"]}])
        wire.ingest([{"id": "new", "title": "More xylophones", "text": EN[22]["text"]}])
    return path


def test_the_command_forgets_one_or_several(command: Command, store: str) -> None:
    assert list(answer(command, "forget", "en-001")) == ["run", "document", "successor", "units"]
    found = answer(command, "forget", "en-002", "en-003")
    assert list(found) == ["run", "documents", "units"]
    code, out, _ = command("forget", "en-004", "en-005")
    assert (code, out.count(" forgotten: ")) == (0, 2)
    Path("wire.jsonl").write_bytes(b"".join(json.dumps(i).encode() + b"\n" for i in EN[:10]))
    assert "5 rejected as forgotten" in command("ingest", "wire.jsonl")[1]
    assert answer(command, "ingest", "wire.jsonl")["forgotten"] == 5
    assert "delivered again" in command("forget", "--allow-again", "en-004")[1]
    assert answer(command, "ingest", "wire.jsonl")["forgotten"] == 4
    assert command("forget", "--allow-again", "en-004")[0] == 66
    assert command("verify")[0] == 0


def test_a_search_selects_earlier_versions_too_and_a_dry_run_changes_nothing(
    command: Command, store: str
) -> None:
    before = answer(command, "status")
    found = answer(command, "forget", "--search", "xylophones", "--dry-run")
    assert ([row["id"] for row in found["documents"]], found["run"]) == (["old", "new"], None)
    code, out, _ = command("forget", "--search", "xylophones", "--dry-run")
    assert (code, "2 documents would be forgotten" in out) == (0, True)
    assert [row["id"] for row in answer(command, "forget", "old", "--dry-run")["documents"]] == [
        "old"
    ]
    assert command("forget", "nobody", "--dry-run")[0] == 66
    assert answer(command, "status") == before


def test_a_search_asks_for_yes_where_nobody_can_answer(
    command: Command, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = command("forget", "--search", "xylophones")
    assert (code, "--yes" in err and "2 documents" in err) == (2, True)
    found = answer(command, "forget", "--search", "xylophones", "--yes")
    assert [one["document"] for one in found["documents"]] == ["old", "new"]
    again = answer(command, "forget", "--search", "xylophones", "--yes")
    assert (again["run"], again["documents"]) == (None, [])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 2), ("\n", 1, 2)])
def test_a_search_asks_on_a_terminal(
    command: Command, store: str, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: int
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    given, _, err = command("forget", "--search", "xylophones")
    assert (given, "More xylophones" in err) == (code, True)
    with Store.reading(store) as reader:
        assert reader.number("SELECT count(*) FROM documents WHERE uid IN ('old', 'new')") == left


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("en-001", "--search", "river"),
        ("--allow-again",),
        ("--allow-again", "--search", "river"),
        ("--search", " "),
    ],
)
def test_choices_that_say_different_things_are_refused(
    command: Command, store: str, wrong: tuple[str, ...]
) -> None:
    assert command("forget", *wrong)[0] == 2


def test_after_undo_a_domain_is_as_old_as_before(open_wire: OpenWire) -> None:
    boats, stars = {"harbour": 2, "keel": 1, "mast": 1}, {"comet": 2, "orbit": 1, "galaxy": 1}
    wire = open_wire(segmenter="none")

    def learn(name: str, *stories: dict[str, int]) -> list[int]:
        wire.learn(
            {"id": f"{name}{n}", "words": {**words, f"{name}{n}": 1}}
            for n, words in enumerate(stories)
        )
        return [row.grown for row in wire.writer.open_domains()]

    assert learn("a", boats, boats, stars) == [2, 3]
    assert learn("b", stars, boats, boats) == [6, 4]
    wire.runs.undo()
    assert [row.grown for row in wire.writer.open_domains()] == [2, 3]
    assert wire.engine.state.domains._index.newest[1:3].tolist() == [2, 3]

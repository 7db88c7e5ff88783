"""A store against a plain model: whatever is done in whatever order, they say the same.

The model of the texts is a dictionary: each id with the texts that it has had. The model of the
domains is a picture of each (units, status, locked, name): every rule about domains foretells the
next picture from the last. Undoing a run gives back digest and picture from before it.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.domains.threshold_control import AIMS, Target, ThresholdController
from segapsith.errors import MissingInputError, UsageError
from segapsith.lexicon.vocabulary import SCALE
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve
from segapsith_store import connections, migrations, schema
from segapsith_store.digest import digest
from segapsith_store.queries import status
from segapsith_store.seal import seal

pytestmark = pytest.mark.slow

TEXTS = [f"{item['title']}\n\n{item['text']}" for item in sample.lines("en")[:24]]
IDS = st.sampled_from("abcdefghij")
TEXT = st.integers(0, len(TEXTS) - 1)
ITEMS = st.lists(st.tuples(IDS, TEXT), min_size=1, max_size=8)

CATALOGUE = load_plugins()

State = dict[str, list[int]]
"""Each id with the numbers of its texts, the present one last."""


@dataclass(frozen=True)
class Seen:
    """A domain as it looks from outside."""

    units: frozenset[int]
    status: str = "open"
    locked: bool = False
    name: str = ""


Picture = dict[int, Seen]
"""Every domain that has units."""


@dataclass
class Before:
    """What was before a run: to this, undoing it leads back."""

    run: int
    state: State
    digest: str
    picture: Picture
    exact: bool = True
    """Not if a document was forgotten since: that stays forgotten."""


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "wire.db"
        self.state: State = {}
        self.runs: list[Before] = []
        """Runs that can be undone, with what was before them."""
        self.schemas = [
            (schema, schema.SCHEMA),
            (connections, connections.SCHEMA),
            (migrations, migrations.SCHEMA),
            (status, status.SCHEMA),
        ]
        self.migrations = dict(migrations.MIGRATIONS)
        self.forgot_last = False
        self.forgotten: State = {}
        """Ids that must not come back, with the texts that went with them."""
        self.delivered: list[tuple[str, int]] = []
        self.wire = self.opened()

    def opened(self) -> Wire:
        chosen = resolve({"batch_size": 3, "lang": "en"}, environment={})
        wire = Wire(self.path, chosen, CATALOGUE)
        assert wire.writer  # made if it is not there
        return wire

    def teardown(self) -> None:
        self.wire.close()
        self.folder.cleanup()
        migrations.MIGRATIONS.clear()
        migrations.MIGRATIONS.update(self.migrations)
        for module, version in self.schemas:
            module.SCHEMA = version

    @property
    def digest(self) -> str:
        found: str = self.wire.status()["digest"]
        assert digest(self.wire.writer) == digest(self.wire.writer, anew=True) == found
        return found

    def picture(self) -> Picture:
        members: dict[int, set[int]] = {}
        for unit, domain in self.wire.writer.rows("SELECT unit, domain FROM assignments"):
            members.setdefault(domain, set()).add(unit)
        return {
            number: Seen(frozenset(members[number]), status, bool(locked), name)
            for number, status, locked, name in self.wire.writer.rows(
                "SELECT id, status, locked, CASE WHEN named THEN label ELSE '' END FROM domains"
                " WHERE units > 0"
            )
        }

    def now(self, run: int = 0) -> Before:
        state = {uid: list(texts) for uid, texts in self.state.items()}
        return Before(run, state, self.digest, self.picture())

    def done(self, before: Before, run: int | None) -> None:
        """Something was done in a run of its own, or without any."""
        if run:
            self.runs.append(replace(before, run=run))
            self.forgot_last = False
        else:
            assert self.digest == before.digest

    def changed(
        self, work: Callable[[], dict[str, Any]], refused: bool, foretold: Callable[[], Picture]
    ) -> None:
        """A change of domains: refused without a trace, or done as it was foretold."""
        before = self.now()
        if refused:
            with pytest.raises(UsageError):
                work()
            assert self.digest == before.digest
            return
        self.done(before, work()["run"])
        assert self.picture() == foretold()

    def chosen(self, data: Any, most: int = 1) -> list[int]:
        numbers = sorted(self.picture())
        found: list[int] = data.draw(
            st.lists(st.sampled_from(numbers), min_size=1, max_size=most, unique=True)
        )
        return found

    def deliver(self, items: list[tuple[str, int]]) -> Any:
        before = self.now()
        summary = self.wire.ingest({"id": uid, "text": TEXTS[text]} for uid, text in items)
        gone_texts = {text for texts in self.forgotten.values() for text in texts}
        refused = 0
        for uid, text in items:
            if text in self.state.get(uid, []):
                continue
            if uid in self.forgotten or text in gone_texts:
                refused += 1
            else:
                self.state.setdefault(uid, []).append(text)
        assert summary.forgotten == refused
        self.done(before, summary.run)
        assert summary.read == len(items)
        after = self.picture()
        for number, was in before.picture.items():
            if was.status == "retired" and number in after:  # it takes no more
                assert after[number].units <= was.units
        return summary

    # -- what users do -----------------------------------------------------------------------

    @initialize(items=st.lists(st.tuples(IDS, TEXT), min_size=4, max_size=12))
    def begin(self, items: list[tuple[str, int]]) -> None:
        self.ingest(items)

    @rule(items=ITEMS)
    def ingest(self, items: list[tuple[str, int]]) -> None:
        self.deliver(items)
        self.delivered = items

    @precondition(lambda self: self.delivered)
    @rule(cut=st.integers(0, 8))
    def overlap(self, cut: int) -> None:
        """The last delivery again, or its end: nothing that is still there is new."""
        items = [
            (uid, text) for uid, text in self.delivered[cut:] if text in self.state.get(uid, [])
        ]
        before = self.wire.status()["digest"]
        summary = self.deliver(items)
        assert (summary.new, summary.corrected) == (0, 0)
        assert self.wire.status()["digest"] == before

    @precondition(lambda self: self.state)
    @rule(data=st.data(), text=TEXT)
    def correct(self, data: Any, text: int) -> None:
        uid = data.draw(st.sampled_from(sorted(self.state)))
        self.deliver([(uid, text)])

    @rule(uid=IDS)
    def forget(self, uid: str) -> None:
        if uid not in self.state:
            with pytest.raises(MissingInputError):
                self.wire.forget(uid)
            return
        self.forget_all([uid])

    @rule(uids=st.lists(IDS, min_size=2, max_size=4))
    def forget_several(self, uids: list[str]) -> None:
        if not set(uids) <= set(self.state):
            before = self.now()
            with pytest.raises(MissingInputError):
                self.wire.forget(uids)
            assert self.now() == before
            return
        self.forget_all(uids)

    def forget_all(self, uids: list[str]) -> None:
        self.wire.forget(uids)
        for uid in set(uids):
            self.forgotten[uid] = self.state.pop(uid)
            for before in self.runs:
                before.state.pop(uid, None)
                before.exact = False
        self.forgot_last = True

    @precondition(lambda self: self.forgotten)
    @rule(data=st.data())
    def allow_again(self, data: Any) -> None:
        uid = data.draw(st.sampled_from(sorted(self.forgotten)))
        before = self.now()
        self.wire.allow_again(uid)
        del self.forgotten[uid]
        assert self.now() == before
        self.forgot_last = True

    @rule()
    def undo(self) -> None:
        if self.forgot_last or not self.runs:
            with pytest.raises(UsageError):
                self.wire.runs.undo()
            if not self.runs:
                return
        before = self.runs.pop()
        self.state = before.state
        assert self.wire.runs.undo(before.run)["run"] == before.run
        self.delivered = []
        if before.exact:
            assert self.picture() == before.picture
            assert self.digest == before.digest

    @precondition(lambda self: self.state)
    @rule()
    def validate(self) -> None:
        """A measurement is a run of its own and changes nothing that is known."""
        before = self.now()
        self.done(before, self.wire.validate(min_units=2, stability=0)["run"])
        assert self.digest == before.digest

    @precondition(lambda self: self.state)
    @rule()
    def topics(self) -> None:
        before, last = self.now(), self.wire.writer.number("SELECT max(id) FROM runs")
        grouped = [number for topic in self.wire.topics(top=1) for number in topic["domains"]]
        assert set(grouped) <= set(before.picture)
        assert len(grouped) == len(set(grouped))
        run = self.wire.writer.number("SELECT max(id) FROM runs")
        self.done(before, run if run > last else None)
        assert self.picture() == before.picture

    @rule(aim=st.sampled_from(AIMS), share=st.integers(100_000, 900_000))
    def follow(self, aim: str, share: int) -> None:
        """A target from now on: the threshold goes up and down with what comes."""
        before, clock = self.now(), int(self.wire.writer.facts().get("counter_ordinal", 0))
        target = Target(aim, share, SCALE // 5, 5_000_000, clock)
        last = self.wire.writer.number("SELECT max(id) FROM runs")
        run = self.wire.threshold.follow(target)
        self.done(before, run if run > last else None)  # the same target again is no run
        assert self.picture() == before.picture
        kept = self.wire.writer.threshold_controller()
        assert kept is not None and kept == ThresholdController.start(target)

    @precondition(lambda self: self.state)
    @rule()
    def open_again(self) -> None:
        before = self.now()
        self.wire.close()
        self.wire = self.opened()
        assert self.now() == before

    @rule()
    def seal(self) -> None:
        """Hashes are kept; what changes from here on has to take its own away."""
        before = self.now()
        seal(self.wire.writer)
        assert self.now() == before

    @precondition(lambda self: self.state and schema.SCHEMA < self.schemas[0][1] + 2)
    @rule()
    def migrate(self) -> None:
        """A later release with one table more: a copy first, and everything is still there."""
        before, version = self.now(), schema.SCHEMA

        def add_table(connection: sqlite3.Connection) -> None:
            connection.execute(f"CREATE TABLE later_{version} (x)")

        migrations.MIGRATIONS[f"add_table_{version}"] = add_table
        self.wire.close()
        for module, _ in self.schemas:
            module.SCHEMA = version + 1
        self.wire = self.opened()
        assert self.wire.writer.number(f"SELECT count(*) FROM later_{version}") == 0
        assert Path(f"{self.path}.schema-{version}.backup").is_file()
        assert self.wire.status()["schema"] == version + 1
        assert self.now() == before

    # -- what people do to domains -----------------------------------------------------------

    @precondition(lambda self: len(self.picture()) >= 2)
    @rule(data=st.data())
    def merge(self, data: Any) -> None:
        numbers, was = self.chosen(data, 3), self.picture()
        target, *sources = sorted(numbers)
        rows = [was[number] for number in (target, *sources)]

        def foretold() -> Picture:
            after = {number: seen for number, seen in was.items() if number not in sources}
            is_open = "open" in {row.status for row in rows}
            after[target] = Seen(
                frozenset().union(*(row.units for row in rows)),
                "open" if is_open else was[target].status,
                name=next((row.name for row in rows if row.name), ""),
            )
            return after

        refused = not sources or any(row.locked for row in rows)
        self.changed(lambda: self.wire.domains.merge(numbers), refused, foretold)

    @precondition(lambda self: self.picture())
    @rule(data=st.data())
    def split(self, data: Any) -> None:
        (number,), was = self.chosen(data), self.picture()
        units = sorted(was[number].units)
        apart = data.draw(st.sets(st.sampled_from(units), min_size=1, max_size=len(units)))
        made: dict[str, Any] = {}

        def work() -> dict[str, Any]:
            made.update(self.wire.domains.split(number, apart))
            return made

        def foretold() -> Picture:
            rest = frozenset(units) - apart
            first, second = sorted((frozenset(apart), rest), key=lambda p: (-len(p), min(p)))
            one, two = (part["id"] for part in made["parts"])
            after = {other: seen for other, seen in was.items() if other != number}
            return {**after, one: Seen(first, name=was[number].name), two: Seen(second)}

        self.changed(work, was[number].locked or len(apart) == len(units), foretold)

    @precondition(lambda self: self.picture())
    @rule(data=st.data(), back=st.booleans())
    def retire(self, data: Any, back: bool) -> None:
        """Or, `back`, reopen."""
        numbers, was = self.chosen(data, 2), self.picture()
        wanted, status = ("retired", "open") if back else ("open", "retired")
        work = self.wire.domains.reopen if back else self.wire.domains.retire
        refused = any(was[n].locked or was[n].status != wanted for n in numbers)
        self.changed(
            lambda: work(numbers),
            refused,
            lambda: was | {n: replace(was[n], status=status) for n in numbers},
        )

    @precondition(lambda self: self.picture())
    @rule(data=st.data(), locked=st.booleans())
    def lock(self, data: Any, locked: bool) -> None:
        numbers, was = self.chosen(data, 2), self.picture()
        self.changed(
            lambda: (self.wire.domains.lock if locked else self.wire.domains.unlock)(numbers),
            False,
            lambda: was | {n: replace(was[n], locked=locked) for n in numbers},
        )

    @precondition(lambda self: self.picture())
    @rule(data=st.data(), name=st.sampled_from(["", "harvest", "a long walk"]))
    def rename(self, data: Any, name: str) -> None:
        (number,), was = self.chosen(data), self.picture()
        self.changed(
            lambda: self.wire.domains.rename(number, name),
            False,
            lambda: was | {number: replace(was[number], name=name)},
        )

    @precondition(lambda self: self.state)
    @rule(passes=st.integers(0, 1))
    def tidy(self, passes: int) -> None:
        """Consolidate, or refine: units move, none is lost, and what is locked or retired stays."""
        before = self.now()
        found = (
            self.wire.domains.refine(1)
            if passes
            else self.wire.domains.merge_similar(similarity=0.1, after=0)
        )
        self.done(before, found["run"])
        after = self.picture()
        assert _units(after) == _units(before.picture)
        for number, was in before.picture.items():
            if was.locked or was.status == "retired":
                assert after[number] == was

    # -- what always holds -------------------------------------------------------------------

    @invariant()
    def same_texts(self) -> None:
        found = dict(
            self.wire.read(
                lambda store: list(
                    store.rows(
                        "SELECT d.uid, CASE WHEN v.title = '' THEN v.body ELSE"
                        " v.title || char(10) || char(10) || v.body END FROM documents d"
                        " JOIN versions v ON v.document = d.id AND v.number = d.version"
                    )
                )
            )
        )
        assert found == {uid: TEXTS[texts[-1]] for uid, texts in self.state.items()}

    @invariant()
    def sound(self) -> None:
        verdict = self.wire.verify()
        assert verdict.sound, verdict.faults


def _units(picture: Picture) -> list[int]:
    return sorted(unit for seen in picture.values() for unit in seen.units)


short = settings(
    max_examples=8, stateful_step_count=12, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestMachine = Machine.TestCase
TestMachine.settings = short


class LongMachine(Machine):
    pass


TestLongMachine = pytest.mark.long(LongMachine.TestCase)
TestLongMachine.settings = settings(
    max_examples=500, stateful_step_count=50, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

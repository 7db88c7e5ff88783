"""A store against a plain model: whatever is done in whatever order, they say the same.

The model is a dictionary: each id with the texts that it has had. It knows nothing of domains, so
what changes only domains (merge, split, retire, lock) is a rule that leaves the model alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from segapsith import sample
from segapsith.api import Wire
from segapsith.errors import MissingInputError, UsageError
from segapsith.settings import resolve

TEXTS = [f"{item['title']}\n\n{item['text']}" for item in sample.lines("en")[:24]]
IDS = st.sampled_from("abcdefghij")
ITEMS = st.lists(st.tuples(IDS, st.integers(0, len(TEXTS) - 1)), min_size=1, max_size=8)

State = dict[str, list[int]]
"""Each id with the numbers of its texts, the present one last."""


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "wire.db"
        self.state: State = {}
        self.runs: list[tuple[int, State]] = []
        """Runs that can be undone, with what was before them."""
        self.forgot_last = False
        self.delivered: list[tuple[str, int]] = []
        self.wire = self.opened()

    def opened(self) -> Wire:
        wire = Wire(self.path, resolve({"batch_size": 3, "lang": "en"}, environment={}))
        assert wire.writer  # made if it is not there
        return wire

    def teardown(self) -> None:
        self.wire.close()
        self.folder.cleanup()

    def deliver(self, items: list[tuple[str, int]]) -> Any:
        before = {uid: list(texts) for uid, texts in self.state.items()}
        summary = self.wire.ingest({"id": uid, "text": TEXTS[text]} for uid, text in items)
        for uid, text in items:
            texts = self.state.setdefault(uid, [])
            if text not in texts:
                texts.append(text)
        self.runs.append((summary.run, before))
        self.forgot_last = False
        assert summary.read == len(items)
        return summary

    # -- what users do -----------------------------------------------------------------------

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
    @rule(data=st.data(), text=st.integers(0, len(TEXTS) - 1))
    def correct(self, data: Any, text: int) -> None:
        uid = data.draw(st.sampled_from(sorted(self.state)))
        self.deliver([(uid, text)])

    @rule(uid=IDS)
    def forget(self, uid: str) -> None:
        if uid not in self.state:
            with pytest.raises(MissingInputError):
                self.wire.forget(uid)
            return
        self.wire.forget(uid)
        for _, state in [*self.runs, (0, self.state)]:
            state.pop(uid, None)
        self.forgot_last = True

    @rule()
    def undo(self) -> None:
        if self.forgot_last or not self.runs:
            with pytest.raises(UsageError):
                self.wire.undo()
            if not self.runs:
                return
        run, self.state = self.runs.pop()
        assert self.wire.undo(run)["run"] == run
        self.delivered = []

    @rule()
    def validate(self) -> None:
        """A measurement is a run of its own and changes nothing that is known."""
        before = self.wire.status()["digest"]
        run = self.wire.validate(min_units=2)["run"]
        self.runs.append((run, {uid: list(texts) for uid, texts in self.state.items()}))
        self.forgot_last = False
        assert self.wire.status()["digest"] == before

    @rule()
    def reopen(self) -> None:
        before = self.wire.status()["digest"]
        self.wire.close()
        self.wire = self.opened()
        assert self.wire.status()["digest"] == before

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

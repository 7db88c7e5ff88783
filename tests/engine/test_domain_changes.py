"""A life for domains: merged, split, retired, renamed, locked, and all of it taken back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import MissingInputError, UsageError
from segapsith.settings import resolve
from segapsith_store.queries.documents import iterate_documents
from segapsith_store.queries.domains import Domain

OpenWire = Callable[..., Wire]

SUBJECTS = ("river flood dam rain", "strike union train driver", "bank rate inflation price")


def bags(first: int, n: int) -> list[dict[str, Any]]:
    """Ready units about three subjects, with words of their own."""
    return [
        {
            "id": f"b{i}",
            "date": f"2026-03-{1 + i // 3 % 28:02}",
            "words": {**dict.fromkeys(SUBJECTS[i % 3].split(), 1), f"own{i}": 1, f"day{i % 5}": 2},
        }
        for i in range(first, first + n)
    ]


def digest(wire: Wire) -> str:
    return str(wire.status()["digest"])


def check_sound(wire: Wire) -> None:
    verdict = wire.verify()
    assert verdict.sound, verdict.faults


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    made = open_wire(threshold=0.6)
    made.learn(bags(0, 18))
    assert len(made.domains()) > 3
    return made


def members(wire: Wire) -> dict[int, set[int]]:
    rows = wire.read(lambda store: list(store.rows("SELECT domain, unit FROM assignments")))
    found: dict[int, set[int]] = {}
    for domain, unit in rows:
        found.setdefault(domain, set()).add(unit)
    return found


def test_merged_domains_are_one_with_the_sums_of_all(wire: Wire) -> None:
    before, apart = digest(wire), members(wire)
    chosen = sorted(apart)[:3]
    done = wire.domains.merge(chosen)
    assert (done["domain"], done["merged"]) == (chosen[0], chosen[1:])
    assert members(wire)[chosen[0]] == set().union(*(apart[d] for d in chosen))
    check_sound(wire)
    shown = wire.domains.show(chosen[0])
    assert [e["kind"] for e in shown["history"]] == ["created", "took"]
    assert shown["history"][-1]["source"] == chosen[1:]
    with pytest.raises(MissingInputError, match="merged into"):
        wire.domains.show(chosen[1])
    wire.runs.undo()
    assert digest(wire) == before
    assert members(wire) == apart
    check_sound(wire)


@pytest.mark.slow
def test_the_order_of_merging_does_not_matter(open_wire: OpenWire) -> None:
    ends = set()
    for number, order in enumerate(itertools.permutations((1, 2, 3))):
        wire = open_wire(f"{number}.db", threshold=0.6)
        wire.learn(bags(0, 12))
        wire.domains.merge(order)
        ends.add(digest(wire))
    wire = open_wire("steps.db", threshold=0.6)
    wire.learn(bags(0, 12))
    wire.domains.merge((1, 3))
    wire.domains.merge((2, 1))
    ends.add(digest(wire))
    assert len(ends) == 1


def test_a_merged_domain_learns_on_as_one_that_was_never_two(wire: Wire) -> None:
    """What is in memory after a merge is what the store has."""
    twin_of = wire.path + ".twin"
    wire.domains.merge(sorted(members(wire))[:2])
    wire.read(lambda store: store.backup(twin_of))
    with Wire(twin_of, wire.settings) as twin:
        twin.learn(bags(18, 9))
        wire.learn(bags(18, 9))
        assert digest(wire) == digest(twin)


def test_several_merges_can_be_one_run(wire: Wire) -> None:
    from segapsith.engine.domain_changes import Merge

    before = digest(wire)
    first, second, third, fourth, *_ = sorted(members(wire))
    done = wire.change("merge --auto", Merge((first, second)), Merge((third, fourth)))
    assert len({d["run"] for d in done}) == 1
    check_sound(wire)
    assert wire.runs.undo()["run"] == done[0]["run"]
    assert digest(wire) == before


def test_a_chain_of_merges_in_one_run_goes_back_to_the_start(wire: Wire) -> None:
    from segapsith.engine.domain_changes import Merge

    before = digest(wire)
    first, second, third, *_ = sorted(members(wire))
    with pytest.raises(MissingInputError, match=f"no domain {second}"):
        wire.change("merge --auto", Merge((first, second)), Merge((second, third)))
    assert digest(wire) == before
    wire.change("merge --auto", Merge((second, third)), Merge((first, second)))
    check_sound(wire)
    wire.runs.undo()
    assert digest(wire) == before


def test_what_cannot_be_merged_is_refused_and_leaves_no_run(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.6)
    wire.learn(bags(0, 6))
    wire.learn([{"id": "f", "lang": "fr", "words": {"crue": 1}}])
    french = next(d["id"] for d in wire.domains() if d["lang"] == "fr")
    runs = len(wire.runs())
    for domains, reason in (
        ((1, 1), "two different"),
        ((1, french), "languages"),
    ):
        with pytest.raises(UsageError, match=reason):
            wire.domains.merge(domains)
    with pytest.raises(MissingInputError, match="no domain 99"):
        wire.domains.merge((1, 99))
    assert len(wire.runs()) == runs


def test_a_domain_is_split_by_a_clusterer(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.6)
    wire.learn(bags(0, 18))
    wire.domains.merge(sorted(members(wire)))
    before = digest(wire)
    (whole,) = members(wire)
    done = wire.domains.split(whole, parts=3)
    assert done["domain"] == whole
    assert sum(part["units"] for part in done["parts"]) == 18
    assert all(part["id"] > 3 for part in done["parts"])
    groups = members(wire)
    assert sorted(groups) == [part["id"] for part in done["parts"]]
    # units are numbered as they came, so their subject is the remainder by three
    assert sorted({u % 3 for u in group} == {min(group) % 3} for group in groups.values()) == [
        True,
        True,
        True,
    ]
    check_sound(wire)
    wire.runs.undo()
    assert digest(wire) == before
    check_sound(wire)


def test_a_domain_is_split_by_given_units(wire: Wire) -> None:
    domain, units = next((d, u) for d, u in sorted(members(wire).items()) if len(u) > 1)
    before = digest(wire)
    apart = min(units)
    wire.domains.rename(domain, "the name")
    done = wire.domains.split(domain, [apart])
    groups = members(wire)
    assert {frozenset(groups[p["id"]]) for p in done["parts"]} == {
        frozenset({apart}),
        frozenset(units - {apart}),
    }
    named = [d["id"] for d in wire.domains() if d["label"] == "the name"]
    assert named == [done["parts"][0]["id"]]
    check_sound(wire)
    with pytest.raises(UsageError, match="is not in domain"):
        wire.domains.split(done["parts"][0]["id"], [10_000])
    wire.runs.undo()
    wire.runs.undo()
    assert digest(wire) == before


def test_one_unit_cannot_be_split(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.learn(bags(0, 1))
    with pytest.raises(UsageError, match="stay whole"):
        wire.domains.split(1)


def test_a_retired_domain_keeps_its_words_and_takes_no_more(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none", aging=0.0)
    story = {"words": {"river": 2, "flood": 1, "dam": 1}}
    wire.learn([{"id": "1", **story}, {"id": "2", **story}])
    before = digest(wire)
    words = wire.domains()[0]["words"]
    wire.domains.retire([1])
    assert 1 not in wire.engine.state.domains
    assert wire.domains()[0]["words"] == words
    assert wire.domains()[0]["status"] == "retired"
    wire.learn([{"id": "3", "words": {"river": 2, "flood": 1, "dam": 2}}])
    assert [d["id"] for d in wire.domains()] == [1, 2]
    with pytest.raises(UsageError, match="retired already"):
        wire.domains.retire([1])
    wire.forget("2")  # a closed domain gives up units all the same
    assert wire.domains.show(1)["units"] == 1
    check_sound(wire)
    wire.domains.reopen([1])
    wire.learn([{"id": "4", "words": {"river": 2, "flood": 2, "dam": 1}}])
    assert members(wire)[1] >= {4}
    check_sound(wire)
    for _ in range(4):
        wire.runs.undo(next(r["id"] for r in wire.runs() if r["status"] == "done"
                       and r["command"] not in ("undo", "forget")))  # fmt: skip
    assert wire.domains.show(1)["status"] == "open"
    assert before != digest(wire)  # what is forgotten stays so


def test_names_survive(wire: Wire) -> None:
    first, second, third, *_ = sorted(members(wire))
    wire.domains.rename(second, "Spring floods")
    wire.learn(bags(18, 9))
    assert wire.domains.show(second)["label"] == "Spring floods"
    wire.domains.merge((first, second))
    assert wire.domains.show(first)["label"] == "Spring floods"
    wire.domains.rename(third, "other")
    wire.domains.merge((first, third))
    assert wire.domains.show(first)["label"] == "Spring floods"
    wire.domains.rename(first, "")
    assert wire.domains.show(first)["label"] not in ("", "Spring floods")
    check_sound(wire)


def test_a_locked_domain_stays(wire: Wire) -> None:
    before = digest(wire)
    first, second, *_ = sorted(members(wire))
    wire.domains.lock([first])
    for act in (
        lambda: wire.domains.merge((first, second)),
        lambda: wire.domains.split(first, [min(members(wire)[first])]),
        lambda: wire.domains.retire([first]),
    ):
        with pytest.raises(UsageError, match="is locked"):
            act()
    wire.domains.unlock([first])
    wire.domains.retire([first])
    for _ in range(3):
        wire.runs.undo()
    assert digest(wire) == before


@pytest.mark.slow
def test_quiet_domains_retire_at_the_same_place_however_the_stream_is_cut(
    open_wire: OpenWire,
) -> None:
    items = [*bags(0, 6), *({"id": f"x{i}", "words": {f"w{i}": 1}} for i in range(60))]
    chosen: dict[str, Any] = {"retire_after": 20, "retire_below": 3, "threshold": 0.4}
    digests, retired = set(), set()
    for number, size in enumerate((200, 7, 1)):
        wire = open_wire(f"{number}.db", batch_size=size, **chosen)
        wire.learn(items[:30])
        before = digest(wire)
        wire.learn(items[30:])
        digests.add(digest(wire))
        retired.add(tuple(d["id"] for d in wire.domains() if d["status"] == "retired"))
        # what is retired is not in memory, and a fresh start has the same memory
        held = set(wire.engine.state.domains)
        assert not held & set(retired.copy().pop())
        wire.close()
        assert set(wire.engine.state.domains) == held
        check_sound(wire)
        wire.runs.undo()
        assert digest(wire) == before
    assert len(digests) == len(retired) == 1
    (gone,) = retired
    assert len(gone) > 10


def test_a_named_or_locked_domain_is_not_retired_by_itself(open_wire: OpenWire) -> None:
    wire = open_wire(retire_after=10, retire_below=3)
    wire.learn([{"id": f"a{i}", "words": {f"a{i}": 1}} for i in range(4)])
    wire.domains.rename(1, "kept")
    wire.domains.lock([2])
    wire.learn([{"id": f"x{i}", "words": {f"w{i}": 1}} for i in range(40)])
    states = {d["id"]: d["status"] for d in wire.domains()}
    assert [states[i] for i in (1, 2, 3, 4)] == ["open", "open", "retired", "retired"]


def test_numbers_of_merged_and_split_domains_are_never_used_again(wire: Wire) -> None:
    top = max(members(wire))
    wire.domains.merge(sorted(members(wire))[:2])
    done = wire.domains.split(min(members(wire)), [min(members(wire)[min(members(wire))])])
    assert [p["id"] for p in done["parts"]] == [top + 1, top + 2]
    wire.runs.undo()
    wire.runs.undo()
    wire.learn([{"id": "new", "words": {"novel": 1}}])
    assert max(members(wire)) == top + 3


class Life(RuleBasedStateMachine):
    """Anything in any order: the store stays sound, and undo finds every earlier state."""

    @initialize()
    def begin(self) -> None:
        chosen = {"threshold": 0.5, "retire_after": 12, "retire_below": 2}
        self.wire = Wire(":memory:", resolve(chosen, environment={}))
        self.next = 0
        self.past: list[tuple[int, str, list[Domain]]] = []
        self.forgotten = False
        self.wire.learn(bags(0, 6))
        self.next = 6
        self.remember()

    def remember(self) -> None:
        last = self.wire.runs(limit=1)[0]["id"]
        self.past.append((last, digest(self.wire), self.listed()))

    def listed(self, as_of: int | None = None) -> list[Domain]:
        """The domains without labels, which are derived (decision 016); the digest has names."""
        domains = self.wire.domains(as_of=as_of)
        assert all(domain.label for domain in domains)
        return [replace(domain, label="") for domain in domains]

    def pick(self, data: st.DataObject, **wanted: Any) -> list[int]:
        rows = [d for d in self.wire.domains() if all(d[k] == v for k, v in wanted.items())]
        return sorted(d["id"] for d in rows)

    @rule(n=st.integers(1, 8))
    def learn(self, n: int) -> None:
        self.wire.learn(bags(self.next, n))
        self.next += n
        self.remember()

    @rule(which=st.integers(0, 5), words=st.sampled_from(SUBJECTS))
    def correct(self, which: int, words: str) -> None:
        before = digest(self.wire)
        run = self.wire.learn([{"id": f"b{which}", "words": dict.fromkeys(words.split(), 3)}])
        assert run.run
        self.remember()
        again = self.forgotten and run.duplicate  # a forgotten one comes back as a copy
        assert run.corrected or digest(self.wire) == before or run.new or again

    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        known = self.pick(data, locked=False)
        if len(known) > 1:
            chosen = data.draw(
                st.lists(st.sampled_from(known), min_size=2, max_size=3, unique=True)
            )
            self.wire.domains.merge(chosen)
            self.remember()

    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        known = [d for d in self.pick(data, locked=False) if len(members(self.wire)[d]) > 1]
        if known:
            domain = data.draw(st.sampled_from(known))
            self.wire.domains.split(domain, [max(members(self.wire)[domain])])
            self.remember()

    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        known = self.pick(data, locked=False, status="open")
        if known:
            self.wire.domains.retire([data.draw(st.sampled_from(known))])
            self.remember()

    @rule(data=st.data(), label=st.sampled_from(["", "floods", "grèves"]))
    def rename(self, data: st.DataObject, label: str) -> None:
        known = self.pick(data)
        if known:
            self.wire.domains.rename(data.draw(st.sampled_from(known)), label)
            self.remember()

    @rule(data=st.data(), locked=st.booleans())
    def lock(self, data: st.DataObject, locked: bool) -> None:
        known = self.pick(data)
        if known:
            change = self.wire.domains.lock if locked else self.wire.domains.unlock
            change([data.draw(st.sampled_from(known))])
            self.remember()

    @precondition(lambda self: not self.forgotten and len(self.past) > 1)
    @rule()
    def undo(self) -> None:
        self.wire.runs.undo()
        self.past.pop()
        assert (digest(self.wire), self.listed()) == self.past[-1][1:]

    @precondition(lambda self: not self.forgotten and self.past)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        run, _, recorded = data.draw(st.sampled_from(self.past))
        assert self.listed(as_of=run) == recorded

    @precondition(lambda self: self.forgotten)
    @rule()
    def undo_around_what_is_forgotten(self) -> None:
        standing = [
            r["id"]
            for r in self.wire.runs()
            if r["status"] == "done" and r["command"] not in ("undo", "forget")
        ]
        if standing:
            self.wire.runs.undo(standing[0])

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        known = self.wire.read(lambda store: [d["id"] for d in iterate_documents(store)])
        if len(known) > 2 and data.draw(st.integers(0, 3)) == 0:
            self.wire.forget(data.draw(st.sampled_from(known)))
            self.forgotten = True

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "wire"):
            check_sound(self.wire)

    def teardown(self) -> None:
        if hasattr(self, "wire"):
            self.wire.close()


Life.TestCase.settings = settings(
    max_examples=15, stateful_step_count=14, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestLife = pytest.mark.slow(Life.TestCase)


def test_the_sample_can_be_merged_and_parted(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:60])
    before = digest(wire)
    largest = [d["id"] for d in wire.domains()[:3]]
    done = wire.domains.merge(largest)
    wire.domains.split(done["domain"], parts=2, clusterer="ahc", similarity="cosine")
    check_sound(wire)
    wire.runs.undo()
    wire.runs.undo()
    assert digest(wire) == before

"""The threshold follows a target that the store keeps, whatever waves the news come in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.domains import threshold_control
from segapsith.domains.threshold_control import MILLION, STEP, Target, ThresholdController
from segapsith.domains.threshold_search import Trial, slope
from segapsith.errors import UsageError
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import unit_of

pytestmark = pytest.mark.slow

OpenWire = Callable[..., Wire]
Command = Callable[..., tuple[int, str, str]]


def waves(n: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Units of 40 topics, near to them or far from them; every 300 units more of them are far, or
    fewer again."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 4000, (40, 30))
    for i in range(n):
        near = rng.integers(1, 9 if i // 300 % 2 else 15)
        words = (
            *rng.choice(topics[rng.integers(40)], near),
            *rng.integers(0, 4000, 12 - near // 2),
        )
        yield {"id": f"u{i}", "words": {f"w{word}": 1 for word in words}}


UNITS = list(waves(2400))
SEARCHED = 900


def learned(wire: Wire, first: int, last: int) -> float:
    """The share of new domains in a stretch of the waves."""
    run = wire.learn(UNITS[first:last])
    return run.domains_new / run.units_kept


@pytest.fixture
def kept(open_wire: OpenWire) -> Wire:
    """A store that keeps a target."""
    wire = open_wire(lang="en")
    learned(wire, 0, SEARCHED)
    wire.tune(target_new_rate=0.3, keep=True)
    return wire


def rounded(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def obvious(target: Target, story: list[tuple[int, int]]) -> list[int]:
    """The thresholds after each step, in exact fractions, from the whole story each time."""
    base, threshold, found = target.threshold, target.threshold, []
    for n in range(1, len(story) + 1):
        placed = sum(p for p, _ in story[:n])
        founded = sum(f for _, f in story[:n])
        since = story[n - 1][0]
        horizon = max(min(max(placed // 16, 64), 512), 2 * since)
        base += rounded(Fraction((threshold - base) * since, 4 * horizon))
        wanted = Fraction(target.share, MILLION)
        part = Fraction(wanted * placed - founded) / (wanted * horizon)
        part = min(max(Fraction(rounded(part * MILLION), MILLION), Fraction(-1, 2)), Fraction(1))
        departs = rounded(part / Fraction(target.slope, MILLION) * SCALE)
        departs = min(max(departs, -round(0.1 * SCALE)), round(0.1 * SCALE))
        threshold = min(max(base + departs, round(0.03 * SCALE)), round(0.8 * SCALE))
        found.append(threshold)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_those_of_the_plain_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    share, steep = int(rng.integers(20_000, 900_000)), int(rng.integers(MILLION, 40 * MILLION))
    target = Target("new_rate", share, int(0.17 * SCALE), steep, 0)
    placed = rng.integers(0, 60, 80)
    story = list(zip(placed.tolist(), rng.binomial(placed, rng.random()).tolist(), strict=True))
    state, found = ThresholdController.start(target), []
    for n, counts in enumerate(story, 1):
        state.count(*counts)
        state.step(STEP * n, 10, 5)
        found.append(state.threshold)
    assert found == obvious(target, story)
    assert (state.placed, state.ordinal) == (placed.sum(), 80 * STEP)


def test_too_few_new_domains_raise_the_threshold_and_too_many_lower_it() -> None:
    for aim, few, many in (("new_rate", (50, 5), (50, 30)), ("singletons", (50, 9), (50, 45))):
        target = Target(aim, 300_000, SCALE // 5, 10 * MILLION, 0)
        for (n, found), rises in ((few, True), (many, False)):
            state = ThresholdController.start(target)
            state.count(n, found)
            state.step(STEP, n, found)
            assert (state.threshold > target.threshold) is rises


def test_the_slope_is_that_of_the_curve_around_a_threshold() -> None:
    curve = [Trial(t, 0, float(np.exp(8 * t) / 100), 0, 0.5, 1) for t in (0.05, 0.1, 0.15, 0.2)]
    for threshold in (0.01, 0.12, 0.15, 0.9):
        assert slope(curve, threshold) == pytest.approx(8)
    assert slope(curve, 0.12, "next_singletons") == 1.0  # flat: what is held for the least


def test_a_target_is_reached_through_the_waves(open_wire: OpenWire) -> None:
    for name, keep in (("kept.db", True), ("constant.db", False)):
        wire = open_wire(name, lang="en")
        learned(wire, 0, SEARCHED)
        found = wire.tune(target_new_rate=0.3, keep=keep)
        if not keep:
            wire.close()
            wire = open_wire(name, lang="en", threshold=found["threshold"], change_learning=True)
        rates = [learned(wire, first, first + 300) for first in range(SEARCHED, 2400, 300)]
        so_far = np.cumsum(rates) / np.arange(1, 6)
        if keep:
            assert so_far == pytest.approx([0.3] * 5, rel=0.1)
            assert wire.status()["target"]["reached"] == pytest.approx(so_far[-1], abs=1e-6)
        else:
            assert so_far[0] > 0.36


def test_singletons_are_followed_too(open_wire: OpenWire) -> None:
    wire = open_wire(lang="en")
    learned(wire, 0, SEARCHED)
    before = wire.status()
    (wanted,) = wire.tune(target_singletons=0.72, keep=True)["target"].values()
    assert before["target"] is None
    learned(wire, SEARCHED, 2100)
    target = wire.status()["target"]
    assert (target["aim"], target["share"]) == ("singletons", wanted)
    assert target["reached"] == pytest.approx(0.72, rel=0.1)
    sizes = [d["units"] for d in wire.domains()]
    assert target["reached"] == pytest.approx(sizes.count(1) / len(sizes), abs=1e-6)


def test_cuts_do_not_matter(open_wire: OpenWire) -> None:
    digests, told = set(), set()
    for name, size, cuts in (
        ("one.db", 200, [SEARCHED, 1500]),
        ("small.db", 1, [SEARCHED, 1500]),
        ("runs.db", 3, [SEARCHED, 901, 1000, 1008, 1024, 1500]),
    ):
        wire = open_wire(name, lang="en", batch_size=size)
        first, *rest = cuts
        learned(wire, 0, first)
        wire.tune(target_new_rate=0.3, keep=True)
        for last in rest:
            learned(wire, first, last)
            first = last
        wire.learn(UNITS[:50])  # nothing of it is new
        digests.add(wire.verify().digest)
        told.add(json.dumps(wire.status()["target"].as_json()))
        assert wire.verify().sound
    assert len(digests) == len(told) == 1


def test_a_delivery_that_was_cut_short_goes_on(open_wire: OpenWire) -> None:
    class Delivery:
        key = "waves"
        stops = False

        def items(self) -> Any:
            for place, unit in enumerate(UNITS[SEARCHED:1500]):
                if self.stops and place == 410:
                    raise KeyboardInterrupt
                yield unit_of(unit)

    digests = set()
    for name, stops in (("cut.db", True), ("whole.db", False)):
        wire = open_wire(name, lang="en", batch_size=2)
        learned(wire, 0, SEARCHED)
        wire.tune(target_new_rate=0.3, keep=True)
        delivery = Delivery()
        if stops:
            delivery.stops = True
            with pytest.raises(KeyboardInterrupt):
                wire.ingest(delivery)
            wire.close()
            wire = open_wire(name, lang="en", batch_size=2)
            delivery.stops = False
        wire.ingest(delivery)
        digests.add(wire.verify().digest)
    assert len(digests) == 1


def test_undo_takes_all_of_it_back(kept: Wire) -> None:
    def state() -> tuple[str, Any]:
        return kept.verify().digest, kept.status()["target"]

    moments = [state()]
    learned(kept, SEARCHED, 1200)
    moments.append(state())
    learned(kept, 1200, 1300)
    moments.append(state())
    kept.threshold.unfollow()
    moments.append(state())
    assert moments[-1][1] is None and len({digest for digest, _ in moments}) == 4
    for moment in reversed(moments[:-1]):
        kept.runs.undo()
        assert state() == moment
    kept.runs.undo()  # the target itself
    assert kept.status()["target"] is None
    with pytest.raises(UsageError, match="no target is kept"):
        kept.threshold.unfollow()


def test_what_is_forgotten_was_counted(kept: Wire) -> None:
    learned(kept, SEARCHED, 1200)
    before = kept.status()["target"]
    kept.forget("u1000")
    assert kept.status()["target"] == before
    assert kept.verify().sound


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE thresholds SET founded = placed + 1",
        "UPDATE thresholds SET threshold = 0",
        "UPDATE thresholds SET ordinal = ordinal + 100000",
        "UPDATE targets SET aim = 'more'",
    ],
)
def test_damage_to_it_is_found(kept: Wire, damage: str) -> None:
    learned(kept, SEARCHED, 1000)
    assert kept.verify().sound
    kept.writer.change(lambda connection: connection.execute(damage).rowcount)
    assert not kept.verify().sound


def test_a_dry_run_leaves_the_target_where_it_stands(kept: Wire) -> None:
    before = kept.verify().digest
    kept.ingest(map(unit_of, UNITS[SEARCHED:1000]), dry_run=True)
    assert kept.verify().digest == before
    learned(kept, SEARCHED, 1000)
    assert kept.status()["target"]["units"] == 100


def test_every_unit_tells_the_threshold_it_was_placed_with(kept: Wire) -> None:
    learned(kept, SEARCHED, 1100)
    then = [kept.explain(unit)["joined"] for unit in range(SEARCHED + 1, 1101, 4)]
    assert len({joined["threshold"] for joined in then}) > 10
    assert {joined["founded"] for joined in then} == {True, False}
    for joined in then:
        if joined["founded"]:
            assert joined["runner_up_score"] < joined["threshold"]
        else:
            assert joined["score"] >= joined["threshold"]
    assert kept.explain(5)["joined"]["threshold"] == 0.165
    now = kept.status()["target"]["threshold"]
    assert kept.explain(5)["threshold"] == pytest.approx(now, abs=1e-6)
    assert kept.classify("w1 w2")["threshold"] == pytest.approx(now, abs=1e-6)


@pytest.mark.parametrize("given", [{"threshold": 0.4}, {"placement": "cosine"}])
def test_what_is_given_beats_what_is_kept(
    kept: Wire, open_wire: OpenWire, given: dict[str, Any]
) -> None:
    kept.close()
    before = kept.status()["target"]
    wire = open_wire(lang="en", change_learning=True, **given)
    learned(wire, SEARCHED, 1000)
    name, value = next(iter(given.items()))
    assert str(wire.threshold.override_reason()).startswith(f"{name}={value}")
    assert wire.status()["target"] == replace(before, overruled=wire.threshold.override_reason())
    threshold = given.get("threshold", 0.165)
    assert wire.explain(950)["joined"]["threshold"] == threshold
    wire.close()
    back = {"placement": "eq7"} if "placement" in given else {}
    again = open_wire(lang="en", change_learning=True, **back)
    assert again.threshold.override_reason() is None
    learned(again, 1000, 1100)
    assert again.status()["target"]["units"] == 100


def test_a_target_is_kept_for_the_whole_store_from_now_on(kept: Wire) -> None:
    for more in ({"afresh": True}, {"lang": "en"}):
        with pytest.raises(UsageError, match="without --afresh and --lang"):
            kept.tune(target_new_rate=0.3, keep=True, **more)


def test_the_last_target_holds(kept: Wire) -> None:
    learned(kept, SEARCHED, 1100)
    kept.tune(target_new_rate=0.2, keep=True)
    assert kept.status()["target"].as_json() | {"threshold": 0} == {
        "aim": "new_rate", "share": 0.2, "threshold": 0, "units": 0, "founded": 0,
        "reached": None, "overruled": None,
    }  # fmt: skip
    learned(kept, 1100, 1200)
    assert kept.status()["target"]["units"] == 100


def test_on_the_command_line(command: Command, tmp_path: Path) -> None:
    def told(*arguments: str) -> Any:
        code, out, err = command(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    for name, first, last in (("a", 0, 400), ("b", 400, 500), ("c", 500, 600)):
        lines = (json.dumps(unit) for unit in islice(UNITS, first, last))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    told("ingest", "a.jsonl", "--bag")
    shown = told("tune", "--target-new-rate", "0.3")
    assert shown["run"] is None and told("status")["target"] is None
    kept = told("tune", "--target-new-rate", "0.3", "--keep")
    assert kept["run"] == 2 and kept["threshold"] == shown["threshold"]
    told("ingest", "b.jsonl", "--bag")
    target = told("status")["target"]
    assert target["units"] == 100
    assert told("config")["threshold"] == {
        "value": target["threshold"], "origin": "store: follows new_rate 0.3"
    }  # fmt: skip
    given = ("ingest", "c.jsonl", "--bag", "--set", "threshold=0.2")
    code, _, err = command(*given)
    assert code == 78 and "--change-learning" in err
    code, _, err = command(*given, "--change-learning")
    assert code == 0
    assert "the stored target was not followed: threshold=0.2 (flag)" in err
    (tmp_path / "segapsith.toml").write_text("threshold = 0.25\n", encoding="utf-8")
    assert told("config")["threshold"]["value"] == 0.25
    code, _, err = command("tune", "--target-new-rate", "0.3", "--keep")
    assert (
        code == 0 and "the stored target has no effect: threshold=0.25 (file segapsith.toml)" in err
    )
    for wrong in (("--stop", "--keep"), ("--stop", "--target-new-rate", "0.3"), ("--keep",)):
        assert command("tune", *wrong)[0] == 2
    assert told("tune", "--stop")["ended"]["aim"] == "new_rate"
    assert told("status")["target"] is None
    assert command("tune", "--stop")[0] == 2
    assert command("runs", "undo")[0] == 0
    assert told("status")["target"]["share"] == 0.3
    code, out, _ = command("verify")
    assert code == 0 and "thresholds" in out


def test_thresholds_are_set_at_ordinals_of_the_clock() -> None:
    assert [n for n in range(100) if threshold_control.is_control_step(n)] == [
        16,
        32,
        48,
        64,
        80,
        96,
    ]

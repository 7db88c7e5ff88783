"""A store keeps what it was learned with, and changes it only when asked to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.learning_settings import FACT, LEARNED, LearningSettings, periods, with_stored
from segapsith.errors import ConfigurationError, LearningChangeError
from segapsith.settings import resolve
from segapsith_store import Store

OpenWire = Callable[..., Wire]
Command = Callable[..., tuple[int, str, str]]


def stories(first: int, last: int) -> list[dict[str, Any]]:
    return [dict(line) for line in sample.lines("en")[first:last]]


def history(wire: Wire) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = wire.read(lambda store: store.facts().get(FACT, []))
    return kept


def run_settings(wire: Wire) -> list[dict[str, Any]]:
    return [
        json.loads(settings)
        for (settings,) in wire.read(
            lambda store: list(store.rows("SELECT settings FROM runs ORDER BY id"))
        )
    ]


@pytest.mark.slow
def test_a_later_run_goes_on_as_the_store_was_learned(open_wire: OpenWire) -> None:
    given = {"placement": "cosine", "threshold": 0.3, "importance": "significance"}
    with open_wire("once.db", lang="en", **given) as wire:
        wire.ingest(stories(0, 30))
        wire.ingest(stories(30, 60))
        digest = wire.status()["digest"]
    with open_wire("twice.db", lang="en", **given) as wire:
        wire.ingest(stories(0, 30))
    with open_wire("twice.db", lang="en") as wire:
        wire.ingest(stories(30, 60))
        assert wire.status()["digest"] == digest
        assert [period["run"] for period in history(wire)] == [1]
        assert run_settings(wire)[1]["placement"] == "cosine"
        assert wire.settings.placement.threshold == 0.3
        assert wire.settings.origins["threshold"] == "store"


@pytest.mark.parametrize(
    "other",
    [
        {"placement": "cosine"},
        {"threshold": 0.3},
        {"min_weight": 0.1},
        {"domain_weight": "occurrence-significance"},
        {"prefilter": "activation"},
        {"importance": "significance"},
        {"learn_terms": False},
        {"segmenter": "none"},
        {"annotator": "plain"},
        {"network_links": 10},
        {"preset": "paper"},
    ],
    ids=lambda other: "-".join(other),
)
def test_another_choice_is_refused_and_nothing_changes(
    open_wire: OpenWire, other: dict[str, Any]
) -> None:
    with open_wire(lang="en") as wire:
        wire.ingest(stories(0, 12))
        before = wire.status()
        if "annotator" in other:  # whichever there is besides
            names = [
                n for n in wire.registry.names("annotator") if n != wire.settings.reading.annotator
            ]
            if not names:
                pytest.skip("there is one annotator")
            other = {"annotator": names[0]}
    with open_wire(lang="en", **other) as wire:
        with pytest.raises(LearningChangeError, match="--change-learning") as refused:
            wire.ingest(stories(12, 24))
        name = next(iter(other))
        if name != "preset":
            assert f"{name}={other[name]} (flag)" in str(refused.value)
        assert refused.value.exit_code == 78
    with open_wire(lang="en") as wire:
        assert wire.status() == before


def test_what_is_equal_to_the_store_may_be_given(open_wire: OpenWire) -> None:
    with open_wire(lang="en", threshold=0.3) as wire:
        wire.ingest(stories(0, 12))
    with open_wire(lang="fr", threshold=0.3, placement="eq7", workers=1) as wire:
        wire.ingest(stories(12, 14))
        assert len(history(wire)) == 1


@pytest.mark.slow
def test_a_change_that_is_asked_for_is_recorded_and_explained(open_wire: OpenWire) -> None:
    with open_wire(lang="en") as wire:
        wire.ingest(stories(0, 30))
        accepted = wire.writer.facts()["counter_ordinal"]
    with open_wire(lang="en", placement="cosine", threshold=0.3, change_learning=True) as wire:
        wire.ingest(stories(30, 60))
    with open_wire(lang="en") as wire:
        wire.ingest(stories(60, 90))
        first, second = history(wire)
        assert (first["run"], first["unit"], first["ordinal"]) == (1, 1, 1)
        assert second["run"] == 2 and second["ordinal"] == accepted + 1
        assert (first["values"]["placement"], second["values"]["placement"]) == ("eq7", "cosine")
        assert run_settings(wire)[1]["changed_learning"] == {
            "placement": {"from": "eq7", "to": "cosine"},
            "threshold": {"from": 0.165, "to": 0.3},
        }
        assert "changed_learning" not in run_settings(wire)[2]
        placed = wire.read(lambda s: [u for (u,) in s.rows("SELECT unit FROM assignments")])
        for unit in placed:
            joined = wire.explain(unit)["joined"]
            wanted = ("eq7", 0.165) if unit < second["unit"] else ("cosine", 0.3)
            assert (joined["placement"], joined["threshold"]) == wanted
        assert placed[0] < second["unit"] <= placed[-1]
        assert wire.verify().sound


def test_a_change_that_reads_nothing_new_is_no_change(open_wire: OpenWire) -> None:
    with open_wire(lang="en") as wire:
        wire.ingest(stories(0, 12))
    with open_wire(lang="en", threshold=0.3, change_learning=True) as wire:
        wire.ingest(stories(0, 12))
        assert len(history(wire)) == 1
        wire.ingest(stories(12, 24))
        assert len(history(wire)) == 2


def test_an_undone_run_takes_its_settings_with_it(open_wire: OpenWire) -> None:
    with open_wire(lang="en", change_learning=True, threshold=0.3) as wire:
        wire.ingest(stories(0, 12))
        before = wire.status()["digest"]
    with open_wire(lang="en", change_learning=True, threshold=0.4) as wire:
        wire.ingest(stories(12, 24))
        wire.runs.undo()
        assert [period["values"]["threshold"] for period in history(wire)] == [0.3]
        assert wire.status()["digest"] == before
    with open_wire(lang="en") as wire:
        assert wire.settings.placement.threshold == 0.3
        wire.runs.undo(1)
        assert history(wire) == []
    with open_wire(lang="en", placement="cosine") as wire:
        wire.ingest(stories(0, 12))
        assert history(wire)[0]["values"]["placement"] == "cosine"


def test_an_old_store_adopts_what_is_used_first(open_wire: OpenWire) -> None:
    with open_wire(lang="en") as wire:
        wire.ingest(stories(0, 12))
        wire.writer.change(lambda c: c.execute("DELETE FROM facts WHERE name = ?", [FACT]).rowcount)
    with open_wire(lang="en", threshold=0.3) as wire:
        assert (
            wire.explain(1)["joined"].as_json() | {"placement": "eq7", "threshold": 0.165}
            == wire.explain(1)["joined"].as_json()
        )
        wire.ingest(stories(12, 24))
        assert [period["run"] for period in history(wire)] == [2]
        assert wire.explain(1)["joined"]["threshold"] == 0.165
    with open_wire(lang="en", threshold=0.2) as wire, pytest.raises(LearningChangeError):
        wire.ingest(stories(24, 30))


def test_settings_of_plugins_are_kept(tmp_path: Path) -> None:
    def wire_on(plugins: dict[str, Any], change: bool = False, **flags: Any) -> Wire:
        chosen = resolve({"lang": "en", **flags}, plugins, environment={})
        return Wire(tmp_path / "wire.db", chosen, change_learning=change)

    with wire_on({"min_words": 9, "activation_most": 7}) as wire:
        wire.ingest(stories(0, 12))
        assert history(wire)[0]["set"] == {"segmenter.min_words": 9, "engine.activation_most": 7}
    with wire_on({}) as wire:
        wire.ingest(stories(12, 14))
        assert wire.factory.placing().activation_most == 7
        shown = wire.settings.as_json()["set.segmenter.min_words"]
        assert shown == {"value": 9, "origin": "store"}
    for given in ({"min_words": 10}, {"segmenter.prior": 200.0}, {"activation_most": 8}):
        with wire_on(given) as wire, pytest.raises(LearningChangeError):
            wire.ingest(stories(14, 16))
    with wire_on({"segmenter.min_words": 9, "prior": 300}) as wire:  # the second is the default
        wire.ingest(stories(14, 16))
    with wire_on({}, change=True, segmenter="none") as wire:
        wire.ingest(stories(16, 18))
        assert history(wire)[-1]["set"] == {"engine.activation_most": 7}


def test_the_content_of_a_file_of_terms_is_kept(tmp_path: Path, open_wire: OpenWire) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("prime minister\n", encoding="utf-8")
    with open_wire(lang="en", terms=str(terms)) as wire:
        wire.ingest(stories(0, 12))
    with open_wire(lang="en") as wire:
        wire.ingest(stories(12, 14))
        assert wire.settings.reading.terms == str(terms)
    moved = terms.rename(tmp_path / "moved.txt")
    with open_wire(lang="en") as wire, pytest.raises(ConfigurationError, match="put the file"):
        wire.ingest(stories(14, 16))
    with open_wire(lang="en", terms=str(moved)) as wire:
        wire.ingest(stories(14, 16))
    moved.write_text("prime minister\ncentral bank\n", encoding="utf-8")
    for change in (False, True):
        with open_wire(lang="en", terms=str(moved), change_learning=change) as wire:
            if change:
                wire.ingest(stories(16, 18))
            else:
                with pytest.raises(LearningChangeError, match=r"moved\.txt"):
                    wire.ingest(stories(16, 18))


def test_work_that_reads_no_text_is_never_refused(open_wire: OpenWire) -> None:
    digests = set()
    for name, given in (
        ("a.db", {}),
        ("b.db", {"threshold": 0.4, "domain_weight": "occurrence-significance"}),
    ):
        with open_wire(name, lang="en") as wire:
            wire.ingest(stories(0, 30))
        with open_wire(name, lang="en", **given) as wire:
            wire.forget("en-003")
            wire.domains.rename(1, "rivers")
            digests.add(wire.status()["digest"])
            assert wire.writer.facts()["domain_weight"] == "mean-unit-weight"
    assert len(digests) == 1


def test_a_reference_corpus_is_read_with_the_annotator_of_the_store(open_wire: OpenWire) -> None:
    with open_wire(lang="en") as wire:
        wire.network.build(stories(0, 12))
        assert set(history(wire)[0]["values"]) == {
            "annotator", "terms", "terms_sha256", "network_window",
        }  # fmt: skip
    with open_wire(lang="en", placement="cosine") as wire:
        wire.ingest(stories(12, 24))
        assert [p["values"].get("placement") for p in history(wire)] == [None, "cosine"]
        assert "changed_learning" not in run_settings(wire)[-1]
    with open_wire(lang="en", threshold=0.4) as wire:
        wire.network.build(stories(24, 30))  # which places nothing


def test_settings_are_not_in_the_digest(open_wire: OpenWire) -> None:
    with open_wire(lang="en") as wire:
        wire.ingest(stories(0, 12))
        before = wire.verify().digest
        wire.writer.change(lambda c: c.execute("DELETE FROM facts WHERE name = ?", [FACT]).rowcount)
        assert wire.verify().digest == before


def test_a_preset_that_is_named_asks_for_its_values() -> None:
    kept = LearningSettings({name: resolve({}, environment={}).values[name] for name in LEARNED})
    paper = with_stored(resolve({"preset": "paper"}, environment={}), kept)
    assert paper.placement.threshold == 0.25 and paper.plugins["segmenter.cut_at"] == "cohesion"
    other = LearningSettings({**kept.values, "threshold": 0.25, "count": "tokens"})
    named = with_stored(resolve({"preset": "default"}, environment={}), other)
    assert (named.placement.threshold, named.placement.count) == (0.165, "tokens")
    assert with_stored(resolve({}, environment={}), other).placement.threshold == 0.25


def test_python_opens_with_another_measure_only_if_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "wire.db"
    with segapsith.open(path, lang="en") as wire:
        wire.ingest(stories(0, 12))
    with segapsith.open(path, placement="cosine") as wire, pytest.raises(LearningChangeError):
        wire.ingest(stories(12, 24))
    with segapsith.open(path, placement="cosine", change_learning=True) as wire:
        wire.ingest(stories(12, 24))
    with Store.reading(path) as store:
        assert [p.settings.values["placement"] for p in periods(store.facts())] == ["eq7", "cosine"]


@pytest.mark.slow
def test_on_the_command_line(command: Command, tmp_path: Path) -> None:
    lines = sample.path("en").read_text(encoding="utf-8").splitlines()
    for number in range(3):
        text = "\n".join(lines[10 * number : 10 * number + 10])
        (tmp_path / f"{number}.jsonl").write_text(text, encoding="utf-8")
    assert command("ingest", "0.jsonl", "--placement", "cosine", "--quiet")[0] == 0
    shown = json.loads(command("config", "--json")[1])
    assert shown["placement"] == {"value": "cosine", "origin": "store"}
    assert shown["lang"]["origin"] == "default"
    code, _, err = command("ingest", "1.jsonl", "--placement", "eq7")
    assert code == 78
    assert "was learned with placement=cosine, and placement=eq7 (flag) is given" in err
    assert "--change-learning" in err
    assert command("ingest", "1.jsonl", "--quiet")[0] == 0
    assert "placed by cosine" in command("explain", "1")[1]
    (tmp_path / "inbox").mkdir()
    (tmp_path / "2.jsonl").rename(tmp_path / "inbox" / "2.jsonl")
    (tmp_path / "segapsith.toml").write_text('placement = "eq7"\n', encoding="utf-8")
    night = ("update", "--nightly", "--inbox", "inbox", "--json")
    code, out, _ = command(*night)
    assert code == 78
    steps = {step["step"]: step for step in json.loads(out)["steps"]}
    assert "--change-learning" in steps["inbox"]["error"]
    assert steps["backup"]["status"] == "done"
    code, out, err = command(*night, "--change-learning")
    assert code == 0, out
    assert json.loads(command("config", "--json")[1])["placement"]["value"] == "eq7"
    assert command("verify", "--quiet")[0] == 0

"""Several stores in one view: links, subjects, agreement, files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.api.federation import Federation, federate, linking
from segapsith.api.federation.linking import Group, Link, join, link_stores
from segapsith.demo import sample
from segapsith.errors import MissingInputError, UsageError


def words(*names: str) -> dict[str, tuple[float, float]]:
    return {name: (1.0, 2.0) for name in names}


STORM = words("storm", "rain", "wind", "coast")
BANK = words("bank", "rate", "loan", "credit")
SPORT = words("goal", "match", "team", "league")


def group(store: str, number: int, units: int = 20, lang: str = "en") -> Group:
    return Group(store, number, f"{store}{number}", lang, units, None, None, None, ())


# -- linking ---------------------------------------------------------------------------------


def test_equal_groups_are_linked_in_both_directions() -> None:
    stores = {("a", "en"): {1: STORM, 2: BANK}, ("b", "en"): {7: BANK, 8: STORM, 9: SPORT}}
    links = link_stores(["a", "b"], stores, 0.25)
    assert [(one.left, one.right, one.is_mutual) for one in links] == [(1, 8, True), (2, 7, True)]
    assert all(one.similarity == 1.0 for one in links)


def test_a_part_of_a_wider_group_is_linked_in_one_direction() -> None:
    wide = {**STORM, **BANK}
    stores = {("a", "en"): {1: wide}, ("b", "en"): {7: STORM, 8: words("bank", "rate", "loan")}}
    links = link_stores(["a", "b"], stores, 0.25)
    assert {(one.left_store, one.left, one.right, one.is_mutual) for one in links} == {
        ("a", 1, 7, True),
        ("a", 1, 8, False),
    }


def test_languages_are_never_linked() -> None:
    assert link_stores(["a", "b"], {("a", "en"): {1: STORM}, ("b", "fr"): {1: STORM}}, 0.25) == []


def test_the_threshold_decides() -> None:
    near = words("storm", "rain", "goal", "match")
    stores = {("a", "en"): {1: STORM}, ("b", "en"): {1: near}}
    assert len(link_stores(["a", "b"], stores, 0.25)) == 1
    assert link_stores(["a", "b"], stores, 0.9) == []


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {n: words(*(f"w{(n * 3 + i) % 40}" for i in range(9))) for n in range(30)}
    right = {n: words(*(f"w{(n * 5 + i) % 40}" for i in range(9))) for n in range(25)}
    stores = {("a", "en"): left, ("b", "en"): right}
    whole = link_stores(["a", "b"], stores, 0.25)
    monkeypatch.setattr(linking, "BLOCK", 4)
    assert link_stores(["a", "b"], stores, 0.25) == whole != []


def link(left: str, right: str, similarity: float, is_mutual: bool = True) -> Link:
    return Link("en", left[0], int(left[1:]), right[0], int(right[1:]), similarity, 1.0, is_mutual)


def test_a_subject_has_one_group_of_a_store_at_most_and_the_nearest_first() -> None:
    groups = [group("a", 1), group("b", 1), group("c", 1), group("a", 2, 50)]
    links = [link("a1", "b1", 0.9), link("b1", "c1", 0.8), link("a2", "c1", 0.7)]
    for order in permutations(links):
        subjects = join(groups, order, ["a", "b", "c"])
        members = [subject.members for subject in subjects]
        assert members == [(("a", 1), ("b", 1), ("c", 1)), (("a", 2),)]
    assert [subject.id for subject in subjects] == [1, 2]
    assert subjects[0].units == 60 and subjects[0].label == "a1"


def test_links_in_one_direction_join_nothing() -> None:
    groups = [group("a", 1), group("b", 1)]
    assert len(join(groups, [link("a1", "b1", 0.9, is_mutual=False)], ["a", "b"])) == 2


# -- stores ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """English twice, with common stories, and French."""
    folder = tmp_path_factory.mktemp("stores")
    english, french = sample.lines("en"), sample.lines("fr")
    half = len(english) * 2 // 3
    parts = {"early": english[:half], "late": english[-half:], "french": french}
    for name, lines in parts.items():
        with segapsith.open(folder / f"{name}.db") as wire:
            wire.ingest(lines)
            wire.topics.regroup()
    return {name: str(folder / f"{name}.db") for name in parts}


def hashes(stores: dict[str, str]) -> dict[str, str]:
    return {n: hashlib.sha256(Path(path).read_bytes()).hexdigest() for n, path in stores.items()}


def view(stores: dict[str, str], *names: str, **options: Any) -> Federation:
    return federate([stores[name] for name in names], min_units=3, **options)


def test_two_halves_of_a_wire_have_common_subjects(stores: dict[str, str]) -> None:
    before = hashes(stores)
    result = view(stores, "early", "late")
    assert not result.is_exact and "approximate" in result.note
    common = [one for one in result.domains.subjects if len(one.members) == 2]
    assert len(common) >= 5
    (agreement,) = result.agreements
    assert agreement.units > 30
    assert agreement.kappa is not None and agreement.kappa > 0.4
    assert agreement.same_subject is not None and agreement.same_subject > 0.3
    groups = {one.key for one in result.domains.groups}
    assert {key for one in result.domains.subjects for key in one.members} == groups
    assert hashes(stores) == before


def test_a_topic_has_the_dates_of_its_small_domains_too(stores: dict[str, str]) -> None:
    with segapsith.open(stores["early"]) as wire:
        domains = {one.id: one for one in wire.domains()}
        topics = wire.topics(regroup=False)
    topic = next(one for one in topics if len(one.domains) > 1)
    members = [domains[number] for number in topic.domains]
    least = max(one.units for one in members) + 1
    result = federate([stores["early"], stores["late"]], min_units=least)
    (shown,) = (one for one in result.topics.groups if (one.store, one.id) == ("early", topic.id))
    assert shown.first == min(one.first for one in members if one.first)
    assert shown.last == max(one.last for one in members if one.last)


def test_a_copy_of_a_store_agrees_with_it(stores: dict[str, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path(stores["early"]).read_bytes())
    result = federate([stores["early"], copy], min_units=3)
    (agreement,) = result.agreements
    assert (agreement.kappa, agreement.same_subject) == (1.0, 1.0)
    assert all(len(one.members) == 2 for one in result.domains.subjects)
    assert all(len(one.members) == 2 for one in result.topics.subjects)


def test_stores_without_a_common_language_are_side_by_side(stores: dict[str, str]) -> None:
    result = view(stores, "early", "french")
    assert result.is_exact and "side by side" in result.note
    assert result.domains.links == [] and result.topics.links == []
    assert len(result.domains.subjects) == len(result.domains.groups) > 0
    assert result.agreements[0].units == 0 and result.agreements[0].kappa is None


def test_the_files_can_be_opened_and_are_the_same_again(
    stores: dict[str, str], tmp_path: Path
) -> None:
    names = ("early", "late", "french")
    result = view(stores, *names, output=tmp_path / "view")
    files = {path.name: path.read_bytes() for path in (tmp_path / "view").iterdir()}
    assert set(files) == {
        *("index.html", "federation.json", "subjects.csv", "members.csv", "links.csv")
    }
    assert json.loads(files["federation.json"]) == json.loads(json.dumps(result.as_json()))
    tables = {
        name: list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
        for name, data in files.items()
        if name.endswith(".csv")
    }
    assert len(tables["members.csv"]) == len(result.domains.groups) + len(result.topics.groups)
    assert len(tables["links.csv"]) == len(result.domains.links) + len(result.topics.links)
    first = tables["subjects.csv"][0]
    assert int(first["units early"]) + int(first["units late"]) == int(first["units"])
    view(stores, *names, output=tmp_path / "view")
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "view").iterdir()}


def test_labels_are_no_formulas_and_no_markup(tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        with segapsith.open(tmp_path / f"{name}.db") as wire:
            wire.ingest(sample.lines("en")[:40])
            largest = wire.domains(limit=1)[0]["id"]
            wire.domains.rename(largest, "=cmd()<script>alert(1)</script>")
        paths.append(tmp_path / f"{name}.db")
    federate(paths, tmp_path / "view", min_units=2)
    page = (tmp_path / "view" / "index.html").read_text("utf-8")
    assert "<script" not in page and "=cmd()&lt;script&gt;" in page
    assert "'=cmd()" in (tmp_path / "view" / "subjects.csv").read_text("utf-8-sig")


def test_wrong_stores_are_refused(stores: dict[str, str], tmp_path: Path) -> None:
    early = stores["early"]
    with pytest.raises(UsageError, match="at least two stores"):
        federate([early])
    with pytest.raises(UsageError, match="is named twice"):
        federate([early, early])
    with pytest.raises(MissingInputError):
        federate([early, tmp_path / "missing.db"])
    with pytest.raises(UsageError, match="between 0 and 1"):
        view(stores, "early", "late", threshold=2.0)
    with pytest.raises(UsageError, match="should be a directory"):
        view(stores, "early", "late", output=early)


def test_stores_of_the_same_name_are_named_by_their_paths(
    stores: dict[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "early.db"
    copy.write_bytes(Path(stores["early"]).read_bytes())
    result = federate([stores["early"], copy], min_units=3)
    assert [one.name for one in result.stores] == [stores["early"], str(copy)]

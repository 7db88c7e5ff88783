"""The network of the stream: exact sums, frozen on the clock, the same however it was fed."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine import clock, network_state
from segapsith.engine.network_state import used_by
from segapsith.errors import MissingInputError, SettingError, UsageError
from segapsith.lexicon import word_vectors
from segapsith.lexicon.cooccurrence import key_of
from segapsith.model import Annotation, Network, Unit
from segapsith.plugin.contracts import NETWORK_PARTS
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.settings import resolve
from segapsith_store import pair_runs

Command = Callable[..., tuple[int, str, str]]


class Company:
    """Cuts a text before its best connected word, so that units follow from the network."""

    uses = frozenset({"network", "vectors"})
    seen: list[Network]

    def __init__(self) -> None:
        self.seen = []

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        self.seen.append(network)
        n = len(annotation.lemmas)
        if not n:
            return
        rows = network.numbers(annotation.lemmas)
        strength = np.zeros(n)
        for i, row in enumerate(rows.tolist()):
            if row >= 0 and row < len(network.starts) - 1:
                strength[i] = network.weights[network.starts[row] : network.starts[row + 1]].sum()
            if 0 <= row < len(network.vectors):
                strength[i] += abs(float(network.vectors[row].sum()))
        cut = int(strength.argmax())
        at = int(annotation.spans[cut, 0])
        value = float(strength.max()) + network.mean_cohesion
        if cut:
            yield Unit(0, at, 0, cut, value)
        yield Unit(at if cut else 0, len(annotation.document.text), cut, n, value / 2)


class Plugin:
    @segapsith.hookimpl
    def register_segmenters(self) -> Mapping[str, type[Company]]:
        return {"company": Company}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins(Plugin())


def wire_on(
    registry: Registry,
    path: str | Path = ":memory:",
    *,
    change_learning: bool = False,
    **chosen: Any,
) -> Wire:
    values = {"segmenter": "company", "network_min_cohesion": 0.01, **chosen}
    settings = resolve(values, environment={})
    return Wire(path, settings, registry, change_learning=change_learning)


def stories(n: int = 40) -> list[dict[str, Any]]:
    """English and French in turn."""
    both = zip(sample.lines("en"), sample.lines("fr"), strict=False)
    return [dict(story) for pair in both for story in pair][:n]


def sums(wire: Wire) -> dict[int, int]:
    return {
        key: count
        for piece in wire.writer.pairs()
        for key, count in zip(piece.keys.tolist(), piece.counts.tolist(), strict=True)
    }


def recomputed(wire: Wire) -> dict[int, int]:
    met: Counter[int] = Counter()
    for _, _, _, words in wire.writer.sequences(0):
        for i, one in enumerate(words.tolist()):
            for other in words[i + 1 : i + 20].tolist():
                if other != one:
                    met[key_of(one, other)] += 1
    return dict(met)


def sound(wire: Wire) -> None:
    verdict = wire.verify()
    assert verdict.sound, verdict.faults


@pytest.mark.slow
def test_cutting_the_stream_does_not_matter(registry: Registry) -> None:
    items = stories()
    digests = set()
    for size, parts in ((200, 1), (7, 1), (11, 3)):
        wire = wire_on(registry, batch_size=size)
        step = -(-len(items) // parts)
        for at in range(0, len(items), step):
            wire.ingest(items[at : at + step])
            wire.engine._state = None  # as if the program had ended
        digests.add(wire.status()["digest"])
        sound(wire)
        assert sums(wire) == recomputed(wire)
        assert len(wire.network.of("en").neighbours)
        wire.close()
    assert len(digests) == 1


def test_two_languages_are_never_linked(registry: Registry) -> None:
    with wire_on(registry) as wire:
        wire.ingest(stories(32))
        langs = wire.engine.state.vocabulary.langs
        network = wire.network.of("fr")
        rows = np.repeat(np.arange(len(network.starts) - 1), np.diff(network.starts)).tolist()
        assert rows
        assert all(
            langs[a] == langs[b] for a, b in zip(rows, network.neighbours.tolist(), strict=True)
        )
        assert "inflation" not in network.rows or langs[network.rows["inflation"]] == "fr"


def test_texts_between_two_renewals_see_the_same_network(registry: Registry) -> None:
    with wire_on(registry, lang="en") as wire:
        items = [dict(story) for story in sample.lines("en")[:40]]
        wire.ingest(items)
        seen = wire.engine.components.segmenter.plugin.seen  # type: ignore[attr-defined]
        ends = [len(network.starts) for network in seen]
        assert ends[0] == 1
        assert len(set(ends)) <= 5  # at first nothing, then renewed at 8, 16, 24 and 32
        assert ends[-1] > 1
        assert seen[-1].mean_cohesion > 0


def test_forgetting_takes_pairs_and_cohesion_out(registry: Registry) -> None:
    items = stories(24)
    with wire_on(registry) as wire:
        wire.ingest(items)
        wire.forget(items[3]["id"])
        sound(wire)
        assert sums(wire) == recomputed(wire)
        runs = wire.writer.number("SELECT count(DISTINCT run) FROM pair_runs")
        assert runs == 1  # what was taken away is in no run
        for size, keys, counts in wire.writer.rows("SELECT size, pairs, counts FROM pair_runs"):
            assert (pair_runs.block_from(size, keys, counts).counts > 0).all()


def test_undoing_is_exact(registry: Registry) -> None:
    items = stories(24)
    with wire_on(registry) as wire:
        wire.ingest(items[:16])
        before, kept, cohesion = wire.status()["digest"], sums(wire), wire.writer.cohesion()
        corrected = {**items[0], "text": items[20]["text"] + " Once more, with other words."}
        wire.ingest([*items[16:], corrected])
        sound(wire)
        wire.runs.undo()
        sound(wire)
        assert sums(wire) == kept
        assert wire.writer.cohesion() == cohesion
        assert wire.status()["digest"] == before


def test_words_of_a_bag_do_not_meet(registry: Registry) -> None:
    with wire_on(registry) as wire:
        wire.learn([{"id": "u1", "words": {"storm": 2, "rain": 1}}])
        assert sums(wire) == {}
        assert wire.writer.cohesion() == {"en": (0, 0)}
        sound(wire)


@pytest.mark.parametrize("column", ["counts", "pairs", "mark"])
def test_verify_sees_a_changed_run(registry: Registry, tmp_path: Path, column: str) -> None:
    with wire_on(registry, tmp_path / "s.db") as wire:
        wire.ingest(stories(6))
        size, keys, counts, mark = wire.writer.rows(
            "SELECT size, pairs, counts, mark FROM pair_runs"
        ).__next__()
        block = pair_runs.block_from(size, keys, counts)
        block.counts[0] += 1
        block.keys[-1] += 1
        changed = dict(zip(("pairs", "counts"), pair_runs.block_bytes(block), strict=True))
        changed["mark"] = bytes(len(mark))
        wire.writer.change(
            lambda c: c.execute(f"UPDATE pair_runs SET {column} = ?", [changed[column]]).rowcount
        )
        assert any("pairs" in fault for fault in wire.verify().faults)


def test_verify_sees_damage_and_changed_cohesion(registry: Registry) -> None:
    with wire_on(registry) as wire:
        wire.ingest(stories(4))
        wire.writer.change(lambda c: c.execute("UPDATE languages SET cohesion = 7").rowcount)
        wire.writer.change(lambda c: c.execute("UPDATE pair_runs SET pairs = x'00'").rowcount)
        faults = " ".join(wire.verify().faults)
        assert "damaged" in faults
        assert "cohesion" in faults


@pytest.mark.slow
def test_many_runs_become_few_and_stay_in_blocks(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_runs, "BLOCK", 300)
    with wire_on(registry, batch_size=1, segmenter="none") as wire:
        wire.ingest(stories(30))
        runs = wire.writer.number("SELECT count(DISTINCT run) FROM pair_runs")
        assert runs <= 2 * pair_runs.RUNS
        assert wire.writer.number("SELECT max(level) FROM pair_runs") >= 1
        assert wire.writer.number("SELECT max(size) FROM pair_runs") == 300
        assert sums(wire) == recomputed(wire)
        sound(wire)
        assert wire.writer.row("SELECT 1 FROM epochs WHERE name = 'network'") is None


def test_another_segmenter_does_not_change_what_is_summed(registry: Registry) -> None:
    marks = set()
    for segmenter in ("company", "none", "paragraphs"):
        with wire_on(registry, segmenter=segmenter) as wire:
            wire.ingest(stories(10))
            marks.add(wire.writer.pair_mark())
    assert len(marks) == 1


@pytest.mark.slow
def test_a_network_that_was_not_frozen_is_frozen_when_it_is_needed(
    registry: Registry, tmp_path: Path
) -> None:
    digests = set()
    for size in (200, 3):
        path = tmp_path / f"{size}.db"
        with wire_on(registry, path, segmenter="none", batch_size=size) as wire:
            wire.ingest(stories(20))
        with wire_on(registry, path, batch_size=size, change_learning=True) as wire:
            wire.ingest(stories(30)[20:])
            digests.add(wire.status()["digest"])
            sound(wire)
    assert len(digests) == 1


def test_the_window_of_a_store_stays(registry: Registry, tmp_path: Path) -> None:
    with wire_on(registry, tmp_path / "s.db") as wire:
        wire.ingest(stories(2))
    with (
        wire_on(registry, tmp_path / "s.db", network_window=5) as wire,
        pytest.raises(SettingError, match="network_window=5"),
    ):
        wire.ingest(stories(2))
    with pytest.raises(SettingError, match="network_links=-1"):
        wire_on(registry, network_links=-1).ingest([])


def test_segmenters_may_use_only_what_a_network_has() -> None:
    class Greedy:
        uses = ("network", "oracle")

    assert used_by(object()) == NETWORK_PARTS
    with pytest.raises(SettingError, match="oracle"):
        used_by(Greedy())


@pytest.mark.slow
def test_the_text_of_segment_is_read_with_the_network_of_a_store(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    with Wire(path, resolve({"segmenter": "cohesion"}, environment={})) as wire:
        wire.ingest([dict(story) for story in sample.lines("en")])
        assert wire.network.of("en").vectors.shape[1] > 1
        names = {row[0] for row in wire.writer.rows("SELECT name FROM epochs")}
        assert names == {"frequencies", "word space"}
    text = "\n\n".join(story["text"] for story in sample.lines("en")[:3])
    alone = segapsith.segment(text, lang="en", segmenter="cohesion")
    taught = segapsith.segment(text, lang="en", segmenter="cohesion", store=path)
    assert taught
    assert taught[-1].end == alone[-1].end == len(text)


# --- axes from the company that words keep ------------------------------------------------


@pytest.fixture
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the sample is a stream long enough for axes from company."""
    monkeypatch.setattr(network_state, "ENOUGH_WORDS", 300)
    monkeypatch.setattr(word_vectors, "_MIN_OCCURRENCES", 3)
    monkeypatch.setattr(word_vectors, "_MIN_PAIR_COUNT", 1)


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_enough")
def test_axes_from_company_do_not_depend_on_how_the_stream_is_cut(registry: Registry) -> None:
    digests, points = set(), []
    for size in (200, 7):
        with wire_on(registry, batch_size=size) as wire:
            wire.ingest(stories())
            digests.add(wire.status()["digest"])
            points.append(wire.network.of("en").vectors)
            by_stories = min(network_state.RANK, len(stories()) // 2 // 4)
            assert points[-1].shape[1] > by_stories
    assert len(digests) == 1
    assert np.array_equal(*points)


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_enough")
def test_a_reference_corpus_alone_gives_words_points(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Wire(path, resolve({"lang": "en"}, environment={})) as wire:
        run = wire.network.build([dict(story) for story in sample.lines("en")])["run"]
        taught = wire.network.of("en")
        rows = taught.numbers(["court", "judge"])
        assert taught.vectors[rows].any(axis=1).all()
        wire.ingest([dict(story) for story in sample.lines("en")[:3]])
        assert wire.writer.row("SELECT 1 FROM epochs WHERE name = 'word space'") is not None
        wire.runs.undo()
        wire.runs.undo(run)
        assert wire.writer.row("SELECT 1 FROM epochs WHERE name = 'word space'") is None
        assert not wire.network.of("en").vectors.any()


# --- reference corpora -------------------------------------------------------------------


@pytest.mark.slow
def test_a_reference_corpus_counts_for_the_network_only(registry: Registry, tmp_path: Path) -> None:
    corpus, items = stories(30), stories(40)[30:]
    with wire_on(registry, tmp_path / "s.db") as wire:
        wire.ingest(items[:4])
        before, kept = wire.status(), sums(wire)
        found = wire.network.build(corpus)
        assert found["documents"] == 30
        assert set(found["languages"]) == {"en", "fr"}
        after = wire.status()
        assert after["documents"] == before["documents"]
        assert after["words"] == before["words"]
        assert after["digest"] != before["digest"]
        assert sum(sums(wire).values()) > sum(kept.values())
        sound(wire)
        wire.ingest(items[4:])  # it is read with the corpus at once
        seen = wire.engine.components.segmenter.plugin.seen  # type: ignore[attr-defined]
        assert len(seen[0].neighbours)
        wire.forget(items[0]["id"])
        sound(wire)
        wire.runs.undo(3)
        wire.runs.undo(2)
        sound(wire)
        assert wire.writer.references() == []
        assert sums(wire) == recomputed(wire)


def test_a_corpus_that_fails_leaves_nothing(registry: Registry) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from stories(3)
        raise RuntimeError("the disk is gone")

    with wire_on(registry) as wire:
        wire.ingest(stories(2))
        before = wire.status()["digest"]
        with pytest.raises(RuntimeError):
            wire.network.build(broken())
        assert wire.status()["digest"] == before
        assert wire.writer.number("SELECT count(*) FROM pair_runs WHERE source <> 0") == 0
        wire.ingest(stories(6))
        sound(wire)


@pytest.mark.slow
def test_the_same_corpus_is_taken_once(command: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(story) + "\n" for story in stories(40)))
    code, out, err = command("network", "build", str(corpus), "--store", "s.db", "--json")
    assert code == 0, err
    assert json.loads(out)["documents"] == 40
    code, _, err = command("network", "build", str(corpus), "--store", "s.db")
    assert code == 2
    assert "run 1" in err
    code, out, err = command("network", "status", "--store", "s.db", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["links"] > 0
    assert found["tokens"] == sum(r["words"] for r in found["references"])
    assert command("runs", "undo", "--store", "s.db")[0] == 0
    assert json.loads(command("network", "status", "--store", "s.db", "--json")[1])["pairs"] == 0
    assert command("network", "build", str(corpus), "--store", "s.db")[0] == 0
    assert command("verify", "--store", "s.db")[0] == 0


@pytest.mark.slow
def test_the_company_of_a_word_is_shown(command: Command, tmp_path: Path) -> None:
    texts = ["The storm flooded the harbour.", "A storm closed the harbour again."] * 3
    lines = [{"id": str(n), "text": f"{t} Note {n}{n}."} for n, t in enumerate(texts)]
    (tmp_path / "w.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command("network", "build", "w.jsonl", "--lang", "en", "--store", "s.db")[0] == 0
    code, out, err = command("network", "show", "Storm", "--store", "s.db", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["word"] == "storm"
    assert {"word": "harbour", "met": 6}.items() <= {
        k: v for n in found["neighbours"] if n["word"] == "harbour" for k, v in n.items()
    }.items()
    assert "harbour" in command("network", "show", "storm", "--top", "3", "--store", "s.db")[1]
    code, _, err = command("network", "show", "stormm", "--store", "s.db")
    assert code == 66
    assert "near ones: storm" in err
    code, out, _ = command("export", "--what", "network", "--to", "csv", "--store", "s.db")
    assert code == 0
    assert out.startswith("lang,word,neighbour,cohesion\n")
    assert ",storm," in out or ",harbour," in out


def test_what_is_not_there_is_said(registry: Registry) -> None:
    with wire_on(registry) as wire:
        with pytest.raises(MissingInputError, match="no word"):
            wire.network.neighbours("storm")
        assert wire.network.status()["links"] == 0
        assert wire.network.of("en").neighbours.tolist() == []

        class Again:
            key = "again"

            def items(self) -> Any:
                return iter(())

        wire.network.build(Again())
        with pytest.raises(UsageError, match="already"):
            wire.network.build(Again())


# --- the clock, the blocks ---------------------------------------------------------------


def test_renewals_are_ticks_and_never_far_apart() -> None:
    renewals = [n for n in range(1, 400_000) if clock.ticks(n) and clock.last_renewal(n) == n]
    assert all(clock.ticks(n) for n in renewals)
    for one, two in itertools.pairwise(renewals):
        assert two - one <= clock.LONGEST + clock.EPOCH
        assert two >= min(9 * one / 8, one + clock.LONGEST)
    spaces = {clock.last_space_renewal(n) for n in range(40_000)} - {0}
    assert all(clock.ticks(n) for n in spaces)


def test_blocks_come_back_as_they_were() -> None:
    chance = np.random.default_rng(0)
    keys = np.unique(chance.integers(0, 1 << 31, 500) << 32 | chance.integers(0, 1 << 31, 500))
    keys = np.unique(np.append(keys, [0, 1, key_of(1, 2)]))
    counts = chance.integers(-(1 << 40), 1 << 40, len(keys))
    pairs = pair_runs.Pairs(keys, counts)
    found = pair_runs.block_from(len(keys), *pair_runs.block_bytes(pairs))
    assert np.array_equal(found.keys, keys)
    assert np.array_equal(found.counts, counts)
    half = len(keys) // 2
    parts = [
        pair_runs.Pairs(keys[:half], counts[:half]),
        pair_runs.Pairs(keys[half:], counts[half:]),
    ]
    assert pair_runs.total_mark(map(pair_runs.mark, parts)) == pair_runs.mark(pairs)

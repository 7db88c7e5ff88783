"""The checks pass what keeps its contract and catch what does not, and so does the seam."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from segapsith import Agreement, Annotation, Document, Unit, hookimpl, testing
from segapsith.api.wire import Wire
from segapsith.errors import PluginError
from segapsith.plugin import guards
from segapsith.plugin.contracts import KINDS
from segapsith.plugin.registry import OWN_PACKAGE, Offer, load_plugins
from segapsith.settings import resolve
from segapsith.testing import CHECKS, TooSlowError, example_rows
from segapsith.testing.kit import bounded
from segapsith_plugins.exporters import json_export

BUILT_IN = [
    offer
    for key, offer in sorted(load_plugins(json_export).offers.items())
    if offer.package in (OWN_PACKAGE, "given")
]


@pytest.mark.slow
@pytest.mark.parametrize("offer", BUILT_IN, ids=lambda o: f"{o.kind}-{o.name}")
def test_built_ins_keep_their_contract(offer: Offer) -> None:
    for check in CHECKS[offer.kind]:
        check(offer.factory)


def test_every_kind_has_checks_and_a_built_in() -> None:
    assert CHECKS.keys() == KINDS.keys() == {offer.kind for offer in BUILT_IN}
    for kind, checks in CHECKS.items():
        assert getattr(testing, f"{kind}_checks") is checks
        assert len({check.__name__ for check in checks}) == len(checks)


# -- measures with one fault each ----------------------------------------------------------


class Presence:
    """Sound: the share of common words. The faulty ones below change one thing."""

    bounds = (0.0, 1.0)

    def learn(self, rows: Any) -> None:
        pass

    def compare(self, left: Any, right: Any) -> Any:
        a, b = ((rows > 0).astype(float) for rows in (left, right))
        sizes = a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :]
        return 2 * (a @ b.T).toarray() / np.maximum(sizes, 1)

    def state(self) -> Any:
        return {}

    def restore(self, state: Any) -> None:
        pass


class Raises(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        raise RuntimeError("the disk is on fire")


class NotANumber(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        return super().compare(left, right) * np.nan


class WrongShape(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        return super().compare(left, right)[:, :-1]


class OutOfBounds(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        return super().compare(left, right) + 1.5


class Asymmetric(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        lengths, others = (np.diff(rows.indptr) + 1.0 for rows in (left, right))
        return super().compare(left, right) * lengths[:, None] / (lengths[:, None] + others)


class Mutates(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        right.data[:] = 1.0 + (right.data == 1.0)
        return super().compare(left, right)


class GivesNone(Presence):
    def compare(self, left: Any, right: Any) -> Any:
        return None


class Slow(Presence):
    clock: Any

    def compare(self, left: Any, right: Any) -> Any:
        self.clock.advance(60)
        self.clock.ring()
        return super().compare(left, right)


@pytest.fixture(autouse=True)
def charged(clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what `Slow` says counts as time: a busy machine makes nobody slow."""
    monkeypatch.setattr(guards, "charged_seconds", clock)
    monkeypatch.setattr(Slow, "clock", clock, raising=False)


FAULTS: list[tuple[type[Presence], str, str]] = [
    (
        Raises,
        "raised RuntimeError: the disk is on fire",
        "failed: RuntimeError: the disk is on fire",
    ),
    (NotANumber, "values that are not finite", "a value that is not finite"),
    (WrongShape, r"returned shape \(24, 23\); \(24, 24\) is wanted", "returned shape"),
    (OutOfBounds, r"returned 1\.5…2\.5; bounds = \(0, 1\)", "outside its bounds 0…1"),
    (Asymmetric, "is not symmetric", "is not symmetric"),
    (Mutates, "compare changed its input", "compare changed its input"),
    (GivesNone, "compare returned NoneType", "returned NoneType, not an array"),
    (Slow, "took more than 60 seconds", "took more than 20 seconds and was stopped"),
]

faults = pytest.mark.parametrize(
    ("measure", "checked", "at_the_seam"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS]
)


def failures(factory: Callable[[], object], kind: str, seconds: float = 60.0) -> dict[str, str]:
    """The checks that fail, with their reasons."""
    found = {}
    for check in CHECKS[kind]:
        try:
            check(factory, seconds)
        except AssertionError as error:
            found[check.__name__] = str(error)
    return found


def test_the_sound_measure_passes() -> None:
    assert failures(Presence, "similarity") == {}


@faults
def test_the_checks_name_the_fault(measure: type[Presence], checked: str, at_the_seam: str) -> None:
    slow = measure is Slow
    broken = [
        check for check in CHECKS["similarity"]
        if check.__name__ in ("check_shape_bounds_and_symmetry", "check_compare_changes_nothing")
    ]  # fmt: skip
    with pytest.raises(AssertionError, match=checked) as caught:
        for check in broken:
            check(measure)
    assert str(caught.value).startswith(f"{measure.__name__}: ")
    assert isinstance(caught.value, TooSlowError) == slow


@pytest.mark.slow
def test_time_that_does_not_count_makes_nobody_slow() -> None:
    def check_nothing(_: object) -> None:
        sum(range(10**7))  # longer than the limit by any real clock

    bounded(check_nothing)(Presence, 0.02)


def texts(n: int) -> Iterator[Document]:
    for number in range(n):
        yield Document(
            uid=f"d{number}", body=f"river water bridge rain storm dam word{number} " * 4, lang="en"
        )


@faults
def test_the_seam_names_the_fault_and_the_store_is_as_it_was(
    measure: type[Presence], checked: str, at_the_seam: str, tmp_path: Path
) -> None:
    class Offering:
        @hookimpl
        def register_similarities(self) -> dict[str, type[Presence]]:
            return {"presence": Presence, "faulty": measure}

    path, registry = tmp_path / "wire.db", load_plugins(Offering(), time_limits=True)
    with Wire(path, resolve({"placement": "presence"}, environment={}), registry) as wire:
        wire.ingest(texts(4))
        before = wire.status()["digest"]
    other = resolve({"placement": "faulty"}, environment={})
    with Wire(path, other, registry, change_learning=True) as wire:
        with pytest.raises(PluginError, match=at_the_seam) as caught:
            wire.ingest(texts(8))
        assert "similarity 'faulty' (package given): compare" in str(caught.value)
        assert caught.value.exit_code == 70
    with Wire(path, resolve({"placement": "presence"}, environment={}), registry) as wire:
        assert wire.status()["digest"] == before
        assert wire.verify().sound
        assert wire.ingest(texts(8)).new == 4


class OnlyLearned(Presence):
    learned_rows_only = True
    known: Any = None

    def learn(self, rows: Any) -> None:
        self.known = rows.toarray()

    def compare(self, left: Any, right: Any) -> Any:
        for rows in (left, right):
            if self.known is None or not np.array_equal(rows.toarray(), self.known):
                raise ValueError("only the learned rows can be compared; learn these first")
        return super().compare(left, right)

    def state(self) -> Any:
        return {} if self.known is None else {"known": self.known}

    def restore(self, state: Any) -> None:
        self.known = state.get("known")


def test_a_measure_may_know_only_what_it_learned_if_it_says_so() -> None:
    assert failures(OnlyLearned, "similarity") == {}


def test_a_measure_that_says_so_must_refuse() -> None:
    class Careless(Presence):
        learned_rows_only = True

    found = failures(Careless, "similarity")
    assert found.keys() == {"check_new_rows", "check_before_learning", "check_growing_vocabulary"}
    assert "compare took rows that it has not learned" in found["check_new_rows"]


@pytest.mark.slow
def test_more_faults_of_measures() -> None:
    class Pickled(Presence):
        def state(self) -> Any:
            return {"words": np.array([{"a": 1}], dtype=object)}

    class Forgetful(Presence):
        scale = 1.0

        def learn(self, rows: Any) -> None:
            self.scale = 0.5

        def compare(self, left: Any, right: Any) -> Any:
            return self.scale * super().compare(left, right)

    class Restless(Presence):
        calls = 0

        def compare(self, left: Any, right: Any) -> Any:
            self.calls += 1
            return super().compare(left, right) / self.calls

    class Random(Presence):
        def __init__(self) -> None:
            self.scale = np.random.default_rng().random()

        def compare(self, left: Any, right: Any) -> Any:
            return self.scale * super().compare(left, right)

    class Greedy(Presence):
        def __init__(self, **anything: object) -> None:
            pass

    class Boundless(Presence):
        bounds: Any = None

    class Narrow(Presence):
        width: int | None = None

        def learn(self, rows: Any) -> None:
            self.width = rows.shape[1]

        def compare(self, left: Any, right: Any) -> Any:
            if self.width not in (None, left.shape[1]):
                raise ValueError("dimension mismatch")
            return super().compare(left, right)

    class Diagonal(Presence):
        unit_diagonal = True

        def compare(self, left: Any, right: Any) -> Any:
            return super().compare(left, right) / 2

    wanted: list[tuple[Callable[[], object], str, str]] = [
        (Pickled, "check_state_round_trip", "of objects"),
        (Forgetful, "check_state_round_trip", "after restore"),
        (Restless, "check_compare_changes_nothing", "another answer"),
        (Random, "check_same_rows_same_values", "two fresh measures differ"),
        (Greedy, "check_settings", "took the unknown setting"),
        (Boundless, "check_it_is_a_similarity", "bounds is None"),
        (Narrow, "check_growing_vocabulary", "dimension mismatch"),
        (Diagonal, "check_shape_bounds_and_symmetry", "unit_diagonal is declared"),
        (SimpleNamespace, "check_it_is_a_similarity", "it lacks bounds, compare, learn"),
    ]
    for factory, check, reason in wanted:
        assert reason in failures(factory, "similarity").get(check, ""), (factory, check)


# -- faults of the other kinds -------------------------------------------------------------


def test_faults_of_clusterers() -> None:
    def giving(labels: Callable[[Any], Any]) -> Callable[[], object]:
        return lambda: SimpleNamespace(cluster=lambda rows, compare: labels(rows))

    for labels, reason in (
        (lambda rows: np.zeros(rows.shape[0], int), ""),
        (lambda rows: np.zeros(rows.shape[0] + 1, int), "one label a row"),
        (lambda rows: np.ones(rows.shape[0], int), "without gaps"),
        (lambda rows: np.full(rows.shape[0], -1), "only empty rows may"),
        (lambda rows: np.zeros(rows.shape[0]), "integers are wanted"),
        (lambda rows: None, "cluster returned NoneType"),
        (lambda rows: np.random.default_rng().permutation(rows.shape[0]), "other labels"),
        (lambda rows: (rows.data.fill(1), np.zeros(rows.shape[0], int))[1], "changed its input"),
    ):
        found = failures(giving(labels), "clusterer")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found


@pytest.mark.slow
def test_faults_of_segmenters() -> None:
    def cutting(units: Callable[[Annotation], Any]) -> Callable[[], object]:
        return lambda: SimpleNamespace(segment=lambda annotation, network: units(annotation))

    def whole(a: Annotation, **other: Any) -> list[Unit]:
        values = {"start": 0, "end": len(a.document.text), "first": 0, "last": len(a.lemmas)}
        return [Unit(**(values | other))]

    for units, reason in (
        (whole, ""),
        (lambda a: whole(a, last=max(0, len(a.lemmas) - 1)), "tokens"),
        (lambda a: whole(a, end=len(a.document.text) + 1), "should lie in"),
        (lambda a: whole(a, cohesion=float("nan")), "cohesion is nan"),
        (lambda a: whole(a) * 2, "too many"),
        (lambda a: None, "segment returned NoneType"),
        (lambda a: ["unit"], "segment gave str"),
    ):
        found = failures(cutting(units), "segmenter")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found


def test_faults_of_annotators() -> None:
    def reading(annotate: Callable[[Any], Any]) -> Callable[[], object]:
        return lambda: SimpleNamespace(annotate=lambda documents, lexicon: annotate(documents))

    def bare(document: Document, **other: Any) -> Annotation:
        nothing = np.zeros((0, 2), np.int32)
        values = {
            "lemmas": [],
            "spans": nothing,
            "content": np.zeros(0, bool),
            "sentences": nothing,
        }
        return Annotation(document, **(values | other))

    outside = {"lemmas": ["x"], "spans": np.array([[0, 10**6]]), "content": np.ones(1, bool)}
    for annotate, reason in (
        (lambda ds: (bare(d) for d in ds), ""),
        (lambda ds: iter([bare(d) for d in ds]), "before it gave the first"),
        (lambda ds: (bare(d) for d in ds if d.body), "one each is wanted"),
        (lambda ds: (bare(Document(uid="x")) for d in ds), "got the annotation of x"),
        (lambda ds: (bare(d, **outside) for d in ds), "should lie in the text"),
        (lambda ds: (bare(d, content=np.zeros(0)) for d in ds), "booleans are wanted"),
        (lambda ds: None, "annotate returned NoneType"),
    ):
        found = failures(reading(annotate), "annotator")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found


def test_faults_of_sources() -> None:
    numbers = iter(range(10**6))

    def giving(read: Callable[[Any], Any], sniff: object = 0.5) -> Callable[[], object]:
        return lambda: SimpleNamespace(
            sniff=lambda head: sniff, read=lambda stream, name: read(stream)
        )

    def decoded(stream: Any) -> Iterator[Document]:
        yield Document(body=stream.read().decode("utf-8"))

    for factory, reason in (
        (giving(lambda stream: iter(())), ""),
        (giving(lambda stream: iter(()), 1.5), "from 0 to 1"),
        (giving(decoded), "raised UnicodeDecodeError"),
        (
            giving(lambda stream: iter([Document(body=str(stream.read()))])),
            "before an item was asked",
        ),
        (giving(lambda stream: (Document(uid=str(next(numbers))) for _ in "a")), "read again"),
        (giving(lambda stream: (Document(uid="a") for _ in "ab")), "have one uid"),
        (giving(lambda stream: (None for _ in "a")), "read gave NoneType"),
        (giving(lambda stream: (stream.seek(0) for _ in "a")), "raised UnsupportedOperation"),
        (giving(lambda stream: []), "an iterator is wanted"),
    ):
        found = failures(factory, "source")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found


def test_faults_of_comparisons_and_exporters() -> None:
    def comparing(measure: Callable[[Any, Any], Any]) -> Callable[[], object]:
        return lambda: SimpleNamespace(measure=measure)

    def disagreement(left: Any, right: Any) -> float:
        return float(len(left.labels) == len(right.labels) and (left.labels != right.labels).any())

    for measure, reason in (
        (lambda left, right: Agreement(1.0), ""),
        (lambda left, right: Agreement(float("nan")), "a finite one is wanted"),
        (lambda left, right: Agreement(1.0, {"a": float("inf")}), "not JSON"),
        (lambda left, right: 1.0, "measure returned float"),
        (lambda left, right: Agreement(disagreement(left, right)), "the snapshot itself 0"),
    ):
        found = failures(comparing(measure), "comparison")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found

    def writing(export: Callable[[Any, Any], Any]) -> Callable[[], object]:
        return lambda: SimpleNamespace(export=lambda snapshot, out: export(snapshot, out) and None)

    for export, reason in (
        (lambda s, out: out.write(str(s.labels.tolist()).encode()), ""),
        (lambda s, out: None, "wrote nothing"),
        (lambda s, out: out.write("text"), "bytes are wanted"),
        (lambda s, out: out.write(f"{id(out)} {time.perf_counter_ns()}".encode()), "other bytes"),
        (lambda s, out: out.write(b"same"), "gave the same bytes"),
        (lambda s, out: (out.write(b"x"), out.close()), "closed the stream"),
    ):
        found = failures(writing(export), "exporter")
        assert bool(found) == bool(reason) and reason in " ".join(found.values()), found


# -- the seam, where the checks are not asked ----------------------------------------------


def made(kind: str, plugin: object) -> Any:
    return getattr(guards, f"Guarded{kind.title()}")(
        plugin, guards.PluginName(kind, "faulty", "acme")
    )


def test_a_source_that_gives_none_is_named_and_not_taken_for_the_end() -> None:
    source = SimpleNamespace(read=lambda stream, name: iter([Document(body="a"), None]))
    items = made("source", source).read(io.BytesIO(), "x")
    next(items)
    with pytest.raises(PluginError, match=r"source 'faulty' \(package acme\): read gave NoneType"):
        next(items)


def test_what_cannot_even_be_looked_at_is_named() -> None:
    class Boundless(Presence):
        bounds: Any = None

    unit = Unit(0, 1, 0, 1, cohesion=None)  # type: ignore[arg-type]  # that is the fault
    note = testing.example_annotation("a")
    broken = Annotation(note.document, None, note.spans, note.content, note.sentences)  # type: ignore[arg-type]  # wrong on purpose
    rows = example_rows(2)
    for work, hook in (
        (lambda: made("similarity", Boundless()).compare(rows, rows), "compare"),
        (lambda: made("segmenter", SimpleNamespace(segment=lambda a, n: [unit])).segment(note, None), "segment"),
        (lambda: list(made("annotator", SimpleNamespace(annotate=lambda d, x: [broken])).annotate([note.document], None)), "annotate"),
        (lambda: made("comparison", SimpleNamespace(measure=lambda a, b: Agreement(None))).measure(None, None), "measure"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: made("exporter", SimpleNamespace(export=lambda s, o: 1 / 0)).export(None, None), "export"),
    ):  # fmt: skip
        with pytest.raises(PluginError, match=rf"'faulty' \(package acme\): {hook} failed"):
            work()


def test_a_full_disk_is_not_the_exporters_fault() -> None:
    def full(snapshot: Any, out: Any) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        made("exporter", SimpleNamespace(export=full)).export(None, None)


def test_sorting_indices_is_no_change_and_zeros_make_no_row_full() -> None:
    rows = example_rows(3)
    rows.indices[:2] = rows.indices[:2][::-1].copy()
    rows.has_sorted_indices = False

    class Sorts(Presence):
        def compare(self, left: Any, right: Any) -> Any:
            left.sort_indices()
            return super().compare(left, right)

    made("similarity", Sorts()).compare(rows, rows)
    rows.data[rows.indptr[1] : rows.indptr[2]] = 0.0
    labels = np.array([0, -1, 1])
    clusterer = SimpleNamespace(cluster=lambda rows, compare: labels)
    assert made("clusterer", clusterer).cluster(rows, None).tolist() == [0, -1, 1]

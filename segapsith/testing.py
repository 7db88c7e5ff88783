"""Checks that plugin authors import: the contract of each kind, as plain asserts.

One tuple of checks for each kind. A check takes a factory, which is anything that gives a fresh
plugin when it is called without arguments (a class will do), and raises an `AssertionError` that
names the plugin, what was found and what was wanted:

    @pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
    def test_it_keeps_the_contract(check):
        check(Dice)

`segapsith plugins check NAME` runs the same checks on what is installed.
"""

from __future__ import annotations

import functools
import inspect
import io
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from scipy.sparse import csr_array, vstack

from segapsith.arrays import Labels, Matrix, Rows
from segapsith.contracts import KINDS, NETWORK_PARTS
from segapsith.model import (
    Agreement,
    Annotation,
    Document,
    Lexicon,
    Network,
    Reject,
    Snapshot,
    Unit,
)
from segapsith.seam import TOLERANCE, Who, time_limit

__all__ = [
    "CHECKS",
    "SECONDS",
    "Check",
    "TooSlowError",
    "annotator_checks",
    "clusterer_checks",
    "comparison_checks",
    "example_annotation",
    "example_documents",
    "example_rows",
    "example_snapshot",
    "exporter_checks",
    "segmenter_checks",
    "similarity_checks",
    "source_checks",
]

Factory: TypeAlias = Callable[..., Any]
"""Gives a fresh plugin when it is called; takes its settings by name."""

Check: TypeAlias = Callable[..., None]
"""Takes a factory and, if its time limit is to be another one, `seconds`."""

SECONDS = 60.0
"""Time that one check may take; its rows and texts are small."""


class TooSlowError(AssertionError):
    """A check took more time than it may."""


def _check(body: Callable[[Factory], None]) -> Check:
    """The check with its time limit; whatever goes wrong in it names the plugin."""

    @functools.wraps(body)
    def check(factory: Factory, seconds: float = SECONDS) -> None:
        name = getattr(factory, "__name__", None) or type(factory).__name__
        failure: BaseException | None = None
        began = time.monotonic()
        try:
            with time_limit(Who("plugin", name), body.__name__, seconds):
                body(factory)
        except (Exception, SystemExit) as error:
            failure = error
        if time.monotonic() - began >= seconds:
            wanted = f"{name}: {body.__name__} took more than {seconds:g} seconds"
            raise TooSlowError(wanted) from failure
        if failure is not None:
            broken = isinstance(failure, AssertionError)
            raised = f"{body.__name__}: raised {type(failure).__name__}: {failure}"
            said = f"{name}: {failure if broken else raised}"
            raise AssertionError(said) from (None if broken else failure)

    return check


# -- examples ------------------------------------------------------------------------------


def example_rows(
    n_rows: int = 24, n_words: int = 60, *, n_groups: int = 4, length: int = 20, seed: int = 0
) -> Rows:
    """Word counts in groups that mostly keep to words of their own; no row is empty.

    >>> example_rows(3, 10).shape, bool((example_rows(3, 10).sum(axis=1) == 20).all())
    ((3, 10), True)
    """
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, n_words + 1)
    drawn = rng.choice(n_words, size=(n_rows, length), p=chances / chances.sum())
    group = np.arange(n_rows) % n_groups
    own = rng.random((n_rows, length)) < 0.7
    words = np.where(own, (drawn * n_groups + group[:, None]) % n_words, drawn)
    rows = np.repeat(np.arange(n_rows), length)
    found = csr_array((np.ones(rows.size), (rows, words.ravel())), shape=(n_rows, n_words))
    found.sum_duplicates()
    return found


def example_documents() -> tuple[Document, ...]:
    """Texts of every sort: plain, empty, foreign, odd, long."""
    texts = (
        "The river rose in the night. Three bridges were closed.\n\nSchools stayed shut.",
        "",
        " \n\t\r\n ",
        "Flood",
        "…?! — (–) «»",
        "Le fleuve a débordé ; l’école d’à côté n’ouvrira pas aujourd’hui.",
        "Rain 🌧️ and more rain 👩‍👩‍👧‍👦🇫🇷 until\u200b Monday",
        "A NUL was here: a\ufffdb. Half a pair too: \ufffd\ufffd.",
        "النهر ارتفع ليلا 川は夜に上昇した Река поднялась",
        "e\u0301te\u0301 \u202egnp.exe\u202c fi\ufb01 ß İstanbul",
        "1,234.5 % of $3bn-a-year on 2026-01-31 at http://example.org/a?b=c&d=%20 @you #rain",
        "word" * 25_000,
        "one two three. " * 2_000,
        "line\n" * 500,
    )
    return tuple(
        Document(uid=f"d{number}", title="Storm" if number % 3 == 0 else "", body=text, lang=lang)
        for number, (text, lang) in enumerate(
            zip(texts, ["en", "fr", None, "en", "en", "fr", "en"] * 2, strict=True)
        )
    )


_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")


def example_annotation(body: str, title: str = "") -> Annotation:
    """A text cut at everything that is no letter or digit; words of four letters are content.

    >>> list(example_annotation("The river rose.").lemmas)
    ['the', 'river', 'rose']
    """
    document = Document(uid="example", title=title, body=body, lang="en")
    words = list(_WORD.finditer(document.text))
    sentences = [m.span() for m in _SENTENCE.finditer(document.text)]
    return Annotation(
        document,
        [m.group().lower() for m in words],
        np.array([m.span() for m in words], np.int32).reshape(-1, 2),
        np.array([len(m.group()) > 3 for m in words], np.bool_),
        np.array(sentences, np.int32).reshape(-1, 2),
    )


def example_snapshot(
    n_units: int = 40, *, n_groups: int = 4, seed: int = 0, name: str = "example"
) -> Snapshot:
    """Units in groups of their own words, with some left alone; words that are hard to quote."""
    rows = example_rows(n_units, 30, n_groups=n_groups, seed=seed)
    labels = np.arange(n_units, dtype=np.int64) % n_groups
    labels[n_units - n_units // 10 :] = -1
    odd = ('a "b"', "c,d", "é\n", "🌧️", "<e>", "f\tg", "'h'", "\\i")
    words = [*odd, *(f"word{number}" for number in range(len(odd), 30))]
    units = np.arange(1, n_units + 1, dtype=np.int64) * 3
    groups = {g: {"word9": 1.0, f"word{10 + g}": 0.5} for g in range(min(n_groups, n_units))}
    return Snapshot(name, units, labels, rows, words, groups)


# -- what several kinds share --------------------------------------------------------------


def _taken(factory: Factory, **settings: object) -> Any:
    """A plugin with those of the settings that it has."""
    known = inspect.signature(factory).parameters
    return factory(**{name: value for name, value in settings.items() if name in known})


def _of_kind(kind: str, factory: Factory) -> None:
    made, wanted = factory(), KINDS[kind]
    named = {*vars(wanted), *getattr(wanted, "__annotations__", {})}
    lacking = sorted(n for n in named if n[0] != "_" and not hasattr(made, n))
    assert not lacking, f"is not a {kind}: it lacks {', '.join(lacking)}"


@_check
def check_settings(factory: Factory) -> None:
    """Every setting has a default, and an unknown one is refused with TypeError or ValueError."""
    without = [
        p.name
        for p in inspect.signature(factory).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    assert not without, f"settings without a default: {', '.join(without)}"
    try:
        factory(no_such_setting=1)
    except (TypeError, ValueError):
        return
    raise AssertionError("took the unknown setting no_such_setting=1; TypeError is wanted")


class _Frozen:
    """Rows as they were, to see afterwards whether anything in them has changed."""

    def __init__(self, *rows: Rows) -> None:
        self._rows = rows
        self._before = [(r.data.copy(), r.indices.copy(), r.indptr.copy()) for r in rows]

    def assert_same(self, method: str) -> None:
        for rows, before in zip(self._rows, self._before, strict=True):
            now = (rows.data, rows.indices, rows.indptr)
            for name, old, new in zip(("data", "indices", "indptr"), before, now, strict=True):
                changed = f"{method} changed its input (rows.{name}); a copy is wanted"
                assert np.array_equal(old, new), changed


def _parts(rows: Rows) -> tuple[Rows, Rows]:
    half = rows.shape[0] // 2
    return rows[:half], rows[half:]


def _with_empty(rows: Rows, *places: int) -> Rows:
    """The rows with those at the places emptied."""
    kept = np.ones(rows.shape[0])
    kept[list(places)] = 0.0
    emptied = csr_array(rows.multiply(kept[:, None]))
    emptied.eliminate_zeros()
    return emptied


def _wider(rows: Rows, n_words: int) -> Rows:
    """The rows in a vocabulary that has grown; the last word is in the last row."""
    wide = csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_words))
    corner = csr_array(([2.0], ([rows.shape[0] - 1], [n_words - 1])), shape=wide.shape)
    return csr_array(wide + corner)


# -- similarities --------------------------------------------------------------------------


def _only_learned(measure: Any) -> bool:
    return bool(getattr(measure, "learned_rows_only", False))


def _learned(factory: Factory, rows: Rows) -> Any:
    measure = factory()
    measure.learn(rows.copy())
    return measure


def _sound(measure: Any, left: Rows, right: Rows) -> Matrix:
    """What `compare` gives, if it is as promised."""
    values = measure.compare(left, right)
    wanted = (left.shape[0], right.shape[0])
    assert isinstance(values, np.ndarray), (
        f"compare returned {type(values).__name__}; a numpy array of shape {wanted} is wanted"
    )
    assert values.shape == wanted, f"compare returned shape {values.shape}; {wanted} is wanted"
    assert np.issubdtype(values.dtype, np.floating), (
        f"compare returned {values.dtype}; floating point is wanted"
    )
    if values.size:
        n_wrong = int((~np.isfinite(values)).sum())
        assert not n_wrong, f"compare returned {n_wrong} values that are not finite (NaN or ∞)"
        low, high = measure.bounds
        lowest, highest = float(values.min()), float(values.max())
        assert low - TOLERANCE <= lowest and highest <= high + TOLERANCE, (
            f"compare returned {lowest:g}…{highest:g}; bounds = ({low:g}, {high:g}) is declared"
        )
    return cast(Matrix, values)


def _refused(measure: Any, left: Rows, right: Rows, why: str) -> None:
    """A measure that knows only learned rows says so with a clean `ValueError`."""
    try:
        measure.compare(left, right)
    except ValueError as error:
        assert str(error), f"compare refused {why} without a word; a reason is wanted"
        return
    raise AssertionError(f"learned_rows_only is declared, but compare took {why}")


def _compared(measure: Any, left: Rows, right: Rows, why: str) -> None:
    """New rows: both ways alike, or refused where only learned rows are known."""
    if _only_learned(measure):
        _refused(measure, left, right, why)
    else:
        _assert_transposed(_sound(measure, left, right), _sound(measure, right, left))


def _assert_transposed(values: Matrix, turned: Matrix) -> None:
    if values.size:
        apart = float(np.abs(values - turned.T).max())
        assert apart <= TOLERANCE, (
            f"compare is not symmetric: compare(a, b) and compare(b, a) differ by {apart:g}; "
            "the transpose is wanted"
        )


@_check
def check_it_is_a_similarity(factory: Factory) -> None:
    """It has the methods, and `bounds` are two numbers, the lower first."""
    _of_kind("similarity", factory)
    bounds = factory().bounds
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    assert low < high, f"bounds is {bounds!r}; (lowest, highest) is wanted"


@_check
def check_shape_bounds_and_symmetry(factory: Factory) -> None:
    """Learned rows with themselves: right shape, finite, within bounds, symmetric."""
    rows = example_rows()
    measure = _learned(factory, rows)
    values = _sound(measure, rows, rows)
    _assert_transposed(values, values)
    if getattr(measure, "unit_diagonal", False):
        lowest, highest = float(values.diagonal().min()), float(values.diagonal().max())
        assert 1 - TOLERANCE <= lowest and highest <= 1 + TOLERANCE, (
            f"unit_diagonal is declared, but the diagonal is {lowest:g}…{highest:g}; 1 is wanted"
        )


@_check
def check_new_rows(factory: Factory) -> None:
    """Rows that were not learned are compared too; compare(a, b) is compare(b, a) transposed."""
    rows, new = example_rows(), example_rows(7, seed=1)
    measure = _learned(factory, rows)
    _compared(measure, new, rows, "rows that it has not learned")
    _compared(measure, new, example_rows(3, seed=2), "rows that it has not learned")


@_check
def check_before_learning(factory: Factory) -> None:
    """The first units of a wire come before anything was learned."""
    left, right = _parts(example_rows(6))
    _compared(factory(), left, right, "rows before it learned any")


@_check
def check_empty_rows(factory: Factory) -> None:
    """Rows without any word give numbers like all others."""
    rows = _with_empty(example_rows(8), 0, 5)
    _sound(_learned(factory, rows), rows, rows)
    nothing = csr_array((3, rows.shape[1]))
    _sound(_learned(factory, nothing), nothing, nothing)


@_check
def check_no_rows(factory: Factory) -> None:
    """No rows at all, and no words at all."""
    rows, none = example_rows(5), csr_array((0, 60))
    measure = _learned(factory, rows)
    if not _only_learned(measure):
        _sound(measure, rows, none)
        _sound(measure, none, rows)
    for small in (none, csr_array((0, 0)), csr_array((2, 0))):
        _sound(_learned(factory, small), small, small)


@_check
def check_one_row(factory: Factory) -> None:
    """A single row with itself, and a single word."""
    for rows in (example_rows(1), csr_array(np.array([[3.0]]))):
        _sound(_learned(factory, rows), rows, rows)


@_check
def check_duplicated_rows(factory: Factory) -> None:
    """Equal rows are alike to the same degree with all others."""
    rows = example_rows(6)
    rows = csr_array(vstack([rows, rows[:2]]))
    measure = _learned(factory, rows)
    values = _sound(measure, rows, rows)
    _assert_transposed(values, values)
    if not _only_learned(measure):
        apart = float(np.abs(values[:2, 2:6] - values[6:, 2:6]).max())
        assert apart <= TOLERANCE, f"equal rows differ by {apart:g} from the others' view"
    same = csr_array(vstack([rows[:1]] * 4))
    _sound(_learned(factory, same), same, same)


@_check
def check_growing_vocabulary(factory: Factory) -> None:
    """New words are new columns at the end, before and after learning again."""
    rows = example_rows()
    measure = _learned(factory, rows)
    wide = _wider(rows, rows.shape[1] + 5)
    _compared(measure, wide[-6:], wide[:6], "rows with new words")
    measure.learn(wide)
    _sound(measure, wide, wide)


@_check
def check_compare_changes_nothing(factory: Factory) -> None:
    """Neither its input nor what it knows: the same question has the same answer."""
    rows = example_rows()
    measure = _learned(factory, rows)
    left, right = (rows, rows.copy()) if _only_learned(measure) else _parts(rows)
    before = {name: np.array(array) for name, array in measure.state().items()}
    frozen = _Frozen(left, right)
    first = np.array(measure.compare(left, right))
    frozen.assert_same("compare")
    if not _only_learned(measure):
        measure.compare(example_rows(4, seed=3), right)
    again = measure.compare(left, right)
    assert np.array_equal(first, again), "compare gave another answer to the same question"
    after = measure.state()
    assert before.keys() == after.keys(), f"compare changed state() to {sorted(after)}"
    for name, array in before.items():
        assert np.array_equal(array, after[name]), f"compare changed state()[{name!r}]"


@_check
def check_learn_changes_no_input(factory: Factory) -> None:
    """The rows belong to the caller."""
    rows = example_rows()
    frozen = _Frozen(rows)
    factory().learn(rows)
    frozen.assert_same("learn")


@_check
def check_state_round_trip(factory: Factory) -> None:
    """State is arrays of numbers; restored into a fresh plugin, it gives the same values."""
    rows, new = example_rows(), example_rows(5, seed=1)
    for learn in (False, True):
        measure = _learned(factory, rows) if learn else factory()
        state = measure.state()
        file = io.BytesIO()
        for name, array in state.items():
            found = f"state()[{name!r}] is {type(array).__name__}"
            assert isinstance(array, np.ndarray), f"{found}; a numpy array is wanted"
            assert array.dtype != object, f"{found} of objects; plain numbers are wanted"
        np.savez(file, allow_pickle=False, **state)
        file.seek(0)
        with np.load(file, allow_pickle=False) as kept:
            restored = factory()
            restored.restore({name: kept[name] for name in kept.files})
        if _only_learned(measure):
            if not learn:
                continue
            left = right = rows
        else:
            left, right = new, rows
        wanted, found_values = measure.compare(left, right), restored.compare(left, right)
        apart = float(np.abs(np.asarray(wanted) - np.asarray(found_values)).max())
        assert apart <= TOLERANCE, f"after restore(state()) values differ by {apart:g}"
        assert restored.state().keys() == state.keys(), (
            f"after restore, state() has {sorted(restored.state())}; {sorted(state)} is wanted"
        )


@_check
def check_same_rows_same_values(factory: Factory) -> None:
    """Two fresh ones that learned the same rows give the same values."""
    rows = example_rows()
    first, second = (_sound(_learned(factory, rows), rows, rows) for _ in range(2))
    apart = float(np.abs(first - second).max())
    assert apart == 0, f"two fresh measures differ by {apart:g} on the same rows; 0 is wanted"


similarity_checks: tuple[Check, ...] = (
    check_it_is_a_similarity,
    check_settings,
    check_shape_bounds_and_symmetry,
    check_new_rows,
    check_before_learning,
    check_empty_rows,
    check_no_rows,
    check_one_row,
    check_duplicated_rows,
    check_growing_vocabulary,
    check_compare_changes_nothing,
    check_learn_changes_no_input,
    check_state_round_trip,
    check_same_rows_same_values,
)
"""A measure that declares `learned_rows_only = True` refuses new rows with a `ValueError`."""


# -- clusterers ----------------------------------------------------------------------------


def _cosine(left: Rows, right: Rows) -> Matrix:
    a, b = left.toarray(), right.toarray()
    lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    product: Matrix = a @ b.T
    return np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)


def _sound_labels(labels: object, rows: Rows) -> Labels:
    """The labels, if they are as promised."""
    n_rows = rows.shape[0]
    assert isinstance(labels, np.ndarray), (
        f"cluster returned {type(labels).__name__}; an array of {n_rows} integers is wanted"
    )
    assert labels.shape == (n_rows,), (
        f"cluster returned shape {labels.shape}; one label a row, ({n_rows},), is wanted"
    )
    assert np.issubdtype(labels.dtype, np.integer), (
        f"cluster returned {labels.dtype}; integers are wanted"
    )
    used = np.unique(labels[labels >= 0])
    assert np.array_equal(used, np.arange(len(used))), (
        f"cluster used the labels {used.tolist()}; 0, 1, … without gaps is wanted"
    )
    assert not n_rows or labels.min() >= -1, f"cluster used the label {labels.min()}; -1 is lowest"
    left_out = np.flatnonzero((labels == -1) & (np.diff(rows.indptr) > 0))
    assert not len(left_out), f"row {left_out[:1]} has words but the label -1; only empty rows may"
    return cast(Labels, labels)


@_check
def check_it_is_a_clusterer(factory: Factory) -> None:
    """It has the method."""
    _of_kind("clusterer", factory)


@_check
def check_labels(factory: Factory) -> None:
    """One label a row, without gaps, and no more than k of them."""
    rows = example_rows()
    labels = _sound_labels(_taken(factory, k=4).cluster(rows, _cosine), rows)
    if "k" in inspect.signature(factory).parameters:
        found = len(np.unique(labels))
        assert found <= 4, f"k=4 gave {found} clusters; at most 4 are wanted"


@_check
def check_without_compare(factory: Factory) -> None:
    """`compare` may be None; a clusterer that needs one says so with a `ValueError`."""
    rows = example_rows()
    try:
        labels = _taken(factory, k=4).cluster(rows, None)
    except ValueError as error:
        assert str(error), "cluster refused compare=None without a word; a reason is wanted"
        return
    _sound_labels(labels, rows)


@_check
def check_clusters_of_empty_rows(factory: Factory) -> None:
    """Empty rows among others, and nothing but empty rows."""
    for rows in (_with_empty(example_rows(9), 0, 4, 8), csr_array((3, 5)), csr_array((2, 0))):
        _sound_labels(_taken(factory, k=3).cluster(rows, _cosine), rows)


@_check
def check_clusters_of_no_rows(factory: Factory) -> None:
    """An empty matrix has no labels."""
    for rows in (csr_array((0, 5)), csr_array((0, 0))):
        _sound_labels(_taken(factory, k=3).cluster(rows, _cosine), rows)


@_check
def check_clusters_of_one_row(factory: Factory) -> None:
    """A single row is a cluster."""
    rows = example_rows(1)
    labels = _sound_labels(_taken(factory, k=3).cluster(rows, _cosine), rows)
    assert labels.tolist() == [0], f"one row got {labels.tolist()}; [0] is wanted"


@_check
def check_clusters_of_equal_rows(factory: Factory) -> None:
    """Rows that cannot be told apart."""
    rows = csr_array(vstack([example_rows(1)] * 6))
    _sound_labels(_taken(factory, k=3).cluster(rows, _cosine), rows)


@_check
def check_more_clusters_than_rows(factory: Factory) -> None:
    """As many clusters as there are rows is the most."""
    rows = example_rows(3)
    _sound_labels(_taken(factory, k=50).cluster(rows, _cosine), rows)


@_check
def check_same_seed_same_labels(factory: Factory) -> None:
    """Two fresh ones with one seed agree, and so does one that is asked twice."""
    rows = example_rows()
    made = _taken(factory, k=4, seed=7)
    first, again = (np.array(made.cluster(rows, _cosine)) for _ in range(2))
    fresh = _taken(factory, k=4, seed=7).cluster(rows, _cosine)
    assert np.array_equal(first, again), "cluster gave other labels to the same question"
    assert np.array_equal(first, fresh), "two fresh clusterers with one seed gave other labels"


@_check
def check_cluster_changes_no_input(factory: Factory) -> None:
    """The rows belong to the caller."""
    rows = example_rows()
    frozen = _Frozen(rows)
    _taken(factory, k=4).cluster(rows, _cosine)
    frozen.assert_same("cluster")


clusterer_checks: tuple[Check, ...] = (
    check_it_is_a_clusterer,
    check_settings,
    check_labels,
    check_without_compare,
    check_clusters_of_empty_rows,
    check_clusters_of_no_rows,
    check_clusters_of_one_row,
    check_clusters_of_equal_rows,
    check_more_clusters_than_rows,
    check_same_seed_same_labels,
    check_cluster_changes_no_input,
)


# -- segmenters ----------------------------------------------------------------------------


def _covering(factory: Factory, annotation: Annotation) -> list[Unit]:
    """The units, if they follow the text and lose no token."""
    result = factory().segment(annotation, Network())
    assert hasattr(result, "__iter__"), (
        f"segment returned {type(result).__name__}; an iterator of units is wanted"
    )
    units: list[Unit] = list(result)
    token, character = 0, 0
    n_tokens, length = len(annotation.lemmas), len(annotation.document.text)
    assert len(units) <= max(1, n_tokens), f"{len(units)} units for {n_tokens} tokens are too many"
    for unit in units:
        assert isinstance(unit, Unit), f"segment gave {type(unit).__name__}; a Unit is wanted"
        assert unit.first == token, f"a unit begins at token {unit.first}; {token} is wanted"
        assert unit.last >= unit.first, f"a unit ends at token {unit.last}, before it begins"
        assert character <= unit.start <= unit.end <= length, (
            f"unit {unit.start}-{unit.end} should lie in {character}-{length}, after the one before"
        )
        assert math.isfinite(unit.cohesion), f"cohesion is {unit.cohesion}; a number is wanted"
        assert all(0 <= w < math.inf for w in unit.inferred.values()), (
            "inferred words should have finite weights >= 0"
        )
        spans = annotation.spans[unit.first : unit.last]
        assert not len(spans) or (unit.start <= spans[0, 0] and spans[-1, 1] <= unit.end), (
            f"unit {unit.start}-{unit.end} does not hold its tokens {unit.first}-{unit.last}"
        )
        token, character = unit.last, unit.end
    assert token == n_tokens, f"the units cover {token} of {n_tokens} tokens"
    return units


_PARAGRAPHS = "\n\n".join(
    f"Paragraph {number} speaks of {subject} again and again, and of nothing but {subject}. "
    * (1 + number % 3)
    for number, subject in enumerate(["rivers", "markets", "football", "elections"] * 2)
)


@_check
def check_it_is_a_segmenter(factory: Factory) -> None:
    """It has the method, and uses nothing that a network has not."""
    _of_kind("segmenter", factory)
    used = frozenset(getattr(factory(), "uses", NETWORK_PARTS))
    assert used <= NETWORK_PARTS, f"uses {sorted(used)} should be some of {sorted(NETWORK_PARTS)}"


@_check
def check_units_cover_the_text(factory: Factory) -> None:
    """Units follow each other, hold their tokens and lose none."""
    _covering(factory, example_annotation(_PARAGRAPHS))
    _covering(factory, example_annotation(_PARAGRAPHS, title="A title"))


@_check
def check_units_of_little_text(factory: Factory) -> None:
    """One word, no word, no text."""
    for text in ("Flood", "", "…?!", "\n\n\n", "a\n\nb"):
        _covering(factory, example_annotation(text))
    _covering(factory, example_annotation("", title="Only a title"))


@_check
def check_units_of_a_long_text(factory: Factory) -> None:
    """Twenty thousand words, in one paragraph and in many."""
    _covering(factory, example_annotation("one two three four five. " * 4_000))
    _covering(factory, example_annotation(f"{_PARAGRAPHS}\n\n" * 60))


@_check
def check_same_text_same_units(factory: Factory) -> None:
    """The same text is cut in the same way."""
    first, second = (_covering(factory, example_annotation(_PARAGRAPHS)) for _ in range(2))
    assert first == second, "the same text was cut in two ways"


segmenter_checks: tuple[Check, ...] = (
    check_it_is_a_segmenter,
    check_settings,
    check_units_cover_the_text,
    check_units_of_little_text,
    check_units_of_a_long_text,
    check_same_text_same_units,
)


# -- annotators ----------------------------------------------------------------------------


def _annotated(annotator: Any, documents: Iterable[Document]) -> list[Annotation]:
    result = annotator.annotate(documents, Lexicon())
    assert hasattr(result, "__iter__"), (
        f"annotate returned {type(result).__name__}; an iterator of annotations is wanted"
    )
    return list(result)


@_check
def check_it_is_an_annotator(factory: Factory) -> None:
    """It has the method."""
    _of_kind("annotator", factory)


@_check
def check_one_annotation_a_document(factory: Factory) -> None:
    """As many as documents, in their order, each with its own document."""
    documents = example_documents()
    found = _annotated(factory(), documents)
    assert len(found) == len(documents), (
        f"{len(documents)} documents gave {len(found)} annotations; one each is wanted"
    )
    for annotation, document in zip(found, documents, strict=True):
        assert isinstance(annotation, Annotation), (
            f"annotate gave {type(annotation).__name__}; an Annotation is wanted"
        )
        assert annotation.document == document, (
            f"document {document.uid} got the annotation of {annotation.document.uid}"
        )
    assert _annotated(factory(), []) == [], "no documents should give no annotations"


@_check
def check_any_text(factory: Factory) -> None:
    """Spans, flags and sentences lie in the text, whatever the text."""
    annotator = factory()
    for document in example_documents():
        (found,) = _annotated(annotator, [document])
        n_tokens, length = len(found.lemmas), len(document.text)
        spans, sentences = np.asarray(found.spans), np.asarray(found.sentences)
        flags = np.asarray(found.content)
        text = f"document {document.uid} ({document.text[:20]!r}): "
        assert all(type(lemma) is str for lemma in found.lemmas), f"{text}lemmas should be strings"
        assert spans.shape == (n_tokens, 2), (
            f"{text}spans have shape {spans.shape}; ({n_tokens}, 2) is wanted"
        )
        assert flags.shape == (n_tokens,) and flags.dtype == np.bool_, (
            f"{text}content is {flags.dtype} {flags.shape}; {n_tokens} booleans are wanted"
        )
        assert sentences.ndim == 2 and sentences.shape[1] == 2, (
            f"{text}sentences have shape {sentences.shape}; (n, 2) is wanted"
        )
        for name, array in (("spans", spans), ("sentences", sentences)):
            assert not array.size or (array.min() >= 0 and array.max() <= length), (
                f"{text}{name} should lie in the text, 0-{length}"
            )
            assert not array.size or np.issubdtype(array.dtype, np.integer), (
                f"{text}{name} are {array.dtype}; integers are wanted"
            )
        assert (spans[:, 0] < spans[:, 1]).all(), f"{text}spans should not be empty"
        assert (spans[1:, 0] >= spans[:-1, 1]).all(), f"{text}spans should follow each other"


@_check
def check_annotations_are_lazy(factory: Factory) -> None:
    """The first annotation comes before the wire has ended."""
    taken = 0

    def wire() -> Iterator[Document]:
        nonlocal taken
        for number in range(5_000):
            taken += 1
            yield Document(uid=f"d{number}", body="rain", lang="en")

    result = factory().annotate(wire(), Lexicon())
    assert hasattr(result, "__next__"), f"annotate returned {type(result).__name__}; be lazy"
    next(result)
    assert taken <= 1_000, f"annotate took {taken} documents before it gave the first annotation"


@_check
def check_company_does_not_matter(factory: Factory) -> None:
    """A document is read alike alone, among others, and by a fresh annotator."""
    documents = example_documents()
    together = _annotated(factory(), documents)
    one = factory()
    for document, found in zip(documents, together, strict=True):
        (alone,) = _annotated(one, [document])
        assert list(alone.lemmas) == list(found.lemmas), (
            f"document {document.uid} has other lemmas when it is read alone"
        )
        same = np.array_equal(alone.spans, found.spans)
        assert same, f"document {document.uid} has other spans when it is read alone"


annotator_checks: tuple[Check, ...] = (
    check_it_is_an_annotator,
    check_settings,
    check_one_annotation_a_document,
    check_any_text,
    check_annotations_are_lazy,
    check_company_does_not_matter,
)


# -- sources -------------------------------------------------------------------------------


class _Pipe(io.RawIOBase):
    """Bytes that come as from a pipe: once, forwards, in small pieces."""

    def __init__(self, data: bytes) -> None:
        self._data, self.taken = data, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._data[self.taken : self.taken + min(len(buffer), 4096)]
        buffer[: len(piece)] = piece
        self.taken += len(piece)
        return len(piece)


_RSS = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>Wire</title>'
    b"<item><guid>g1</guid><title>Flood</title><description>The river rose.</description></item>"
    b"<item><guid>g2</guid><title>Vote</title><description>They voted.</description></item>"
    b"</channel></rss>"
)

_WHOLE: tuple[bytes, ...] = (
    b"The river rose in the night.\n\nThree bridges were closed.\n",
    b'{"id": "a", "title": "Flood", "text": "The river rose."}\n{"id": "b", "text": "Rain."}\n',
    b"id,title,text,date\na,Flood,The river rose.,2026-01-31\nb,Vote,They voted.,2026-02-01\n",
    _RSS,
)
"""Small inputs in the usual formats; a source may bring its own as the attribute `example`."""

_BROKEN: tuple[bytes, ...] = (
    b"",
    b"\n \n\t",
    b"\x00" * 64,
    bytes(range(256)) * 4,
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf",
    b"caf\xe9 \xc3",
    b"{",
    b'{"id": 1}\n{"id": {}, "text": []}\n[]\nnull\n"x"\n{"text": "\\ud800"}\n{"text": 3}\n',
    b"[" * 5_000,
    b'a,b,c\n"unclosed,1\n,,,,,\n',
    b"<rss><channel><item><title>cut",
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    _RSS[: len(_RSS) // 2],
    b"<" * 2_000,
    b"x" * 100_000,
)


def _inputs(source: Any) -> tuple[bytes, ...]:
    own = getattr(source, "example", b"")
    return (*_WHOLE, own) if isinstance(own, bytes) and own else _WHOLE


def _items(source: Any, data: bytes, name: str = "example") -> list[Document | Reject]:
    """The items of some bytes, if they are as promised."""
    stream = io.BufferedReader(_Pipe(data))
    start = data[:20]
    result = source.read(cast(BinaryIO, stream), name)
    assert hasattr(result, "__next__"), (
        f"read returned {type(result).__name__} for {start!r}; an iterator is wanted"
    )
    items: list[Document | Reject] = list(result)
    for item in items:
        assert isinstance(item, Document | Reject), (
            f"read gave {type(item).__name__} for {start!r}; a Document or a Reject is wanted"
        )
        if isinstance(item, Reject):
            assert item.reason, f"read gave a Reject without a reason for {start!r}"
            continue
        for field in ("uid", "title", "body", "source"):
            value = getattr(item, field)
            assert type(value) is str, f"{field} is {type(value).__name__}; a string is wanted"
        for field in ("date", "lang"):
            value = getattr(item, field)
            assert value is None or type(value) is str, (
                f"{field} is {type(value).__name__}; a string or None is wanted"
            )
    return items


@_check
def check_it_is_a_source(factory: Factory) -> None:
    """It has the methods."""
    _of_kind("source", factory)


@_check
def check_sniff(factory: Factory) -> None:
    """How sure it is lies between 0 and 1, whatever the beginning."""
    source = factory()
    for head in (*_inputs(source), *_BROKEN):
        found = source.sniff(head[:8192])
        assert isinstance(found, int | float) and 0 <= found <= 1, (
            f"sniff({head[:20]!r}) returned {found!r}; a number from 0 to 1 is wanted"
        )
    own = getattr(source, "example", b"")
    assert not own or source.sniff(own[:8192]) > 0, "sniff does not know its own example"


@_check
def check_reading_is_lazy(factory: Factory) -> None:
    """Nothing is read before the first item is asked for."""
    for data in _inputs(factory()):
        pipe = _Pipe(data)
        result = factory().read(cast(BinaryIO, io.BufferedReader(pipe)), "example")
        assert hasattr(result, "__next__"), (
            f"read returned {type(result).__name__}; an iterator is wanted"
        )
        assert pipe.taken == 0, f"read took {pipe.taken} bytes before an item was asked for"


@_check
def check_identities_are_stable(factory: Factory) -> None:
    """What is read twice is the same, in the same order, under the same identities."""
    for data in _inputs(factory()):
        first, again = (_items(factory(), data) for _ in range(2))
        assert first == again, f"{data[:20]!r} gave other items when it was read again"
        uids = [item.uid for item in first if isinstance(item, Document) and item.uid]
        assert len(set(uids)) == len(uids), f"two items of {data[:20]!r} have one uid: {uids}"
    own = getattr(factory(), "example", b"")
    assert not own or any(isinstance(i, Document) for i in _items(factory(), own)), (
        "the source's own example has no document"
    )


@_check
def check_broken_input(factory: Factory) -> None:
    """Broken input is a Reject, or nothing, or whatever can be saved; it never raises."""
    source = factory()
    for data in _BROKEN:
        try:
            _items(source, data)
        except (AssertionError, SystemExit):
            raise
        except Exception as error:
            raise AssertionError(
                f"read raised {type(error).__name__}: {error} for {data[:20]!r}; a Reject is wanted"
            ) from error


source_checks: tuple[Check, ...] = (
    check_it_is_a_source,
    check_settings,
    check_sniff,
    check_reading_is_lazy,
    check_identities_are_stable,
    check_broken_input,
)


# -- comparisons ---------------------------------------------------------------------------


def _measured(comparison: Any, left: Snapshot, right: Snapshot) -> float:
    """The value, if the agreement is as promised."""
    found = comparison.measure(left, right)
    assert isinstance(found, Agreement), (
        f"measure returned {type(found).__name__}; an Agreement is wanted"
    )
    value = float(found.value)
    assert math.isfinite(value), f"measure gave the value {found.value}; a finite one is wanted"
    try:
        json.dumps(found.details, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"details are not JSON: {error}") from error
    return value


def _relabelled(snapshot: Snapshot, labels: Sequence[int] | Labels, name: str) -> Snapshot:
    new = np.asarray(labels, dtype=np.int64)
    return Snapshot(name, snapshot.units, new, snapshot.rows, snapshot.words)


def _chosen_units(snapshot: Snapshot, places: Any) -> Snapshot:
    return Snapshot(
        snapshot.name,
        snapshot.units[places],
        snapshot.labels[places],
        snapshot.rows[places],
        snapshot.words,
        snapshot.groups,
    )


@_check
def check_it_is_a_comparison(factory: Factory) -> None:
    """It has the method."""
    _of_kind("comparison", factory)


@_check
def check_a_snapshot_agrees_with_itself(factory: Factory) -> None:
    """Nothing agrees better with a snapshot than the snapshot."""
    snapshot = example_snapshot()
    itself = _measured(factory(), snapshot, snapshot)
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = _relabelled(snapshot, rng.permutation(snapshot.labels), "shuffled")
        value = _measured(factory(), snapshot, other)
        assert value <= itself + TOLERANCE, (
            f"a shuffled partition agrees {value:g}, the snapshot itself {itself:g}"
        )


@_check
def check_units_are_matched_by_id(factory: Factory) -> None:
    """The order of the units does not matter."""
    snapshot = example_snapshot()
    order = np.random.default_rng(1).permutation(len(snapshot.units))
    itself = _measured(factory(), snapshot, snapshot)
    value = _measured(factory(), snapshot, _chosen_units(snapshot, order))
    assert abs(value - itself) <= TOLERANCE, (
        f"the same units in another order agree {value:g}; {itself:g} is wanted"
    )


@_check
def check_small_and_strange_snapshots(factory: Factory) -> None:
    """No units, one unit, one group, no group, nothing in common: still a finite number."""
    snapshot = example_snapshot()
    none, one = (_chosen_units(snapshot, slice(0, n)) for n in (0, 1))
    together = _relabelled(snapshot, [0] * 40, "one group")
    alone = _relabelled(snapshot, np.arange(40), "a group each")
    nowhere = _relabelled(snapshot, np.full(40, -1), "no group")
    first, last = (_chosen_units(snapshot, part) for part in (slice(0, 20), slice(20, 40)))
    for left, right in (
        (none, none), (one, one), (none, snapshot), (together, snapshot), (alone, snapshot),
        (together, alone), (nowhere, snapshot), (nowhere, nowhere), (first, last),
    ):  # fmt: skip
        _measured(factory(), left, right)
        _measured(factory(), right, left)


@_check
def check_measure_changes_nothing(factory: Factory) -> None:
    """Neither the snapshots nor the next answer."""
    left = example_snapshot()
    right = _relabelled(left, np.arange(40) % 3, "other")
    frozen, labels = _Frozen(left.rows), left.labels.copy()
    comparison = factory()
    first = _measured(comparison, left, right)
    assert _measured(comparison, left, right) == first, "measure gave another answer"
    assert _measured(factory(), left, right) == first, "a fresh comparison gave another answer"
    frozen.assert_same("measure")
    assert np.array_equal(left.labels, labels), "measure changed the labels of its input"


comparison_checks: tuple[Check, ...] = (
    check_it_is_a_comparison,
    check_settings,
    check_a_snapshot_agrees_with_itself,
    check_units_are_matched_by_id,
    check_small_and_strange_snapshots,
    check_measure_changes_nothing,
)


# -- exporters -----------------------------------------------------------------------------


class _Sink(io.RawIOBase):
    """Takes bytes as a pipe does: forwards only."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        assert not isinstance(data, str), "export wrote text; bytes are wanted"
        self.parts.append(bytes(data))
        return len(data)


def _exported(factory: Factory, snapshot: Snapshot) -> bytes:
    sink = _Sink()
    result = factory().export(snapshot, cast(BinaryIO, sink))
    assert result is None, f"export returned {type(result).__name__}; None is wanted"
    assert not sink.closed, "export closed the stream, which is not its own"
    return b"".join(sink.parts)


@_check
def check_it_is_an_exporter(factory: Factory) -> None:
    """It has the method."""
    _of_kind("exporter", factory)


@_check
def check_same_snapshot_same_bytes(factory: Factory) -> None:
    """Twice the same snapshot is twice the same file, and it is not empty."""
    first = _exported(factory, example_snapshot())
    assert first, "export wrote nothing"
    assert _exported(factory, example_snapshot()) == first, "the same snapshot gave other bytes"


@_check
def check_other_snapshot_other_bytes(factory: Factory) -> None:
    """The groups can be read from the file."""
    snapshot = example_snapshot()
    other = _relabelled(snapshot, np.arange(40) % 3, snapshot.name)
    same = _exported(factory, snapshot) == _exported(factory, other)
    assert not same, "two partitions of the same units gave the same bytes"


@_check
def check_small_snapshots(factory: Factory) -> None:
    """No units, and units without words."""
    snapshot = example_snapshot()
    _exported(factory, _chosen_units(snapshot, slice(0, 0)))
    empty = csr_array((40, 30))
    _exported(factory, Snapshot("bare", snapshot.units, snapshot.labels, empty, snapshot.words))


@_check
def check_export_changes_nothing(factory: Factory) -> None:
    """The snapshot belongs to the caller."""
    snapshot = example_snapshot()
    frozen, labels = _Frozen(snapshot.rows), snapshot.labels.copy()
    _exported(factory, snapshot)
    frozen.assert_same("export")
    assert np.array_equal(snapshot.labels, labels), "export changed the labels of its input"


exporter_checks: tuple[Check, ...] = (
    check_it_is_an_exporter,
    check_settings,
    check_same_snapshot_same_bytes,
    check_other_snapshot_other_bytes,
    check_small_snapshots,
    check_export_changes_nothing,
)


CHECKS: dict[str, tuple[Check, ...]] = {
    "source": source_checks,
    "annotator": annotator_checks,
    "segmenter": segmenter_checks,
    "similarity": similarity_checks,
    "clusterer": clusterer_checks,
    "comparison": comparison_checks,
    "exporter": exporter_checks,
}
"""Kind of plugin and its checks."""

"""What every similarity promises."""

from __future__ import annotations

import io
import math
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, vstack

from segapsith.arrays import Matrix, Rows
from segapsith.plugin.contracts import (
    compares_learned_rows_only,
    has_product_form,
    has_unit_diagonal,
)
from segapsith.plugin.guards import TOLERANCE
from segapsith.testing.examples import example_rows
from segapsith.testing.kit import (
    Check,
    Factory,
    Frozen,
    bounded,
    check_settings,
    halves,
    of_kind,
    wider,
    with_empty,
)

__all__ = ["similarity_checks"]


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
    """Check that a measure that knows only learned rows raises `ValueError` for others."""
    try:
        measure.compare(left, right)
    except ValueError as error:
        assert str(error), f"compare refused {why} without a word; a reason is wanted"
        return
    raise AssertionError(f"learned_rows_only is declared, but compare took {why}")


def _compared(measure: Any, left: Rows, right: Rows, why: str) -> None:
    """New rows: both ways alike, or refused where only learned rows are known."""
    if compares_learned_rows_only(measure):
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


@bounded
def check_it_is_a_similarity(factory: Factory) -> None:
    """It has the methods, and `bounds` are two numbers, the lower first."""
    of_kind("similarity", factory)
    bounds = factory().bounds
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    assert low < high, f"bounds is {bounds!r}; (lowest, highest) is wanted"


@bounded
def check_shape_bounds_and_symmetry(factory: Factory) -> None:
    """Learned rows with themselves: right shape, finite, within bounds, symmetric."""
    rows = example_rows()
    measure = _learned(factory, rows)
    values = _sound(measure, rows, rows)
    _assert_transposed(values, values)
    if has_unit_diagonal(measure):
        lowest, highest = float(values.diagonal().min()), float(values.diagonal().max())
        assert 1 - TOLERANCE <= lowest and highest <= 1 + TOLERANCE, (
            f"unit_diagonal is declared, but the diagonal is {lowest:g}…{highest:g}; 1 is wanted"
        )


@bounded
def check_new_rows(factory: Factory) -> None:
    """Rows that were not learned are compared too; compare(a, b) is compare(b, a) transposed."""
    rows, new = example_rows(), example_rows(7, seed=1)
    measure = _learned(factory, rows)
    _compared(measure, new, rows, "rows that it has not learned")
    _compared(measure, new, example_rows(3, seed=2), "rows that it has not learned")


@bounded
def check_before_learning(factory: Factory) -> None:
    """The first units of a wire come before anything was learned."""
    left, right = halves(example_rows(6))
    _compared(factory(), left, right, "rows before it learned any")


@bounded
def check_empty_rows(factory: Factory) -> None:
    """Rows without any word give numbers like all others."""
    rows = with_empty(example_rows(8), 0, 5)
    _sound(_learned(factory, rows), rows, rows)
    nothing = csr_array((3, rows.shape[1]))
    _sound(_learned(factory, nothing), nothing, nothing)


@bounded
def check_no_rows(factory: Factory) -> None:
    """No rows at all, and no words at all."""
    rows, none = example_rows(5), csr_array((0, 60))
    measure = _learned(factory, rows)
    if not compares_learned_rows_only(measure):
        _sound(measure, rows, none)
        _sound(measure, none, rows)
    for small in (none, csr_array((0, 0)), csr_array((2, 0))):
        _sound(_learned(factory, small), small, small)


@bounded
def check_one_row(factory: Factory) -> None:
    """A single row with itself, and a single word."""
    for rows in (example_rows(1), csr_array(np.array([[3.0]]))):
        _sound(_learned(factory, rows), rows, rows)


@bounded
def check_duplicated_rows(factory: Factory) -> None:
    """Equal rows are alike to the same degree with all others."""
    rows = example_rows(6)
    rows = csr_array(vstack([rows, rows[:2]]))
    measure = _learned(factory, rows)
    values = _sound(measure, rows, rows)
    _assert_transposed(values, values)
    if not compares_learned_rows_only(measure):
        apart = float(np.abs(values[:2, 2:6] - values[6:, 2:6]).max())
        assert apart <= TOLERANCE, f"equal rows differ by {apart:g} from the others' view"
    same = csr_array(vstack([rows[:1]] * 4))
    _sound(_learned(factory, same), same, same)


@bounded
def check_growing_vocabulary(factory: Factory) -> None:
    """New words are new columns at the end, before and after learning again."""
    rows = example_rows()
    measure = _learned(factory, rows)
    wide = wider(rows, rows.shape[1] + 5)
    _compared(measure, wide[-6:], wide[:6], "rows with new words")
    measure.learn(wide)
    _sound(measure, wide, wide)


@bounded
def check_compare_changes_nothing(factory: Factory) -> None:
    """Neither its input nor what it knows: the same question has the same answer."""
    rows = example_rows()
    measure = _learned(factory, rows)
    left, right = (rows, rows.copy()) if compares_learned_rows_only(measure) else halves(rows)
    before = {name: np.array(array) for name, array in measure.state().items()}
    frozen = Frozen(left, right)
    first = np.array(measure.compare(left, right))
    frozen.assert_same("compare")
    if not compares_learned_rows_only(measure):
        measure.compare(example_rows(4, seed=3), right)
    again = measure.compare(left, right)
    assert np.array_equal(first, again), "compare gave another answer to the same question"
    after = measure.state()
    assert before.keys() == after.keys(), f"compare changed state() to {sorted(after)}"
    for name, array in before.items():
        assert np.array_equal(array, after[name]), f"compare changed state()[{name!r}]"


@bounded
def check_learn_changes_no_input(factory: Factory) -> None:
    """The rows belong to the caller."""
    rows = example_rows()
    frozen = Frozen(rows)
    factory().learn(rows)
    frozen.assert_same("learn")


@bounded
def check_state_round_trip(factory: Factory) -> None:
    """State is arrays of numbers; restored into a fresh plugin, it gives the same values."""
    rows, new = example_rows(), example_rows(5, seed=1)
    for learn in (False, True):
        measure = _learned(factory, rows) if learn else factory()
        state = measure.state()
        file = io.BytesIO()
        for name, array in state.items():
            part = f"state()[{name!r}] is {type(array).__name__}"
            assert isinstance(array, np.ndarray), f"{part}; a numpy array is wanted"
            assert array.dtype != object, f"{part} of objects; plain numbers are wanted"
        np.savez(file, allow_pickle=False, **state)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            restored = factory()
            restored.restore({name: arrays[name] for name in arrays.files})
        if compares_learned_rows_only(measure):
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


@bounded
def check_product_form(factory: Factory) -> None:
    """The form of products that it offers gives the values of `compare`."""
    rows, new = with_empty(example_rows(), 2), example_rows(7, seed=1)
    measure = _learned(factory, rows)
    form = measure.product_form() if has_product_form(measure) else None
    if form is None:
        return
    for left, right in ((new, rows), (rows, wider(new, new.shape[1] + 3))):
        words, spread = form.spread(left)
        inside = words < right.shape[1]
        products = form.scaled(right)[:, words[inside]] @ spread[inside]
        apart = float(np.abs(form.finish(products).T - measure.compare(left, right)).max())
        assert apart <= TOLERANCE, f"product_form() differs from compare by {apart:g}"


@bounded
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
    check_product_form,
    check_same_rows_same_values,
)
"""A measure that declares `learned_rows_only = True` refuses new rows with a `ValueError`."""

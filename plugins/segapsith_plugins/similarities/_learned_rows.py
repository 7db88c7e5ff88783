"""Find rows among those that were learned, for similarities that are defined only for these.

Not a plugin. Such a similarity stores one value for each pair of learned rows. `compare` receives
rows, and this module finds which ones they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State, Views
from segapsith.evaluation.views import side_by_side
from segapsith_plugins._sparse_rows import Floats, canonical, packed, same_rows, unpacked
from segapsith_plugins._views import named_views

__all__ = ["LearnedRows"]

Places = NDArray[np.intp]


class LearnedRows:
    """The learned rows, in each of their views; they are only looked up.

    Rows are identified by their content. `compare` may receive the mapping that was learned, its
    matrices side by side, or one of its matrices. Equal rows are identified by their position if
    the rows are consecutive learned rows, and otherwise used in order.
    """

    def __init__(self, views: Mapping[str, Rows], measure: str) -> None:
        self.views = dict(views)
        self.measure = measure
        whole = side_by_side(self.views)
        self.n_rows = whole.shape[0]
        self.filled = np.diff(whole.indptr) > 0
        self._matrices = [whole, *(self.views.values() if len(self.views) > 1 else ())]
        self._numbers: dict[int, tuple[dict[bytes, int], Places]] = {}

    @classmethod
    def none(cls, measure: str) -> LearnedRows:
        """Return the value before learning."""
        return cls({"rows": csr_array((0, 0), dtype=np.float64)}, measure)

    def picked(self, values: Floats, left: Rows | Views, right: Rows | Views) -> Matrix:
        """Return the values of these rows; an empty row has 0 with every row, itself included."""
        a = self.places(left)
        b = a if right is left else self.places(right)
        every = np.arange(self.n_rows)
        if np.array_equal(a, every) and np.array_equal(b, every):
            picked: Matrix = values.astype(np.float64)
        else:
            picked = values[np.ix_(a, b)].astype(np.float64)
        picked[~self.filled[a]] = 0.0
        picked[:, ~self.filled[b]] = 0.0
        return picked

    def places(self, asked: Rows | Views) -> Places:
        """Return the positions of the rows among the learned ones; raise if one is new."""
        if isinstance(asked, Mapping):
            views = named_views(asked, self.measure)
            if set(views) != set(self.views):
                raise ValueError(
                    f"{self.measure} learned the views {', '.join(self.views)},"
                    f" not {', '.join(views)}"
                )
            ordered = {name: views[name] for name in self.views}
            widths = [rows.shape[1] for rows in self.views.values()]
            if [rows.shape[1] for rows in ordered.values()] != widths:
                raise self._refusal(0)
            candidates, rows = [0], side_by_side(ordered)
        else:
            candidates, rows = list(range(len(self._matrices))), canonical(asked)
        for candidate in candidates:
            if same_rows(rows, self._matrices[candidate]):
                return np.arange(self.n_rows)
        stranger = 0
        for candidate in candidates:
            places, new = self._places_in(candidate, rows)
            if places is not None:
                return places
            stranger = max(stranger, new)
        raise self._refusal(stranger)

    def _refusal(self, row: int) -> ValueError:
        return ValueError(
            f"{self.measure} is defined only for the {self.n_rows} rows it learned, and row {row}"
            " is not one of them; learn all rows together and compare those, or take a measure"
            " for new rows (chi-sim, gvsm-cov, lsa, cosine)"
        )

    def _places_in(self, candidate: int, rows: Rows) -> tuple[Places | None, int]:
        """Return the positions in one of the matrices, or None and the first row that is new."""
        if candidate not in self._numbers:
            numbers: dict[bytes, int] = {}
            learned = [
                numbers.setdefault(m, len(numbers)) for m in _marks(self._matrices[candidate])
            ]
            self._numbers[candidate] = numbers, np.array(learned, dtype=np.intp)
        numbers, contents = self._numbers[candidate]
        asked = np.array([numbers.get(mark, -1) for mark in _marks(rows)], dtype=np.intp)
        new = np.flatnonzero(asked < 0)
        if len(new):
            return None, int(new[0])
        if len(numbers) == len(contents):
            return np.argsort(contents)[asked], 0
        filled = np.flatnonzero(np.diff(self._matrices[candidate].indptr) > 0)
        for standing in (np.arange(len(contents)), filled):
            start = _stretch(contents[standing], asked)
            if start is not None:
                return standing[start : start + len(asked)], 0
        return _in_turn(contents, asked), 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the views as arrays, and their names as UTF-8 JSON."""
        arrays: dict[str, NDArray[Any]] = {"view_names": _text(json.dumps(list(self.views)))}
        for number, rows in enumerate(self.views.values()):
            arrays.update(packed(rows, f"view{number}"))
        return arrays

    @classmethod
    def restored(cls, state: State, measure: str) -> LearnedRows:
        """Return the rows of a `state`."""
        names = json.loads(bytes(np.asarray(state["view_names"], dtype=np.uint8)).decode())
        return cls({n: unpacked(state, f"view{i}") for i, n in enumerate(names)}, measure)


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _marks(rows: Rows) -> list[bytes]:
    """Return the content of each row as bytes."""
    indices = rows.indices.astype(np.int64)
    ends = zip(rows.indptr, rows.indptr[1:], strict=False)
    return [indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in ends]


def _stretch(contents: Places, asked: Places) -> int | None:
    """Return where the contents occur consecutively, or None."""
    whole, part = contents.tobytes(), asked.tobytes()
    at = whole.find(part)
    while at >= 0 and at % contents.itemsize:
        at = whole.find(part, at + 1)
    return at // contents.itemsize if at >= 0 else None


def _in_turn(contents: Places, asked: Places) -> Places:
    """Return positions in order: the n-th row of a content is its n-th learned row, or its last."""
    standing = np.argsort(contents, kind="stable")
    first = np.searchsorted(contents[standing], asked)
    last = np.searchsorted(contents[standing], asked, side="right") - 1
    order = np.argsort(asked, kind="stable")
    turn = np.empty(len(asked), dtype=np.intp)
    turn[order] = np.arange(len(asked)) - np.searchsorted(asked[order], asked[order])
    places: Places = standing[np.minimum(first + turn, last)]
    return places

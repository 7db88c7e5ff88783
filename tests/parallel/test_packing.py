"""What is packed comes back equal, and equal values have equal bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from segapsith.model import Document, Lexicon
from segapsith.parallel.packing import Frozen, PackingError, pack, unpack

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.text())
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(plain)
def test_plain_values_come_back_with_their_types(value: Any) -> None:
    again = unpack(pack(value))
    assert again == value and type(again) is type(value)
    assert pack(again) == pack(value)


@pytest.mark.parametrize("kind", ["<i4", ">i8", "<f4", "<f8", "|b1", "|u1", "<U3"])
def test_arrays_keep_type_shape_and_values(kind: str) -> None:
    for shape in ((), (0,), (3,), (2, 3)):
        array = np.arange(int(np.prod(shape)) or 1)[: int(np.prod(shape))].astype(kind)
        again = unpack(pack(array.reshape(shape)))
        assert again.dtype == np.dtype(kind) and again.shape == shape
        assert (again == array.reshape(shape)).all()


def test_rows_records_and_bytes_come_back() -> None:
    rows = csr_array(np.array([[0.0, 2.5], [1.0, 0.0]]))
    again = unpack(pack({"rows": rows, "raw": b"\0\xff"}))
    assert (again["rows"] != rows).nnz == 0 and again["rows"].shape == rows.shape
    assert again["raw"] == b"\0\xff"
    document = Document("a", "é\ud800", "body", metadata={"n": [1, None]})
    assert unpack(pack(document)) == document
    lexicon = Lexicon(3, {"en": frozenset({("prime", "minister"), ("new", "york")})})
    assert unpack(pack(lexicon)) == lexicon


def test_the_hash_does_not_depend_on_the_order_of_a_set() -> None:
    names = [f"word {number}" for number in range(50)]
    left, right = frozenset(names), frozenset(reversed(names))
    assert Frozen(left).digest == Frozen(right).digest != Frozen(frozenset(names[1:])).digest


class Point(NamedTuple):
    x: int


@dataclass
class Holder:
    inner: object


@pytest.mark.parametrize("value", [object(), print, np.array([object()]), [Point(1), lambda: 0]])
def test_what_is_not_data_is_refused(value: object) -> None:
    with pytest.raises(PackingError, match="cannot be sent to a worker"):
        pack(value)


def test_a_class_that_is_no_record_is_refused() -> None:
    data = pack(Document("a")).replace(b"segapsith.model:Document", b"segapsith.model:Protocol")
    with pytest.raises(PackingError, match="neither a dataclass nor a named tuple"):
        unpack(data)


def test_a_cut_message_is_refused() -> None:
    with pytest.raises(PackingError, match="bytes were received"):
        unpack(pack(np.arange(9))[:-1])

"""What every exporter promises."""

from __future__ import annotations

import io
from typing import Any, BinaryIO, cast

import numpy as np
from scipy.sparse import csr_array

from segapsith.model import Snapshot
from segapsith.testing.examples import chosen_units, example_snapshot, relabelled
from segapsith.testing.kit import Check, Factory, Frozen, bounded, check_settings, of_kind

__all__ = ["exporter_checks"]


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


@bounded
def check_it_is_an_exporter(factory: Factory) -> None:
    """It has the method."""
    of_kind("exporter", factory)


@bounded
def check_same_snapshot_same_bytes(factory: Factory) -> None:
    """Twice the same snapshot is twice the same file, and it is not empty."""
    first = _exported(factory, example_snapshot())
    assert first, "export wrote nothing"
    assert _exported(factory, example_snapshot()) == first, "the same snapshot gave other bytes"


@bounded
def check_other_snapshot_other_bytes(factory: Factory) -> None:
    """The groups can be read from the file."""
    snapshot = example_snapshot()
    other = relabelled(snapshot, np.arange(40) % 3, snapshot.name)
    same = _exported(factory, snapshot) == _exported(factory, other)
    assert not same, "two partitions of the same units gave the same bytes"


@bounded
def check_small_snapshots(factory: Factory) -> None:
    """No units, and units without words."""
    snapshot = example_snapshot()
    _exported(factory, chosen_units(snapshot, slice(0, 0)))
    empty = csr_array((40, 30))
    _exported(factory, Snapshot("bare", snapshot.units, snapshot.labels, empty, snapshot.words))


@bounded
def check_export_changes_nothing(factory: Factory) -> None:
    """The snapshot belongs to the caller."""
    snapshot = example_snapshot()
    frozen, labels = Frozen(snapshot.rows), snapshot.labels.copy()
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

"""The seal of a store."""

from __future__ import annotations

from collections.abc import Callable

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.digest import changed_blocks, digest
from segapsith_store.seal import is_broken, seal, sealed_digest


def test_a_seal_holds_until_the_next_run(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:20])
    sealed = seal(wire.writer)
    assert sealed_digest(wire.writer) == sealed == digest(wire.writer, anew=True)
    assert not is_broken(wire.writer, sealed) and is_broken(wire.writer, "another")
    wire.domains.rename(1, "a name")
    assert sealed_digest(wire.writer) is None
    assert not is_broken(wire.writer, "another")


def test_a_change_past_the_triggers_breaks_the_seal_and_its_block(
    open_wire: Callable[..., Wire],
) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:20])
    seal(wire.writer)
    wire.writer.change(lambda c: c.execute("DROP TRIGGER versions_block_update").rowcount)
    wire.writer.change(
        lambda c: c.execute("UPDATE versions SET source = 'x' WHERE id = 1").rowcount
    )
    assert is_broken(wire.writer, digest(wire.writer, anew=True))
    assert list(changed_blocks(wire.writer)) == [("versions", 0, 1023)]

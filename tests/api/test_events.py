"""Events through the Python API: a part of the list, and the call that lists them."""

from __future__ import annotations

from collections.abc import Callable

from segapsith.api.wire import Wire


def test_the_group_and_its_call_list_the_same_parts(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.ingest(
        {"id": f"s{day}", "date": f"2026-03-0{day}", "lang": "en", "text": text}
        for day, text in enumerate(
            (
                "A river flooded the old town and boats rescued families from roofs.",
                "Voters elected a mayor after a recount of ballots in the city hall.",
                "Chess masters met and the first game of the final was a draw.",
            ),
            1,
        )
    )
    listed = wire.events.list()
    assert len(listed) == 3 and wire.events() == listed
    assert wire.events(limit=1, offset=1) == wire.events.list(limit=1, offset=1) == listed[1:2]
    assert wire.events(offset=3) == []

"""Any number of workers gives the same store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import SettingError


@pytest.mark.slow
def test_workers_do_not_change_the_result(open_wire: Callable[..., Wire]) -> None:
    digests = set()
    for workers in (1, 2):
        wire = open_wire(f"{workers}.db", workers=workers)
        wire.ingest(sample.lines("en") + sample.lines("fr"))
        digests.add(wire.status()["digest"])
    assert len(digests) == 1


def test_no_workers_is_wrong(open_wire: Callable[..., Wire]) -> None:
    with pytest.raises(SettingError, match="workers=0"):
        open_wire(workers=0).ingest([])

"""Tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from segapsith.parallel.tasks import Shared, find_task
from segapsith.plugin.contracts import SharedValue

__all__ = ["Serial"]


class Serial:
    """Runs each task when its result is asked for; nothing is packed."""

    n_workers = 1

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        """Yield the result of a task for each item."""
        function, values = find_task(task), Shared(shared or {})
        for item in items:
            yield function(item, values)

    def close(self) -> None:
        """Do nothing: there are no workers."""

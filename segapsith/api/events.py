"""Events of a store: list them."""

from __future__ import annotations

import builtins

from segapsith.api.browsing.kept import Kept
from segapsith.api.session import Session
from segapsith_store.queries.events import Event, EventLabels, list_events

__all__ = ["Events"]


class Events:
    """The events of a store: `wire.events(…)` lists them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._labels = Kept(lambda _, __: EventLabels(session.labeller()))

    def list(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        domain: int | None = None,
        min_stories: int = 1,
        limit: int | None = None,
        offset: int = 0,
    ) -> builtins.list[Event]:
        """Return events, the latest first; of one day those with most stories first, ties by id.

        `since` and `until` select those with a day in this period, `domain` those of a domain,
        `limit` and `offset` a part of the list. Events without any date are last, and in no period.
        """
        return self._session.read(
            lambda store: list_events(
                store,
                since=since,
                until=until,
                domain=domain,
                min_stories=min_stories,
                limit=limit,
                offset=offset,
                labels=self._labels.get(store),
            )
        )

    __call__ = list

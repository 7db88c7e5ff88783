"""The co-occurrence network of a store: read it, and build it from a reference corpus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from segapsith.api.session import Session
from segapsith.engine import reference_corpus
from segapsith.engine.learning_settings import READING
from segapsith.model import Items, Network, Result, delivered
from segapsith_store.queries.networks import (
    Neighbours,
    NetworkStatus,
    find_neighbours,
    network_status,
    read_network,
)

__all__ = ["BuiltNetwork", "Networks"]


@dataclass(frozen=True, slots=True)
class BuiltNetwork(Result):
    """What was read from a reference corpus."""

    run: int
    documents: int
    words: int
    languages: dict[str, int]
    """Words of each language."""
    rejected: int
    seconds: float


class Networks:
    """The co-occurrence network of each language of a store."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, lang: str) -> Network:
        """Return the network of a language, as texts are read with it now."""
        settings = self._session.factory.network()
        return self._session.read(lambda store: read_network(store, lang, settings))

    def status(self) -> NetworkStatus:
        """Return the numbers of words, links and pairs, and the settings they were made with."""
        settings = self._session.factory.network()
        return self._session.read(lambda store: network_status(store, settings))

    def neighbours(self, word: str, lang: str | None = None, top: int = 20) -> Neighbours:
        """Return the `top` words that co-occur with a word most closely."""
        settings = self._session.factory.network()
        return self._session.read(lambda store: find_neighbours(store, word, lang, top, settings))

    def build(
        self, documents: Items, on_progress: Callable[[int, int], None] | None = None
    ) -> BuiltNetwork:
        """Read a reference corpus: it counts for the network, and for nothing else.

        Its texts are not stored. A delivery that was read before is refused; undoing the run
        removes the corpus. `on_progress` receives the numbers of documents and words read so far.
        """
        session = self._session
        items, key = delivered(documents)
        engine, plan = session.learner(only=READING)
        try:
            built = reference_corpus.build(
                items,
                engine.state,
                session.components,
                session.writer,
                replace(plan, command=reference_corpus.BUILD, input_key=key),
                on_progress,
            )
        finally:
            session.reset()  # the engine holds a state that the store no longer has
        return BuiltNetwork(**built)

    def run_of(self, key: str) -> int | None:
        """Return the run that read the corpus with this key; None if none did, or it was undone."""
        return self._session.writer.done_run(reference_corpus.BUILD, key)

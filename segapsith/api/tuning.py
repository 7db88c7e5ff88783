"""The placement threshold of a store: search one for a target, and make it follow the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapsith.api.session import Session
from segapsith.domains.threshold_control import MILLION, Target
from segapsith.engine.runs import RunPlan
from segapsith.errors import UsageError
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Result
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store import Store
from segapsith_store.queries.targets import followed_target, last_target, save_target

if TYPE_CHECKING:
    from segapsith.domains.threshold_search import Trial
    from segapsith.engine.threshold_trials import TrialSetup

__all__ = ["EndedTarget", "Threshold", "ThresholdSearch"]


@dataclass(frozen=True, slots=True)
class ThresholdSearch(Result):
    """The threshold that is expected to reach a target, and the curve that it was found on."""

    target: dict[str, float]
    """`new_rate` or `singletons`, with the share that was asked for."""
    threshold: float
    foreseen: float
    """The share expected on the next stretch of the stream."""
    present: float
    """The threshold in force."""
    run: int | None
    """The run that stored the target; None without `keep`."""
    overruled: str | None
    """The setting that takes precedence over a stored target, if there is one."""
    afresh: bool
    lang: str | None
    curve: list[Trial]
    line: str
    """The line for the configuration file."""


@dataclass(frozen=True, slots=True)
class EndedTarget(Result):
    """A target that the threshold no longer follows."""

    run: int
    ended: Result


class Threshold:
    """The placement threshold of a store."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def search(
        self,
        *,
        target_new_rate: float | None = None,
        target_singletons: float | None = None,
        afresh: bool = False,
        lang: str | None = None,
        sample: int | None = 10_000,
        keep: bool = False,
        on_trial: Callable[[Trial], None] | None = None,
    ) -> ThresholdSearch:
        """Return the threshold that is expected to reach a target on the next stretch of the stream.

        Give one target: the share of units that start a domain, or the share of domains with one
        unit. The last `sample` units are replayed in memory, in order, for several thresholds:
        `curve`. The store is assumed to continue as it is, or with `afresh` to be learned again
        from the start. With `keep` the store stores the target, in a run: from then on its
        threshold follows it.
        """
        # an ingest asks for the target, but searches no threshold
        from segapsith.domains import threshold_search
        from segapsith.engine.threshold_trials import WorkerTrials

        if (target_new_rate is None) == (target_singletons is None):
            raise UsageError("tune for one target: a rate of new domains, or a share of singletons")
        aim, target = (
            ("next_new_rate", target_new_rate)
            if target_singletons is None
            else ("next_singletons", target_singletons)
        )
        assert target is not None
        if keep and (afresh or lang is not None):
            raise UsageError(
                "a target is kept for all that comes from now on: without --afresh and --lang"
            )
        with self._session.reading() as store:
            self._session.factory.start_workers("tune-growth")  # settings are of this state
            placement = self._session.settings.placement.measure
            if placement != BUILT_IN_PLACEMENT:
                raise UsageError(
                    f"tune replays {BUILT_IN_PLACEMENT}, and placement is {placement!r}"
                )
            setup = self._setup(store, afresh, lang, sample)
            present = self._session.placing(store).threshold
        if not 0 < target < 1:
            raise UsageError(f"target={target} should lie between 0 and 1")
        world = WorkerTrials(self._session.factory.executor, setup)
        best, trials = threshold_search.search(
            world, target, aim, on_trial, known=world.trials(threshold_search.GRID)
        )
        stored = Target(
            aim.removeprefix("next_"),
            round(target * MILLION),
            round(best.threshold * SCALE),
            round(threshold_search.slope(trials, best.threshold, aim) * MILLION),
            0,
        )
        return ThresholdSearch(
            target={aim.removeprefix("next_"): target},
            threshold=best.threshold,
            foreseen=round(float(getattr(best, aim)), 6),
            present=present,
            run=self.follow(stored) if keep else None,
            overruled=self._session.factory.overruled,
            afresh=afresh,
            lang=lang,
            curve=trials,
            line=f"threshold = {best.threshold}",
        )

    def _setup(
        self, store: Store, afresh: bool, lang: str | None, sample: int | None
    ) -> TrialSetup:
        """Return the stored stream, to be placed with other thresholds."""
        from segapsith.api.maintenance import open_domains
        from segapsith.engine.threshold_trials import TrialSetup
        from segapsith_store.queries.stream import read_stream

        placing, stream = self._session.factory.placing(), read_stream(store, lang, sample)
        setup = TrialSetup(stream.bags, placing, stream.significance, stream.stories)
        if afresh:
            return setup
        index = open_domains(store, placing, lang)
        places = [d if d in index else 0 for d in stream.domains]
        return replace(setup, index=index.state(), places=places, n_units=stream.n_units)

    def follow(self, target: Target) -> int:
        """Store a target that the threshold follows from now on; return the run that stored it.

        If the last run stored the same target, and no story came since, nothing changes.
        """
        session = self._session
        store = session.writer
        target = replace(target, ordinal=int(store.facts().get("counter_ordinal", 0)))
        standing = last_target(store)
        if standing is not None and standing[1] == target:
            return standing[0]
        noted = {"aim": target.aim, "share": target.share / MILLION}
        with store.run(RunPlan("tune", noted, session.factory.versions())) as run:
            save_target(store, run.number, target)
            run.counts = noted
        session.discard_engine()  # it places with the threshold of before
        return run.number

    def unfollow(self) -> EndedTarget:
        """End the stored target, in a run; from then on the setting `threshold` applies."""
        standing = followed_target(self._session.writer)
        if standing is None:
            raise UsageError("no target is kept; `segapsith tune --keep` keeps one")
        return EndedTarget(self.follow(Target("", 0, 0, 0, 0)), standing)

    def override_reason(self) -> str | None:
        """Return the setting that takes precedence over the stored target; None if none does."""
        standing = self._session.read(followed_target)
        return None if standing is None else self._session.factory.overruled

"""Validation of the domains of a store: run one, list earlier ones, measure drift and order effects.

`evaluation.validation` and `evaluation.verdicts` compute the figures. This module reads their input
from the store and stores the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.api.session import Session
from segapsith.api.topics import topic_grouping
from segapsith.arrays import Labels
from segapsith.domains.reassignment import ReassignSettings
from segapsith.domains.splitting import SplitSettings, core_similarity
from segapsith.engine import order_sensitivity
from segapsith.engine.runs import RunPlan
from segapsith.errors import SettingError, UsageError
from segapsith.evaluation import metrics, verdicts
from segapsith.evaluation.clustering import weight_rows
from segapsith.evaluation.validation import (
    ClusterCountPoint,
    CurvePoint,
    CurveSettings,
    PartitionAgreement,
    Selection,
    ValidationFigures,
    agreement,
    closeness,
    compare_with,
    select,
    summarize,
)
from segapsith.evaluation.verdicts import Verdict
from segapsith.evaluation.worker_clustering import (
    ClusterJob,
    ClusterRecipe,
    CurvePlan,
    cluster_all,
    curve_all,
)
from segapsith.model import Json, Result, html_table, optional
from segapsith.settings import CLUSTERER, CLUSTERER_MEASURES, PRESETS
from segapsith_store.queries import history
from segapsith_store.queries.documents import example_sentences
from segapsith_store.queries.domains import domain_labels
from segapsith_store.queries.stream import iterate_stream, learned_units
from segapsith_store.queries.validations import ValidationRow, list_validations

__all__ = [
    "ClusterCountPoint",
    "Curve",
    "CurvePoint",
    "Drift",
    "DriftedDomain",
    "OrderEffect",
    "OtherValidation",
    "Validation",
    "ValidationResult",
]

CLOSENESS_UNITS = 300
"""Units on which the recomputed measure is compared with the placement measure."""

STABILITY = 3
"""Halves of the units that are clustered anew to see how firm each domain is."""

THRESHOLDS = (0.05, 0.07, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherValidation(ValidationFigures):
    """A validation by another clusterer or similarity than the first."""

    min_units: int
    word_cut: float
    clusterer: str
    similarity: str | None
    lang: str | None
    last: int
    closeness: float | None
    """Rank correlation of the similarity and the placement measure over pairs of units; None
    if the clusterer compares by no similarity."""

    def keys(self) -> list[str]:
        """Return the names of the JSON form, which has no `table`; `tree` needs domains."""
        absent = {"table"} if self.domains else {"table", "tree"}
        return [name for name in ValidationFigures.keys(self) if name not in absent]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult(OtherValidation):
    """Stable domains against a clustering that was recomputed from the same units.

    Figures are None where there are no units to compare.
    """

    run: int
    verdicts: list[Verdict]
    others: list[OtherValidation]
    curve: list[ClusterCountPoint] | None = optional()
    """The main figures for each number of clusters, if several were given."""

    def keys(self) -> list[str]:
        """Return the names of the JSON form; `tree` needs domains, `curve` several numbers."""
        absent = set() if self.domains else {"tree"}
        return [name for name in ValidationFigures.keys(self) if name not in absent]

    def _repr_html_(self) -> str:
        """Return a table for notebooks; – stands where there was nothing to compare."""
        figures = {"kappa": self["kappa"]["greedy"], "ARI": self["ari"], "NMI": self["nmi"]}
        shown: dict[str, object] = {
            "units": self.units,
            "domains": self.domains,
            "clusters": self.clusters,
            "clusterer": self.clusterer,
            **{name: "–" if v is None else f"{v:.3f}" for name, v in figures.items()},
        }
        return html_table(f"Validation of run {self.run}", shown.items())


@dataclass(frozen=True, slots=True)
class DriftedDomain(Result):
    """A domain that became stable or ceased to be, with its units before and after."""

    id: int
    label: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(PartitionAgreement):
    """Two states of a store compared on the units that both have."""

    run: int
    since: int
    """The run that ended before the earlier state; `from` in the JSON form."""
    to: int | None
    """The run of the later state; None for the present one."""
    units_before: int
    units_after: int
    units: int
    share: float
    moved: int
    min_units: int
    domains: int
    clusters: int
    births: list[DriftedDomain]
    deaths: list[DriftedDomain]

    def keys(self) -> list[str]:
        """Return the names of the JSON form, which has no `table`."""
        names = [name for name in PartitionAgreement.keys(self) if name != "table"]
        return ["from" if name == "since" else name for name in names]


setattr(Drift, "from", property(lambda drift: drift.since))  # a keyword: it cannot be a field


@dataclass(frozen=True, slots=True)
class Curve(Result):
    """Kappa against the share of units in stable domains, over placement thresholds."""

    units: int
    min_units: int
    word_cut: float
    clusterer: str
    similarity: str | None
    lang: str | None
    nightly: bool
    points: list[CurvePoint]


@dataclass(frozen=True, slots=True)
class OrderEffect(Result):
    """The mean adjusted Rand index over all pairs of arrival orders; 1 if the order is irrelevant."""

    shuffles: int
    units: int
    domains: float
    topics: float


class Validation:
    """Whether the domains of a store are real: one check, its history, and related measurements."""

    def __init__(self, session: Session) -> None:
        self._wire = session

    # -- one validation --------------------------------------------------------------------

    def run(
        self,
        *,
        clusterer: str | Sequence[str] = CLUSTERER,
        similarity: str | Sequence[str] | None = None,
        clusterer_settings: Mapping[str, Json] | None = None,
        min_units: int | None = None,
        word_cut: float | None = None,
        k: int | Sequence[int] | None = None,
        stability: int = STABILITY,
        last: int = 0,
        seed: int = 0,
        lang: str | None = None,
        on_clustered: Callable[[int, int], None] | None = None,
    ) -> ValidationResult:
        """Compare the stable domains with recomputed clusterings, and store the comparison.

        Several names of a clusterer or similarity give several comparisons: the first is returned
        in full, the rest in `others`. `k` is the number of clusters (default: that of the domains);
        several numbers give a `curve`. A domain is stable with at least `min_units` units; a word
        counts if it weighs more than `word_cut` in a domain. `stability` is the number of random
        halves of the units that are clustered again to test each domain. `last` restricts the
        comparison to the units of that many of the newest stories. `on_clustered` is called after
        each clustering with the number of clusterings done and of all.
        """
        writer = self._wire.writer  # the lock first: every query sees the same state
        recipes = self._recipes(clusterer, similarity, clusterer_settings or {})
        numbers = [] if k is None else [k] if isinstance(k, int) else list(k)
        least, cut = self._least(min_units), self._cut(word_cut)
        plan = RunPlan(
            "validate",
            settings={
                "clusterer": clusterer, "similarity": similarity, **(clusterer_settings or {}),
                "min_units": least, "word_cut": cut, "k": k, "lang": lang, "stability": stability,
                "last": last,
            },
            versions=self._wire.factory.versions(),
            seed=seed,
        )  # fmt: skip
        self._wire.factory.start_workers("cluster")
        with writer.run(plan) as run:
            selection = select(learned_units(writer, lang, last=last), least, cut)
            size = numbers[0] if len(numbers) == 1 else selection.n_domains
            sizes = sorted(set(numbers)) if len(numbers) > 1 else []
            drawn = verdicts.halves(len(selection.learned.units), stability, seed)
            first_recipe = next(iter(recipes.values()))
            # the longest first: the others fill the workers at the end
            jobs = [
                *(ClusterJob(recipe(seed).into(size)) for recipe in recipes.values()),
                *(ClusterJob(first_recipe(seed).into(number)) for number in sizes),
                *(
                    ClusterJob(first_recipe(seed + 1 + draw).into(size), half)
                    for draw, half in enumerate(drawn)
                ),
            ]
            clustered = iter(self._clustered(selection, jobs, on_clustered))
            of_pair = {pair: next(clustered) for pair in recipes}
            of_size = {number: next(clustered) for number in sizes}
            results, stored = [], []
            judged: list[Verdict] = []
            points = None
            for (name, measure), labels in of_pair.items():
                figures = compare_with(selection, labels, seed)
                made_with: dict[str, Any] = {
                    "min_units": least, "word_cut": cut, "clusterer": name,
                    "similarity": measure, "lang": lang, "last": last,
                    "closeness": self._closeness(
                        selection, measure or CLUSTERER_MEASURES.get(name), seed
                    ),
                }  # fmt: skip
                results.append(OtherValidation(**figures, **made_with))
                stored.append({**figures.as_json(), **made_with})
                if len(results) == 1:
                    judged = _verdicts(selection, labels, drawn, list(clustered))
                    stored[0]["verdicts"] = [verdict.as_json() for verdict in judged]
                    if sizes:
                        points = [
                            ClusterCountPoint(
                                k=number, **summarize(compare_with(selection, of_number, seed))
                            )
                            for number, of_number in of_size.items()
                        ]
                        stored[0]["curve"] = [point.as_json() for point in points]
            for result in reversed(stored):  # the first is the night's own: it is kept last
                writer.save_comparison(run.number, "validate", lang or "", result)
            run.counts = {"kappa": results[0].kappa.greedy}
        first, *others = results
        return ValidationResult(
            run=run.number,
            verdicts=self._with_examples(judged),
            others=others,
            curve=points,
            **{f.name: getattr(first, f.name) for f in fields(first)},
        )

    def _clustered(
        self,
        selection: Selection,
        jobs: Sequence[ClusterJob],
        on_clustered: Callable[[int, int], None] | None,
    ) -> list[Labels]:
        """Return the labels of each job; without domains there is nothing to cluster."""
        if not selection.n_domains:
            return [np.zeros(0, dtype=np.int64) for _ in jobs]
        factory = self._wire.factory
        plugins = factory.shared_plugins(
            *(
                plugin
                for job in jobs
                for plugin in (
                    ("clusterer", job.recipe.clusterer),
                    ("similarity", job.recipe.similarity),
                )
            )
        )
        clustered = []
        for labels in cluster_all(factory.executor, plugins, selection.learned.counts, jobs):
            clustered.append(labels)
            if on_clustered is not None:
                on_clustered(len(clustered), len(jobs))
        return clustered

    def _closeness(self, selection: Selection, similarity: str | None, seed: int) -> float | None:
        """Return how near a similarity is to the placement measure, on a sample of the units.

        If it is nearly the same, the clustering repeats the placement, and agreement shows little.
        """
        placement = self._wire.settings.placement.measure
        if similarity is None or not selection.n_domains:
            return None
        if similarity == placement:
            return 1.0
        counts = selection.learned.counts
        n_sample = min(CLOSENESS_UNITS, counts.shape[0])
        sampled = np.random.default_rng(seed).choice(counts.shape[0], n_sample, replace=False)
        sample = counts[np.sort(sampled)]
        compared = []
        for name in (placement, similarity):
            measure = self._wire.factory.registry.make("similarity", name)
            rows = weight_rows(sample, None, name)
            measure.learn(rows)
            compared.append(measure.compare(rows, rows))
        return closeness(*compared)

    def _least(self, min_units: int | None) -> int:
        return self._wire.settings.maintenance.stable if min_units is None else min_units

    def _cut(self, given: float | None) -> float:
        """The weight above which a word counts: given, set, or that of the store's own preset."""
        if given is not None:
            return given
        settings = self._wire.settings
        if settings.origins.get("word_cut") == "default":
            facts = self._wire.read(lambda store: store.facts())
            if facts.get("domain_weight") == PRESETS["paper"]["domain_weight"]:
                return float(PRESETS["paper"]["word_cut"])
        return settings.validation.word_cut

    def _recipes(
        self,
        clusterer: str | Sequence[str],
        similarity: str | Sequence[str] | None,
        settings: Mapping[str, Any],
    ) -> dict[tuple[str, str | None], Callable[[int], ClusterRecipe]]:
        """Every clusterer with every similarity, by seed; each setting goes to those that know it."""
        clusterers = [clusterer] if isinstance(clusterer, str) else list(clusterer)
        measures: list[str | None] = (
            [similarity] if isinstance(similarity, str) or similarity is None else [*similarity]
        )
        pairs = [(name, measure) for name in clusterers for measure in measures]
        make = self._wire.factory.recipe
        if len(pairs) == 1:
            make(*pairs[0], settings)
            return {pairs[0]: lambda seed: make(*pairs[0], settings, seed)}
        taken: dict[tuple[str, str | None], dict[str, Any]] = {pair: {} for pair in pairs}
        refused: dict[str, list[SettingError]] = {name: [] for name in settings}
        for pair, known in taken.items():
            for name, value in settings.items():
                try:
                    make(*pair, {name: value})
                    known[name] = value
                except SettingError as error:
                    refused[name].append(error)
            make(*pair, known)
        for errors in refused.values():
            if len(errors) == len(pairs):
                raise errors[0]
        return {pair: _by_seed(make, pair, known) for pair, known in taken.items()}

    def _with_examples(self, judged: Sequence[Verdict]) -> list[Verdict]:
        """Return verdicts with sentences, which are read from the texts and never stored."""
        words = {unit: verdict.words for verdict in judged for unit in verdict.example_units}
        shown = self._wire.read(lambda store: example_sentences(store, words))
        labels = self._wire.read(domain_labels)
        return [
            replace(
                verdict,
                label=labels.get(verdict.domain),
                examples=[shown[unit] for unit in verdict.example_units if unit in shown],
            )
            for verdict in judged
        ]

    def history(self, lang: str | None = None, limit: int | None = None) -> list[ValidationRow]:
        """Return the last `limit` validations (default: all), oldest first."""
        return self._wire.read(lambda store: list_validations(store, lang, limit))

    # -- drift -----------------------------------------------------------------------------

    def drift(
        self,
        *,
        since: str | int | None = None,
        until: str | int | None = None,
        min_units: int | None = None,
        seed: int = 0,
    ) -> Drift:
        """Compare two states of the store on the units that both have, and store the comparison.

        `since` and `until` are runs or dates; by default the states before and after the last run
        that learned. `births` are domains that became stable, `deaths` those that ceased to be.
        """
        writer = self._wire.writer  # the lock first: every query sees the same state
        least = self._least(min_units)
        first = history.run_before_last(writer) if since is None else history.run_at(writer, since)
        last = None if until is None else history.run_at(writer, until)
        if last is not None and last < first:
            first, last = last, first
        before, after = history.domain_of_unit(writer, first), history.domain_of_unit(writer, last)
        common = [unit for unit in before if unit in after]
        sizes = [_sizes(labels) for labels in (before, after)]
        names = domain_labels(writer)
        plan = RunPlan(
            "drift",
            settings={"since": since, "until": until, "min_units": least},
            versions=self._wire.factory.versions(),
            seed=seed,
        )
        with writer.run(plan) as run:
            drift = Drift(
                run=run.number,
                since=first,
                to=last,
                units_before=len(before),
                units_after=len(after),
                units=len(common),
                share=round(len(common) / len(after), 6) if after else 0.0,
                moved=sum(before[unit] != after[unit] for unit in common),
                min_units=least,
                domains=len(sizes[0]),
                clusters=len(sizes[1]),
                births=_changed(sizes[0], sizes[1], names, least),
                deaths=_changed(sizes[1], sizes[0], names, least, backwards=True),
                **agreement([before[u] for u in common], [after[u] for u in common], seed),
            )
            stored = {name: value for name, value in drift.as_json().items() if name != "run"}
            writer.save_comparison(run.number, "drift", "", stored)
            run.counts = {"kappa": drift.kappa.greedy}
        return drift

    # -- curve -----------------------------------------------------------------------------

    def curve(
        self,
        *,
        thresholds: Sequence[float] = THRESHOLDS,
        clusterer: str = CLUSTERER,
        similarity: str | None = None,
        clusterer_settings: Mapping[str, Json] | None = None,
        min_units: int | None = None,
        word_cut: float | None = None,
        seed: int = 0,
        lang: str | None = None,
        nightly: bool = False,
        on_threshold: Callable[[float], None] | None = None,
    ) -> Curve:
        """Place the stored units again with other thresholds, in memory, and validate each result.

        Nothing is stored. With `nightly`, broad domains are then split and units reassigned, as the
        settings of the nightly run say. `on_threshold` is called after each threshold.
        """
        ordered = sorted(set(thresholds))
        if not ordered or not 0 < ordered[0] <= ordered[-1] <= 1:
            raise UsageError(f"thresholds={ordered} should lie above 0 and be at most 1")
        with self._wire.reading() as store:
            self._wire.factory.start_workers("curve")
            least, cut = self._least(min_units), self._cut(word_cut)
            factory = self._wire.factory
            recipe = factory.recipe(clusterer, similarity, clusterer_settings or {}, seed)
            placing = factory.placing()
            learned, facts = learned_units(store, lang), store.facts()
            splitting, adopting = self._night() if nightly else (None, None)
        weight = str(facts.get("domain_weight", placing.domain_weight))
        rules = CurveSettings(least, cut, seed, splitting, adopting)
        points = curve_all(
            factory.executor,
            factory.shared_plugins(("clusterer", clusterer), ("similarity", similarity)),
            learned,
            CurvePlan(replace(placing, domain_weight=weight), recipe, rules),
            ordered,
            watch=on_threshold,
        )
        return Curve(
            units=len(learned.units),
            min_units=least,
            word_cut=cut,
            clusterer=clusterer,
            similarity=similarity,
            lang=lang,
            nightly=nightly,
            points=points,
        )

    def _night(self) -> tuple[SplitSettings | None, ReassignSettings | None]:
        """What a night does to domains once units are placed, as far as it is switched on."""
        maintenance = self._wire.settings.maintenance
        narrow, least = maintenance.split_similarity, maintenance.reassign_similarity
        near = core_similarity(self._wire.read(self._wire.placing).threshold)
        try:
            return (
                SplitSettings(narrow, near, maintenance.stable) if narrow else None,
                ReassignSettings(least, maintenance.stable) if least else None,
            )
        except ValueError as error:
            raise SettingError(str(error)) from error

    # -- order of arrival ------------------------------------------------------------------

    def order(
        self,
        *,
        shuffles: int = 20,
        seed: int = 0,
        on_order: Callable[[str], None] | None = None,
    ) -> OrderEffect:
        """Learn the stored units again in shuffled orders, in memory, and compare the results.

        `on_order` receives a line of progress after each order.
        """
        if shuffles < 2:
            raise UsageError(f"shuffles={shuffles} should be >= 2: one order has no other")
        with self._wire.reading() as store:
            self._wire.factory.start_workers("replay-order")
            factory = self._wire.factory
            making = topic_grouping(factory)
            placement = factory.learning().placement
            importance = self._wire.settings.placement.importance
            units, words = list(iterate_stream(store)), list(store.words())
        plan = order_sensitivity.ReplayPlan(placement, importance, making.recipe)
        plugins = factory.shared_plugins(
            ("clusterer", making.recipe.clusterer), ("similarity", making.recipe.similarity)
        )
        replayed = []
        for replay in order_sensitivity.replay_all(
            factory.executor, plugins, units, [entry[:3] for entry in words], plan,
            seeds=range(seed, seed + shuffles),
        ):  # fmt: skip
            replayed.append(replay)
            if on_order is not None:
                on_order(f"{len(replayed)} of {shuffles} orders")
        return OrderEffect(
            shuffles=shuffles,
            units=len(units),
            domains=metrics.mean_ari([replay.domains for replay in replayed]),
            topics=metrics.mean_ari([replay.topics for replay in replayed]),
        )


def _by_seed(
    make: Callable[..., ClusterRecipe], pair: tuple[str, str | None], settings: Mapping[str, Any]
) -> Callable[[int], ClusterRecipe]:
    return lambda seed: make(*pair, settings, seed)


def _verdicts(
    selection: Selection,
    labels: Labels,
    drawn: Sequence[NDArray[np.int64]],
    clusters: Sequence[Labels],
) -> list[Verdict]:
    """Return the verdicts; `clusters` are those of the halves that were drawn."""
    learned = selection.learned
    if not selection.n_domains:
        return []
    firmness = verdicts.stability_in(learned, drawn, clusters) if drawn else None
    return verdicts.judge(learned, labels, firmness)


def _sizes(labels: Mapping[int, int]) -> dict[int, int]:
    numbers, counts = np.unique(
        np.fromiter(labels.values(), dtype=np.int64, count=len(labels)), return_counts=True
    )
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _changed(
    small: Mapping[int, int],
    large: Mapping[int, int],
    names: Mapping[int, str],
    least: int,
    *,
    backwards: bool = False,
) -> list[DriftedDomain]:
    """Return the domains that are stable in `large` and not in `small`."""
    return [
        DriftedDomain(
            id=number,
            label=names.get(number, ""),
            before=size if backwards else small.get(number, 0),
            after=small.get(number, 0) if backwards else size,
        )
        for number, size in sorted(large.items(), key=lambda entry: (-entry[1], entry[0]))
        if size >= least > small.get(number, 0)
    ]

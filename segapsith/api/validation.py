"""Proving the domains on a store: validations, their series, drift, curves, comparisons.

The numbers are computed below (`validation`, `verdicts`, `matching`); here they are
fetched from the store, kept in it, and given the shape of the contract.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from segapsith.api.wired import Wired
from segapsith.arrays import Labels, Rows
from segapsith.domains.reassignment import Adopting
from segapsith.domains.splitting import Splitting, nearer
from segapsith.engine.runs import RunPlan
from segapsith.errors import MissingInputError, SettingError, UsageError, did_you_mean
from segapsith.evaluation import verdicts
from segapsith.evaluation.alignment import Side, labelled_file, matched
from segapsith.evaluation.validation import (
    Selection,
    agreement,
    brief,
    curve,
    links,
    recomputed,
    select,
)
from segapsith.settings import CLUSTERER, PRESETS
from segapsith_store import Store
from segapsith_store.queries import browse, history, validations

__all__ = ["Validation"]

STABILITY = 3
"""Halves of the units that are clustered anew to see how firm each domain is."""

THRESHOLDS = (0.05, 0.07, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3)

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ][\d:.]+Z?)?")

Recompute = Callable[[Rows, int, int], Labels]


@dataclass(frozen=True, slots=True)
class _Named:
    """One side of a comparison: its labels, and the units and store that they came from."""

    side: Side
    units: NDArray[np.int64] | None = None
    store: str = ""


class Validation:
    """Asks a store whether its domains are real."""

    def __init__(self, wire: Wired) -> None:
        self._wire = wire

    # -- validate --------------------------------------------------------------------------

    def validate(
        self,
        *,
        clusterer: str | Sequence[str] = CLUSTERER,
        similarity: str | Sequence[str] | None = None,
        clusterer_settings: Mapping[str, Any] | None = None,
        min_units: int | None = None,
        word_cut: float | None = None,
        k: int | Sequence[int] | None = None,
        stability: int = STABILITY,
        last: int = 0,
        seed: int = 0,
        lang: str | None = None,
    ) -> dict[str, Any]:
        """Stable domains against recomputed clusterings; the first one is told in full.

        With `last`, by the units of that many of the newest stories.

        Others come in `others`; several `k` come in `curve`, and the rest is told for as many
        clusters as there are domains.
        """
        recomputes = self._recomputes(clusterer, similarity, clusterer_settings or {})
        numbers = [] if k is None else [k] if isinstance(k, int) else list(k)
        writer = self._wire.writer  # the lock first: from here on nobody else changes anything
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
        with writer.run(plan) as run:
            selection = select(browse.learned_units(writer, lang, last=last), least, cut)
            size = numbers[0] if len(numbers) == 1 else selection.n_domains
            results = []
            for (name, measure), recompute in recomputes.items():
                found, labels = recomputed(selection, _into(recompute, size, seed), seed)
                results.append(
                    {
                        **found, "min_units": least, "word_cut": cut, "clusterer": name,
                        "similarity": measure, "lang": lang, "last": last,
                    }
                )  # fmt: skip
                if len(results) == 1:
                    results[0]["verdicts"] = self._verdicts(
                        selection, labels, recompute, size, stability, seed
                    )
                    if len(numbers) > 1:
                        results[0]["curve"] = _over_k(selection, recompute, numbers, seed)
            for result in reversed(results):  # the first is the night's own: it is kept last
                writer.save_comparison(run.number, "validate", lang or "", result)
            run.counts = {"kappa": results[0]["kappa"]["greedy"]}
        first, *others = results
        self._add_examples(first["verdicts"])
        return {"run": run.number, **first, "others": [_without_table(other) for other in others]}

    def _least(self, min_units: int | None) -> int:
        return int(self._wire.settings["stable"]) if min_units is None else min_units

    def _cut(self, given: float | None) -> float:
        """The weight above which a word counts: given, set, or that of the store's own preset."""
        if given is not None:
            return given
        settings = self._wire.settings
        if settings.origins.get("word_cut") == "default":
            facts = self._wire.read(lambda store: store.facts())
            if facts.get("domain_weight") == PRESETS["paper"]["domain_weight"]:
                return float(PRESETS["paper"]["word_cut"])
        return float(settings["word_cut"])

    def _recomputes(
        self,
        clusterer: str | Sequence[str],
        similarity: str | Sequence[str] | None,
        settings: Mapping[str, Any],
    ) -> dict[tuple[str, str | None], Recompute]:
        """Every clusterer with every similarity; each setting goes to those that know it."""
        clusterers = [clusterer] if isinstance(clusterer, str) else list(clusterer)
        measures: list[str | None] = (
            [similarity] if isinstance(similarity, str) or similarity is None else [*similarity]
        )
        pairs = [(name, measure) for name in clusterers for measure in measures]
        if len(pairs) == 1:
            return {pair: self._wire.factory.recomputing(*pair, settings) for pair in pairs}
        made = {}
        refused: dict[str, list[SettingError]] = {name: [] for name in settings}
        for pair in pairs:
            taken = {}
            for name, value in settings.items():
                try:
                    self._wire.factory.recomputing(*pair, {name: value})
                    taken[name] = value
                except SettingError as error:
                    refused[name].append(error)
            made[pair] = self._wire.factory.recomputing(*pair, taken)
        for errors in refused.values():
            if len(errors) == len(pairs):
                raise errors[0]
        return made

    @staticmethod
    def _verdicts(
        selection: Selection,
        labels: Labels,
        recompute: Recompute,
        k: int,
        draws: int,
        seed: int,
    ) -> list[dict[str, Any]]:
        learned = selection.learned
        if not selection.n_domains:
            return []
        firmness = (
            verdicts.stability(learned, lambda rows, s: recompute(rows, k, s), draws, seed)
            if draws
            else None
        )
        return verdicts.verdicts(learned, labels, firmness)

    def _add_examples(self, found: list[dict[str, Any]]) -> None:
        """Sentences beside the verdicts; they are looked up and never kept with them."""
        words = {unit: one["words"] for one in found for unit in one["example_units"]}
        shown = self._wire.read(lambda store: validations.sentences(store, list(words), words))
        for one in found:
            one["examples"] = [shown[unit] for unit in one["example_units"] if unit in shown]

    def history(self, lang: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """The validations so far, oldest first."""
        return self._wire.read(lambda store: validations.validations(store, lang, limit))

    # -- drift -----------------------------------------------------------------------------

    def drift(
        self,
        *,
        since: str | int | None = None,
        until: str | int | None = None,
        min_units: int | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Two nights compared on the units that both have; by default, before and after the last
        run that learned. Born and dead are domains that became stable, or ceased to be."""
        least = self._least(min_units)
        writer = self._wire.writer
        first = history.before_last(writer) if since is None else history.night(writer, since)
        last = None if until is None else history.night(writer, until)
        if last is not None and last < first:
            first, last = last, first
        before, after = history.held(writer, first), history.held(writer, last)
        common = [unit for unit in before if unit in after]
        sizes = [_sizes(labels) for labels in (before, after)]
        names = validations.domain_labels(writer)
        result = {
            "from": first,
            "to": last,
            "units_before": len(before),
            "units_after": len(after),
            "units": len(common),
            "share": round(len(common) / len(after), 6) if after else 0.0,
            "moved": sum(before[unit] != after[unit] for unit in common),
            "min_units": least,
            "domains": len(sizes[0]),
            "clusters": len(sizes[1]),
            "births": _changed(sizes[0], sizes[1], names, least),
            "deaths": _changed(sizes[1], sizes[0], names, least, backwards=True),
            **_without_table(
                agreement([before[u] for u in common], [after[u] for u in common], seed)
            ),
        }
        plan = RunPlan(
            "drift",
            settings={"since": since, "until": until, "min_units": least},
            versions=self._wire.factory.versions(),
            seed=seed,
        )
        with writer.run(plan) as run:
            writer.save_comparison(run.number, "drift", "", result)
            run.counts = {"kappa": result["kappa"]["greedy"]}
        return {"run": run.number, **result}

    # -- curve -----------------------------------------------------------------------------

    def curve(
        self,
        *,
        thresholds: Sequence[float] = THRESHOLDS,
        clusterer: str = CLUSTERER,
        similarity: str | None = None,
        clusterer_settings: Mapping[str, Any] | None = None,
        min_units: int | None = None,
        word_cut: float | None = None,
        seed: int = 0,
        lang: str | None = None,
        nightly: bool = False,
        watch: Callable[[float], None] | None = None,
    ) -> dict[str, Any]:
        """The stored units placed again with other thresholds, in memory; nothing is kept.

        With `nightly`, then split and adopted as the settings say.
        """
        least = self._least(min_units)
        recompute = self._wire.factory.recomputing(clusterer, similarity, clusterer_settings or {})
        placing = self._wire.factory.placing()
        wanted = sorted(set(thresholds))
        if not wanted or not 0 < wanted[0] <= wanted[-1] <= 1:
            raise UsageError(f"thresholds={wanted} should lie above 0 and be at most 1")
        with self._wire.reading() as store:
            cut = self._cut(word_cut)
            learned, facts = browse.learned_units(store, lang), store.facts()
            splitting, adopting = self._night() if nightly else (None, None)
        weight = str(facts.get("domain_weight", placing.domain_weight))
        return {
            "units": len(learned.units),
            "min_units": least,
            "word_cut": cut,
            "clusterer": clusterer,
            "similarity": similarity,
            "lang": lang,
            "nightly": nightly,
            "points": curve(
                learned,
                replace(placing, domain_weight=weight),
                wanted,
                lambda rows, k: recompute(rows, k, seed),
                min_units=least,
                word_cut=cut,
                seed=seed,
                splitting=splitting,
                adopting=adopting,
                watch=watch,
            ),
        }

    def _night(self) -> tuple[Splitting | None, Adopting | None]:
        """What a night does to domains once units are placed, as far as it is switched on."""
        narrow, least, stable = (
            float(self._wire.settings[name]) for name in ("narrow", "adopt", "stable")
        )
        near = nearer(self._wire.read(self._wire.placing).threshold)
        try:
            return (
                Splitting(narrow, near, int(stable)) if narrow else None,
                Adopting(least, int(stable)) if least else None,
            )
        except ValueError as error:
            raise SettingError(str(error)) from error

    # -- compare ---------------------------------------------------------------------------

    def compare(
        self,
        left: str | int,
        right: str | int,
        *,
        field: str | None = None,
        min_units: int = 1,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Compare two runs, nights, stores or labelled files, on the units that both label.

        `field` is where labelled files have their labels, if several fields may hold them.
        """
        with _Snapshots(self._wire) as snapshots:
            return self._compared(snapshots, left, right, field, min_units, seed)

    def _compared(
        self,
        snapshots: _Snapshots,
        left: str | int,
        right: str | int,
        field: str | None,
        min_units: int,
        seed: int,
    ) -> dict[str, Any]:
        sides = tuple(self._side(snapshots, named, field) for named in (left, right))
        if field is not None and all(side.units is not None for side in sides):
            raise UsageError(
                f"--field {field}: neither {left} nor {right} is a labelled file; leave it out"
            )
        ours, theirs = matched(sides[0].side, sides[1].side)
        if not len(ours):
            raise UsageError(
                f"nothing to compare: no unit of {left} is labelled by {right}"
                f" ({len(sides[0].side)} and {len(sides[1].side)} labels; documents are matched by id,"
                " units by where they lie in the text)"
            )
        labels = [
            np.asarray(side.side.labels, dtype=object)[places]
            for side, places in zip(sides, (ours, theirs), strict=True)
        ]
        codes, names = zip(*(_coded(one.tolist()) for one in labels), strict=True)
        kept = np.flatnonzero(np.bincount(codes[0])[codes[0]] >= min_units)
        if not len(kept):
            raise UsageError(
                f"no group of {left} has {min_units} units; --min-units lowers the bar"
            )
        result: dict[str, Any] = {
            "left": str(left),
            "right": str(right),
            "left_field": sides[0].side.field,
            "right_field": sides[1].side.field,
            "left_units": len(sides[0].side),
            "right_units": len(sides[1].side),
            "units": len(kept),
            "share": round(len(kept) / len(sides[0].side), 6),
            "several_labels": sides[0].side.n_several + sides[1].side.n_several,
            "domains": len(np.unique(codes[0][kept])),
            "clusters": len(np.unique(codes[1][kept])),
        }
        for side, places in zip(sides, (ours, theirs), strict=True):
            if side.units is not None:
                found = self._linked(
                    snapshots, side, places[kept], codes[0][kept], codes[1][kept], names
                )
                if found is not None:
                    result["links"] = found
                    break
        return {
            **result,
            **agreement(labels[0][kept].tolist(), labels[1][kept].tolist(), seed),
        }

    def _side(self, snapshots: _Snapshots, named: str | int, field: str | None) -> _Named:
        """What a name means: a run, a date, a store (with `@run` or `@date`), or a labelled file."""
        text = str(named)
        if text.isdigit() or _DATE.fullmatch(text):
            return _of_store(snapshots.of(self._wire.path), self._wire.path, text)
        path, at, when = (text, "", "") if os.path.exists(text) else text.rpartition("@")
        if not at and not os.path.exists(text):
            path = text
        if not os.path.exists(path):
            raise MissingInputError(
                f"{text}: there is no such file; name a run, a date, a store (store.db, store.db@RUN)"
                " or a labelled file (.jsonl, .csv)" + did_you_mean(text, os.listdir("."))
            )
        if os.path.isdir(path):
            raise UsageError(f"{path} is a directory; name a store or a labelled file")
        with open(path, "rb") as file:
            is_store = file.read(16) == b"SQLite format 3\0"
        if is_store:
            return _of_store(snapshots.of(path), path, when)
        return _Named(labelled_file(path, field))

    @staticmethod
    def _linked(
        snapshots: _Snapshots,
        side: _Named,
        places: NDArray[np.int64],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        names: Sequence[Sequence[Any]],
    ) -> dict[str, Any] | None:
        """Links by words, where the units still have them."""
        assert side.units is not None
        learned = browse.learned_units(snapshots.of(side.store))
        wanted = side.units[places]
        rows = np.searchsorted(learned.units, wanted)
        known = np.flatnonzero(
            learned.units[np.minimum(rows, max(len(learned.units) - 1, 0))] == wanted
            if len(learned.units)
            else np.zeros(len(wanted), dtype=np.bool_)
        )
        if not len(known):
            return None
        chosen = replace(
            learned,
            units=wanted[known],
            domains=left[known],
            counts=learned.counts[rows[known]],
            weights=learned.weights[rows[known]],
        )
        found = links(chosen, left[known], right[known])
        for method in ("similarity", "entropy"):
            found[method]["links"] = {
                str(names[1][int(cluster)]): None if domain is None else names[0][domain]
                for cluster, domain in found[method]["links"].items()
            }
        found["shared"] = {
            str(names[1][int(cluster)]): names[0][domain]
            for cluster, domain in found["shared"].items()
        }
        found["domains"] = [
            {
                "domain": names[0][one["domain"]],
                **{m: [names[1][c] for c in one[m]] for m in ("similarity", "entropy", "shared")},
            }
            for one in found["domains"]
        ]
        return found


class _Snapshots:
    """One state of each store that an answer needs, until the answer is given."""

    def __init__(self, wire: Wired) -> None:
        self._wire = wire
        self._stack = contextlib.ExitStack()
        self._stores: dict[str, Store] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def of(self, path: str) -> Store:
        """Return the store at a path, as it was when it was first asked for."""
        if path not in self._stores:
            if path == self._wire.path:
                store = self._stack.enter_context(self._wire.reading())
            else:
                store = self._stack.enter_context(Store.reading(path))
                self._stack.enter_context(store.frozen())
            self._stores[path] = store
        return self._stores[path]


def _of_store(store: Store, path: str, when: str) -> _Named:
    """The labels that a store has, now or as of a run or date."""
    name = f"{path}@{when}" if when else path
    if not when:
        return _Named(*validations.side(store, history.held(store), name, "domain"), path)
    run = history.night(store, when)
    clusters = validations.clustering(store, run) if when.isdigit() else None
    labels = history.held(store, run) if clusters is None else clusters
    if not labels:
        raise UsageError(f"{name}: no unit had a domain when run {run} had ended")
    field = "domain" if clusters is None else "cluster"
    return _Named(*validations.side(store, labels, name, field), path)


def _into(recompute: Recompute, k: int, seed: int) -> Callable[[Rows], Labels]:
    return lambda rows: recompute(rows, k, seed)


def _over_k(
    selection: Selection, recompute: Recompute, numbers: Sequence[int], seed: int
) -> list[dict[str, Any]]:
    """The comparison for each number of clusters, in short."""
    return [
        {"k": k, **brief(recomputed(selection, _into(recompute, k, seed), seed)[0])}
        for k in sorted(set(numbers))
    ]


def _without_table(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "table"}


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
) -> list[dict[str, Any]]:
    """Domains that are stable in `large` and not in `small`."""
    return [
        {
            "id": number,
            "label": names.get(number, ""),
            "before": size if backwards else small.get(number, 0),
            "after": small.get(number, 0) if backwards else size,
        }
        for number, size in sorted(large.items(), key=lambda entry: (-entry[1], entry[0]))
        if size >= least > small.get(number, 0)
    ]


def _coded(labels: list[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as numbers, and what each number stands for."""
    names = (
        sorted(set(labels)) if len({type(x) for x in labels}) == 1 else list(dict.fromkeys(labels))
    )
    number = {name: code for code, name in enumerate(names)}
    return np.array([number[label] for label in labels], dtype=np.int64), names

"""`validate`: compare the domains with a clustering computed from scratch."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import SETS, WORKERS, All, Lang, MinUnits, Seed
from segapsith.cli.output import LISTED, MAX_WIDTH, Output, counted, minute, say, write
from segapsith.errors import UsageError, ValidationBelowError
from segapsith.model import Record
from segapsith.settings import CLUSTERER

__all__ = ["add_to", "comparison_lines", "validation_lines"]

FIGURES = ("kappa", "ari", "nmi", "share")
N_EARLIER = 7
"""Validations whose median a drop is measured against."""

Clusterer = Annotated[
    str, typer.Option("--clusterer", metavar="NAME", help="Plugin that clusters from scratch.")
]
Similarity = Annotated[
    str | None,
    typer.Option("--similarity", metavar="NAME", help="Plugin that the clusterer compares with."),
]
WordCut = Annotated[
    float | None,
    typer.Option("--word-cut", min=0, help="Ignore words that weigh at most this in every domain."),
]


def add_to(app: typer.Typer) -> None:
    validations = group(default=validate)
    validations.command("drift")(drift)
    validations.command("curve")(curve)
    validations.command("order")(order)
    app.add_typer(validations, name="validate")


@command(SETS, WORKERS)
def validate(
    context: Context,
    *,
    clusterer: Annotated[
        list[str] | None,
        typer.Option(
            "--clusterer",
            metavar="NAME",
            help=f"Plugin that clusters from scratch (repeatable; default: {CLUSTERER}).",
        ),
    ] = None,
    similarity: Annotated[
        list[str] | None,
        typer.Option(
            "--similarity",
            metavar="NAME",
            help="Plugin that clusterers compare with (repeatable).",
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "-k", metavar="N|A:B:STEP", help="Clusters, or a range (default: one per domain)."
        ),
    ] = None,
    min_units: MinUnits = None,
    word_cut: WordCut = None,
    stability: Annotated[
        int,
        typer.Option("--stability", min=0, help="Cluster N random halves to test each domain."),
    ] = 3,
    last: Annotated[
        int, typer.Option("--last", min=0, help="Only the newest N stories (0: all).")
    ] = 0,
    lang: Lang = None,
    seed: Seed = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Print all figures, not only five lines.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show the stored validations; compute nothing.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="With --history: only the last N.")
    ] = None,
    everything: All = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under", metavar="NAME=VALUE", help="Exit with code 76 below, e.g. kappa=0.4."
        ),
    ] = None,
    fail_drop: Annotated[
        float | None,
        typer.Option(
            "--fail-drop",
            min=0,
            help="Exit with code 76 if kappa is this far below the median of the last 7.",
        ),
    ] = None,
) -> None:
    """Compare the stable domains with a clustering from scratch.

    Five lines say how well both agree, what needs attention, and whether the agreement is evidence:
    a similarity that is nearly the placement measure repeats the placement. --full prints the rest.

    Example: segapsith validate --fail-under kappa=0.4 --store wire.db
    """
    limits = dict(_limit(entry) for entry in fail_under or [])
    numbers = None if k is None else _numbers(k)
    with context.wire() as wire, context.out.progress() as progress:
        if history:
            earlier = wire.validation.history(lang, limit)
            most = None if everything or limit else LISTED
            context.show(earlier, lambda out: _show_history(earlier, out, most))
            return
        result = wire.validation.run(
            clusterer=clusterer or [CLUSTERER],
            similarity=similarity or None,
            clusterer_settings=context.settings.plugins,
            min_units=min_units,
            word_cut=word_cut,
            k=numbers,
            stability=stability,
            last=last,
            seed=seed,
            lang=lang,
            on_clustered=lambda done, total: progress.share("validating", done, total),
        )
        kappas = [] if fail_drop is None else _comparable(wire.validation.history(lang), result)
    context.show(result, lambda out: _show_lines(validation_lines(result, full=full), out))
    below = [
        f"{name} {_rounded(figure)} is below {limit}"
        for name, limit in limits.items()
        if (figure := _figure(result, name)) is None or figure < limit
    ]
    if fail_drop is not None:
        below += _drop(_figure(result, "kappa"), kappas, fail_drop)
    if below:
        say("segapsith: " + "; ".join(below))
        raise typer.Exit(ValidationBelowError.exit_code)


def _show_lines(lines: list[str], out: Output) -> None:
    for line in lines:
        out.line(line, indent=" " * (len(line) - len(line.lstrip()) + 4))


def _limit(entry: str) -> tuple[str, float]:
    name, _, value = entry.partition("=")
    if name not in FIGURES:
        raise UsageError(f"--fail-under {entry!r}: the name should be {', '.join(FIGURES)}")
    try:
        return name, float(value)
    except ValueError as error:
        raise UsageError(f"--fail-under {entry!r} should be NAME=NUMBER") from error


def _figure(result: Record, name: str) -> float | None:
    figure = result["kappa"]["greedy"] if name == "kappa" else result[name]
    return None if figure is None else float(figure)


def _rounded(figure: float | None) -> str:
    return "(none)" if figure is None else f"{figure:.3f}"


def _numbers(text: str) -> list[int]:
    """Return numbers of clusters as they are typed.

    >>> _numbers("71"), _numbers("10:30:10"), _numbers("4,8")
    ([71], [10, 20, 30], [4, 8])
    """
    try:
        if ":" in text:
            first, last, *step = (int(part) for part in text.split(":"))
            numbers = list(range(first, last + 1, *(step or [max(1, (last - first) // 8)])))
        else:
            numbers = [int(part) for part in text.split(",")]
    except (TypeError, ValueError) as error:
        raise UsageError(f"-k {text!r} should be a number, A:B, A:B:STEP or A,B,C") from error
    if not numbers or min(numbers) < 1:
        raise UsageError(f"-k {text!r} should be numbers of at least 1")
    return numbers


def _comparable(earlier: Sequence[Record], result: Record) -> list[float]:
    """Return kappa of the last validations with the same clusterer, similarity and choice."""
    names = ("clusterer", "similarity", "min_units", "word_cut", "last")
    return [
        one["kappa"]
        for one in earlier
        if one["run"] != result["run"]
        and one["kappa"] is not None
        and one["lang"] == (result["lang"] or "")
        and all(one[name] == result[name] for name in names)
    ][-N_EARLIER:]


def _drop(kappa: float | None, earlier: list[float], limit: float) -> list[str]:
    """Return the failure if kappa lies more than `limit` below the median of earlier ones."""
    if not earlier:
        say("segapsith: no earlier validation of this kind, so there is no drop to measure")
        return []
    usual = statistics.median(earlier)
    if kappa is not None and usual - kappa <= limit:
        return []
    return [f"kappa {_rounded(kappa)} is more than {limit} below its usual {usual:.3f}"]


# -- text for people -------------------------------------------------------------------------


def validation_lines(result: Record, *, full: bool = False) -> list[str]:
    """Return a validation in five lines; `full` adds the other figures and the domains in doubt."""
    if not result["domains"]:
        return ["no stable domain yet: nothing to validate (--min-units accepts smaller domains)"]
    head = (
        f"{counted(result['domains'], 'stable domain')} with {counted(result['units'], 'unit')}"
        f" ({100 * result['share']:.0f} % of all) against {counted(result['clusters'], 'recomputed cluster')}"
    )
    figures = comparison_lines(result)
    if not full:
        return [
            head,
            *figures[:2],
            *_verdict_lines(result.get("verdicts", []), 0)[:1],
            _evidence(result),
        ]
    lines = [head, *figures, _evidence(result)]
    tree = result.get("tree")
    if tree is not None:
        lines.append(f"Mantel on the trees of both: r {tree['r']:.3f}, p {tree['p']:.3f}")
    lines += _verdict_lines(result.get("verdicts", []))
    for other in result.get("others", []):
        kappa = other["kappa"]["greedy"]
        with_measure = f" with {other['similarity']}" if other["similarity"] else ""
        lines.append(
            f"by {other['clusterer']}{with_measure}: kappa {kappa:.3f}, ARI {other['ari']:.3f},"
            f" NMI {other['nmi']:.3f} for {other['clusters']} clusters"
        )
    lines += [
        f"k {point['k']:>5}  {_bar(point['kappa'])} kappa {point['kappa']:.3f}"
        for point in result.get("curve", [])
    ]
    return lines


def _evidence(result: Record) -> str:
    """Return whether the agreement says anything, given what the clusterer compares with."""
    from segapsith.evaluation.validation import NEARLY_THE_SAME

    given, near = result["similarity"], result["closeness"]
    measure = given or result["clusterer"]
    if near is None and given is None:
        return f"independent: {measure} does not use the measure that placed the units"
    if near is None:
        return f"{measure} cannot be compared with the measure that placed the units"
    warning = f"{measure} ranks pairs of units like the placement measure (correlation {near:.2f})"
    if near >= NEARLY_THE_SAME:
        return f"NO EVIDENCE: {warning}; agreement only repeats the placement"
    return f"independent: {measure} and the placement measure have a rank correlation of {near:.2f}"


def comparison_lines(result: Record) -> list[str]:
    """Return the figures of a comparison in lines."""
    kappa, mantel, interval = result["kappa"], result["mantel"], result["kappa_interval"]
    covered, back = result["coverage"]["bins"], result["coverage"]["reverse_bins"]
    lines = [
        (
            f"kappa {kappa['greedy']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}] for"
            f" {100 * result['share']:.0f} % of the units (optimal {kappa['optimal']:.3f}, random"
            f" {kappa['random']:.3f}), ARI {result['ari']:.3f}, NMI {result['nmi']:.3f},"
            f" VI {result['vi']:.3f}"
        ),
        (
            f"Mantel Z {mantel['z']}, expected by chance {mantel['expected']:.0f}"
            f" ± {mantel['sd']:.0f}, p {mantel['p']:.3f};"
            f" {100 * mantel['normalised']:.0f} % of the maximum"
        ),
        (
            f"coverage of domains by clusters: {_binned(covered)};"
            f" of clusters by domains: {_binned(back)}"
        ),
    ]
    if "links" in result:
        links = result["links"]
        lines += [
            f"links per domain, by {name}: {_links(links[name])}"
            for name in ("similarity", "entropy")
        ]
        lines.append(
            f"both kinds of links agree on {len(links['shared'])} of"
            f" {len(links['entropy']['links'])} clusters"
        )
    return lines


def _links(links: Record) -> str:
    """Return the number of domains by number of links, and of clusters without one."""
    counts = [f"{n} domains with {m}" for m, n in links["table"].items() if n]
    return ", ".join([*counts, f"{links['unlinked']} clusters unlinked"])


def _binned(bins: Mapping[str, int]) -> str:
    return ", ".join(f"{name} %: {count}" for name, count in bins.items() if count)


def _verdict_lines(verdicts: Sequence[Record], limit: int = 8) -> list[str]:
    """Return the number of domains by verdict, and the domains that need attention."""
    if not verdicts:
        return []
    kinds = ("confirmed", "split", "merged", "missing")
    counts = {kind: sum(one["verdict"] == kind for one in verdicts) for kind in kinds}
    doubtful = [one for one in verdicts if one["verdict"] != "confirmed"]
    look = f"; see {doubtful[0]['domain']}{_label(doubtful[0])} first (--full)" if doubtful else ""
    lines = ["domains: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()) + look]
    for one in doubtful[:limit]:
        lines.append(
            f"  {one['verdict']}: domain {one['domain']}{_label(one)} ({', '.join(one['words'][:5])};"
            f" {counted(one['units'], 'unit')}): {one['told']}"
        )
        lines += [f"      “{example}”" for example in one.get("examples", [])[:1]]
    if len(doubtful) > limit:
        lines.append(f"  … and {len(doubtful) - limit} more (--json and `report` show all)")
    return lines


def _label(verdict: Record) -> str:
    return f" “{verdict['label']}”" if verdict.get("label") else ""


def _bar(value: float | None, width: int = 30) -> str:
    return ("█" * round(width * max(0.0, value or 0.0))).ljust(width, "·")


_SPARKS = "▁▂▃▄▅▆▇█"


def _spark(values: list[float | None]) -> str:
    """Return a line of bars for values between 0 and 1.

    >>> _spark([0.0, 0.5, None, 1.0])
    '▁▅ █'
    """
    return "".join(
        " " if v is None else _SPARKS[round(max(0.0, min(1.0, v)) * (len(_SPARKS) - 1))]
        for v in values
    )


def _show_history(validations: Sequence[Record], out: Output, most: int | None) -> None:
    if not validations:
        write("no validation is stored yet: `segapsith validate` makes one")
        return
    at_size = 16 if out.width in (None, MAX_WIDTH) else 10  # narrow terminals get the day only
    out.table(
        (
            (
                one["run"], minute(one["at"])[:at_size], one["lang"], one["clusterer"], one["domains"],
                one["units"], one["share"], one["kappa"], one["kappa_low"], one["kappa_high"],
                one["ari"], one["mantel_p"],
            )
            for one in reversed(validations)
        ),
        ("run", "at", "lang", "clusterer", "domains", "units", "share", "kappa", "low", "high",
         "ARI", "p"),
        cut=("clusterer",),
        most=most,
    )  # fmt: skip
    series: dict[tuple[str, str], list[Record]] = {}
    for one in validations:
        series.setdefault((one["lang"], str(one["clusterer"])), []).append(one)
    for (lang, name), ones in series.items():
        for figure in ("kappa", "share"):
            out.line(f"{figure:5} {_spark([o[figure] for o in ones])}  {name} {lang}".rstrip())


# -- run against run, and other thresholds ---------------------------------------------------


@command()
def drift(
    context: Context,
    since: Annotated[
        str | None,
        typer.Argument(metavar="[FROM]", help="A run or date (default: before the last ingest)."),
    ] = None,
    until: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="A run or date (default: now).")
    ] = None,
    *,
    min_units: MinUnits = None,
    seed: Seed = 0,
) -> None:
    """Compare the domains at two times: units that moved, new and lost domains.

    Example: segapsith validate drift 12 --store wire.db
    """
    with context.wire() as wire:
        result = wire.validation.drift(since=since, until=until, min_units=min_units, seed=seed)
    context.show(result, lambda out: _show_drift(result, out))


def _show_drift(result: Record, out: Output) -> None:
    out.line(
        f"run {result['from']} ({counted(result['units_before'], 'unit')}, {counted(result['domains'], 'domain')})"
        f" against {'now' if result['to'] is None else 'run ' + str(result['to'])}"
        f" ({counted(result['units_after'], 'unit')}, {counted(result['clusters'], 'domain')}):"
        f" {counted(result['units'], 'common unit')}, {result['moved']} moved"
    )
    if result["units"]:
        for line in comparison_lines(result):
            out.line(line)
    for key in ("births", "deaths"):
        out.line(
            f"{key}: {counted(len(result[key]), 'domain')} of at least {counted(result['min_units'], 'unit')}"
        )
        for one in result[key][:10]:
            out.line(
                f"  domain {one['id']} “{one['label']}”: {one['before']} → {counted(one['after'], 'unit')}"
            )


@command(SETS, WORKERS)
def curve(
    context: Context,
    *,
    thresholds: Annotated[
        str | None,
        typer.Option("--thresholds", metavar="A,B,…", help="Placement thresholds to try."),
    ] = None,
    clusterer: Clusterer = CLUSTERER,
    similarity: Similarity = None,
    min_units: MinUnits = None,
    word_cut: WordCut = None,
    lang: Lang = None,
    seed: Seed = 0,
    nightly: Annotated[
        bool,
        typer.Option("--nightly", help="Then split broad domains and reassign units."),
    ] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the curve.")
    ] = None,
) -> None:
    """Compute kappa and the share of units in stable domains over placement thresholds.

    The stored units are placed again in memory, by eq. 7; the store does not change.

    Example: segapsith validate curve --thresholds 0.07,0.1,0.15 --svg curve.svg --store wire.db
    """
    from segapsith.api.validation import THRESHOLDS

    points = THRESHOLDS if thresholds is None else _thresholds(thresholds)
    done = itertools.count(1)
    with context.wire() as wire, context.out.progress() as progress:
        result = wire.validation.curve(
            thresholds=points,
            clusterer=clusterer,
            similarity=similarity,
            clusterer_settings=context.settings.plugins,
            min_units=min_units,
            word_cut=word_cut,
            seed=seed,
            lang=lang,
            nightly=nightly,
            on_threshold=lambda _: progress.share("curve", next(done), len(set(points))),
        )
    if svg is not None:
        from segapsith.report.charts import curves
        from segapsith.report.charts.svg import standalone

        title = "kappa against the share of units in stable domains"
        svg.write_text(standalone(curves.thresholds(result["points"], title)), encoding="utf-8")
    context.show(result, lambda out: _show_curve(result["points"], out))


def _show_curve(points: Sequence[Record], out: Output) -> None:
    out.table(
        (
            (
                point["threshold"], point["all_domains"], point["domains"], point["units"],
                point["share"], point["kappa"], point["kappa_low"], point["kappa_high"],
                point["ari"],
            )
            for point in points
        ),
        ("threshold", "all", "stable", "units", "share", "kappa", "low", "high", "ARI"),
    )  # fmt: skip
    for point in points:
        kappa = "  –  " if point["kappa"] is None else f"{point['kappa']:.3f}"
        write(
            f"{point['threshold']:<6g} share {_bar(point['share'], 16)}"
            f" {100 * point['share']:3.0f} %  kappa {_bar(point['kappa'], 16)} {kappa}"
        )


def _thresholds(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--thresholds {text!r} should be numbers separated by commas") from error


@command(SETS, WORKERS)
def order(
    context: Context,
    *,
    shuffles: Annotated[
        int, typer.Option("--shuffles", metavar="N", help="Number of orders, at least 2.")
    ] = 20,
    seed: Seed = 0,
) -> None:
    """Measure how much the order of arrival matters: learn again in shuffled orders.

    The figures are the mean adjusted Rand index over all pairs of orders; the store is only read.

    Example: segapsith validate order --shuffles 5 --store wire.db
    """
    with context.wire() as wire, context.out.progress() as progress:
        result = wire.validation.order(shuffles=shuffles, seed=seed, on_order=progress.update)
    context.show(
        result,
        lambda out: out.line(
            f"{result['shuffles']} orders of {result['units']} units: mean adjusted Rand index"
            f" {result['domains']:.3f} for domains and {result['topics']:.3f} for topics"
        ),
    )

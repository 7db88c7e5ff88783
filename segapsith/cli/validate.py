"""`validate`: are the domains real? Tonight, over the nights, and at other thresholds."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Annotated, Any

import typer

from segapsith.cli import context as wiring
from segapsith.cli.options import (
    CommandJson,
    CommandQuiet,
    Config,
    MinUnits,
    NoPlugins,
    Sets,
    StorePath,
    StrictPlugins,
    Wait,
)
from segapsith.cli.output import Progress, say, show_json, table, write
from segapsith.cli.status import must_exist
from segapsith.errors import UsageError, ValidationBelowError
from segapsith.model import Record
from segapsith.settings import CLUSTERER

__all__ = ["add_to", "comparison_lines", "validation_lines"]

FIGURES = ("kappa", "ari", "nmi", "share")
EARLIER = 7
"""Validations that a drop is measured against: the median of so many."""

Clusterer = Annotated[
    str, typer.Option("--clusterer", metavar="NAME", help="What recomputes the clustering.")
]
Similarity = Annotated[
    str | None,
    typer.Option("--similarity", metavar="NAME", help="What the clusterer compares with."),
]
Lang = Annotated[str | None, typer.Option("--lang", help="Only this language.")]
Seed = Annotated[int, typer.Option("--seed", help="Of what is random.")]
WordCut = Annotated[
    float | None,
    typer.Option(
        "--word-cut", min=0, help="Words that weigh no more in any domain do not count (0.03; 0.1)."
    ),
]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Are the domains real?", rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    group.callback(invoke_without_command=True)(validate)
    group.command("drift")(drift)
    group.command("curve")(curve)
    group.command("order")(order)
    app.add_typer(group, name="validate")


def validate(
    context: typer.Context,
    store: StorePath = None,
    clusterer: Annotated[
        list[str] | None,
        typer.Option(
            "--clusterer", metavar="NAME", help=f"What recomputes: {CLUSTERER} (repeatable)."
        ),
    ] = None,
    similarity: Annotated[
        list[str] | None,
        typer.Option(
            "--similarity", metavar="NAME", help="What clusterers compare with (repeatable)."
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "-k", metavar="N|A:B:STEP", help="Clusters (default: as many as domains), or a range."
        ),
    ] = None,
    min_units: MinUnits = None,
    word_cut: WordCut = None,
    stability: Annotated[
        int, typer.Option("--stability", min=0, help="Halves clustered anew to test each domain.")
    ] = 3,
    last: Annotated[
        int, typer.Option("--last", min=0, help="Only by the newest so many stories; 0: all.")
    ] = 0,
    lang: Lang = None,
    seed: Seed = 0,
    history: Annotated[
        bool, typer.Option("--history", help="Show the validations so far; nothing is computed.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="With --history: the last so many.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", metavar="NAME=VALUE", help="Exit 76 below, e.g. kappa=0.4."),
    ] = None,
    fail_drop: Annotated[
        float | None,
        typer.Option(
            "--fail-drop", min=0, help="Exit 76 if kappa is so far below the median of the last 7."
        ),
    ] = None,
    sets: Sets = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Compare the stable domains with a clustering recomputed from the same units.

    Example: segapsith validate --fail-under kappa=0.4 --store wire.db
    """
    if context.invoked_subcommand is not None:
        return
    limits = dict(_limit(entry) for entry in fail_under or [])
    numbers = None if k is None else _numbers(k)
    chosen = wiring.settings(store=store, config=config, wait=wait, sets=sets)
    must_exist(str(chosen["store"]))
    with wiring.wire(chosen, strict=strict_plugins, only_own=no_plugins) as wire:
        if history:
            _show_history(wire.validations(lang, limit), as_json, quiet)
            return
        result = wire.validate(
            clusterer=clusterer or [CLUSTERER],
            similarity=similarity or None,
            clusterer_settings=chosen.plugins,
            min_units=min_units,
            word_cut=word_cut,
            k=numbers,
            stability=stability,
            last=last,
            seed=seed,
            lang=lang,
        )
        earlier = [] if fail_drop is None else _alike(wire.validations(lang), result)
    if as_json:
        show_json(result)
    elif not quiet:
        for line in validation_lines(result):
            write(line)
    below = [
        f"{name} {figure} is below {limit}"
        for name, limit in limits.items()
        if (figure := _figure(result, name)) is None or figure < limit
    ]
    if fail_drop is not None:
        below += _dropped(_figure(result, "kappa"), earlier, fail_drop)
    if below:
        say("segapsith: " + "; ".join(below))
        raise typer.Exit(ValidationBelowError.exit_code)


def _limit(entry: str) -> tuple[str, float]:
    name, _, value = entry.partition("=")
    if name not in FIGURES:
        raise UsageError(f"--fail-under {entry!r}: the name should be {', '.join(FIGURES)}")
    try:
        return name, float(value)
    except ValueError as error:
        raise UsageError(f"--fail-under {entry!r} should be NAME=NUMBER") from error


def _figure(result: Any, name: str) -> float | None:
    found = result["kappa"]["greedy"] if name == "kappa" else result[name]
    return None if found is None else float(found)


def _numbers(text: str) -> list[int]:
    """Numbers of clusters as they are typed.

    >>> _numbers("71"), _numbers("10:30:10"), _numbers("4,8")
    ([71], [10, 20, 30], [4, 8])
    """
    try:
        if ":" in text:
            first, last, *step = (int(part) for part in text.split(":"))
            found = list(range(first, last + 1, *(step or [max(1, (last - first) // 8)])))
        else:
            found = [int(part) for part in text.split(",")]
    except (TypeError, ValueError) as error:
        raise UsageError(f"-k {text!r} should be a number, A:B, A:B:STEP or A,B,C") from error
    if not found or min(found) < 1:
        raise UsageError(f"-k {text!r} should name numbers from 1 on")
    return found


def _alike(earlier: list[Any], result: Any) -> list[float]:
    """Kappa of the last validations that were made in the same manner."""
    names = ("clusterer", "similarity", "min_units", "word_cut", "last")
    return [
        one["kappa"]
        for one in earlier
        if one["run"] != result["run"]
        and one["kappa"] is not None
        and one["lang"] == (result["lang"] or "")
        and all(one[name] == result[name] for name in names)
    ][-EARLIER:]


def _dropped(kappa: float | None, earlier: list[float], most: float) -> list[str]:
    if not earlier:
        say("segapsith: no earlier validation of this kind: a drop cannot be told yet")
        return []
    usual = statistics.median(earlier)
    if kappa is not None and usual - kappa <= most:
        return []
    return [f"kappa {kappa} is more than {most} below its usual {usual:.3f}"]


# -- what is said ----------------------------------------------------------------------------


def validation_lines(result: Any) -> list[str]:
    """A validation in plain words: the numbers, then what to look at."""
    if not result["domains"]:
        return ["no stable domain yet: nothing to validate (--min-units lowers the bar)"]
    head = (
        f"{result['domains']} stable domains with {result['units']} units"
        f" ({100 * result['share']:.0f} % of all) against {result['clusters']} recomputed clusters"
    )
    lines = [head, *comparison_lines(result)]
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


def comparison_lines(result: Any) -> list[str]:
    """The numbers of a comparison, whatever was compared."""
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
            f"Mantel Z {mantel['z']} against {mantel['expected']:.0f} ± {mantel['sd']:.0f} by chance,"
            f" p {mantel['p']:.3f}; {100 * mantel['normalised']:.0f} % of what is possible"
        ),
        "coverage: " + _binned(covered) + "; the other way: " + _binned(back),
    ]
    if "links" in result:
        found = result["links"]
        lines.append(
            "links per domain: "
            + "; ".join(
                f"{method} "
                + ", ".join(
                    f"{count} with {m}" for m, count in found[method]["table"].items() if count
                )
                + f", {found[method]['unlinked']} clusters unlinked"
                for method in ("similarity", "entropy")
            )
            + f"; both agree on {len(found['shared'])} of {len(found['entropy']['links'])} clusters"
        )
    return lines


def _binned(bins: dict[str, int]) -> str:
    return ", ".join(f"{name} %: {count}" for name, count in bins.items() if count)


def _verdict_lines(verdicts: list[dict[str, Any]], most: int = 8) -> list[str]:
    """How many domains got which verdict, and those that somebody should look at."""
    if not verdicts:
        return []
    kinds = ("confirmed", "split", "merged", "missing")
    counts = {kind: sum(one["verdict"] == kind for one in verdicts) for kind in kinds}
    lines = ["domains: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())]
    doubtful = [one for one in verdicts if one["verdict"] != "confirmed"]
    for one in doubtful[:most]:
        lines.append(
            f"  {one['verdict']}: domain {one['domain']} ({', '.join(one['words'][:5])};"
            f" {one['units']} units): {one['told']}"
        )
        lines += [f"      “{example}”" for example in one.get("examples", [])[:1]]
    if len(doubtful) > most:
        lines.append(
            f"  … and {len(doubtful) - most} more (--json has them all, report draws them)"
        )
    return lines


def _bar(value: float | None, width: int = 30) -> str:
    return ("█" * round(width * max(0.0, value or 0.0))).ljust(width, "·")


_SPARKS = "▁▂▃▄▅▆▇█"


def _spark(values: list[float | None]) -> str:
    """A line of bars, 0 to 1.

    >>> _spark([0.0, 0.5, None, 1.0])
    '▁▅ █'
    """
    return "".join(
        " " if v is None else _SPARKS[round(max(0.0, min(1.0, v)) * (len(_SPARKS) - 1))]
        for v in values
    )


def _show_history(found: list[Any], as_json: bool, quiet: bool) -> None:
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    if not found:
        write("no validation is kept yet: `segapsith validate` makes one")
        return
    table(
        (
            (
                one["run"], one["at"][:16], one["lang"], one["clusterer"], one["domains"],
                one["units"], one["share"], one["kappa"], one["kappa_low"], one["kappa_high"],
                one["ari"], one["mantel_p"],
            )
            for one in found
        ),
        ("run", "when", "lang", "clusterer", "domains", "units", "share", "kappa", "low", "high",
         "ARI", "p"),
    )  # fmt: skip
    series: dict[tuple[str, str], list[Record]] = {}
    for one in found:
        series.setdefault((one["lang"], str(one["clusterer"])), []).append(one)
    for (lang, name), ones in series.items():
        for figure in ("kappa", "share"):
            write(f"{figure:5} {_spark([o[figure] for o in ones])}  {name} {lang}".rstrip())


# -- night against night, and other thresholds -----------------------------------------------


def drift(
    since: Annotated[
        str | None,
        typer.Argument(metavar="[FROM]", help="A run or date (default: before the last ingest)."),
    ] = None,
    until: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="A run or date (default: now).")
    ] = None,
    store: StorePath = None,
    min_units: MinUnits = None,
    seed: Seed = 0,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Night against night: the units that both have, and domains that were born or died.

    Example: segapsith validate drift 12 --store wire.db
    """
    chosen = wiring.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with wiring.wire(chosen) as wire:
        found = wire.drift(since=since, until=until, min_units=min_units, seed=seed)
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    write(
        f"run {found['from']} ({found['units_before']} units, {found['domains']} domains) against"
        f" {'now' if found['to'] is None else 'run ' + str(found['to'])} ({found['units_after']}"
        f" units, {found['clusters']} domains): {found['units']} units in both, {found['moved']} moved"
    )
    if found["units"]:
        for line in comparison_lines(found):
            write(line)
    for kind in ("births", "deaths"):
        write(f"{kind}: {len(found[kind])} domains ({found['min_units']} units and more)")
        for one in found[kind][:10]:
            write(f"  domain {one['id']} “{one['label']}”: {one['before']} → {one['after']} units")


def curve(
    store: StorePath = None,
    thresholds: Annotated[
        str | None,
        typer.Option("--thresholds", metavar="A,B,…", help="Learning thresholds to try."),
    ] = None,
    clusterer: Clusterer = CLUSTERER,
    similarity: Similarity = None,
    min_units: MinUnits = None,
    word_cut: WordCut = None,
    lang: Lang = None,
    seed: Seed = 0,
    nightly: Annotated[
        bool, typer.Option("--nightly", help="Then split broad domains and adopt.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the curve there.")
    ] = None,
    sets: Sets = None,
    config: Config = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Kappa against the share of units in stable domains, over learning thresholds.

    The stored units are placed again in memory, by eq. 7; the store does not change.

    Example: segapsith validate curve --thresholds 0.07,0.1,0.15 --svg curve.svg --store wire.db
    """
    chosen = wiring.settings(store=store, config=config)
    settings = wiring.settings(store=store, config=config, sets=sets).plugins
    progress = Progress(not quiet)
    wanted: dict[str, Any] = {} if thresholds is None else {"thresholds": _thresholds(thresholds)}
    with wiring.wire(chosen, strict=strict_plugins, only_own=no_plugins) as wire:
        found = wire.curve(
            clusterer=clusterer,
            similarity=similarity,
            clusterer_settings=settings,
            min_units=min_units,
            word_cut=word_cut,
            seed=seed,
            lang=lang,
            nightly=nightly,
            on_threshold=lambda threshold: progress.update(f"threshold {threshold}"),
            **wanted,
        )
    progress.end()
    if svg is not None:
        from segapsith.report.charts import curves
        from segapsith.report.charts.svg import standalone

        told = "kappa against the share of units in stable domains"
        drawn = curves.thresholds(found["points"], told)
        svg.write_text(standalone(drawn), encoding="utf-8")
    if as_json:
        show_json(found)
    elif not quiet:
        table(
            (
                (
                    point["threshold"], point["all_domains"], point["domains"], point["units"],
                    point["share"], point["kappa"], point["kappa_low"], point["kappa_high"],
                    point["ari"],
                )
                for point in found["points"]
            ),
            ("threshold", "all", "stable", "units", "share", "kappa", "low", "high", "ARI"),
        )  # fmt: skip
        for point in found["points"]:
            kappa = "  –  " if point["kappa"] is None else f"{point['kappa']:.3f}"
            write(
                f"{point['threshold']:<6g} share {_bar(point['share'], 20)}"
                f" {100 * point['share']:3.0f} %   kappa {_bar(point['kappa'], 20)} {kappa}"
            )


def _thresholds(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--thresholds {text!r} should be numbers with commas between") from error


def order(
    shuffles: Annotated[
        int, typer.Option("--shuffles", metavar="N", help="Orders to learn in, at least 2.")
    ] = 20,
    seed: Seed = 0,
    store: StorePath = None,
    sets: Sets = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Does the order of arrival matter? Learn the units again in memory, shuffled, and compare.

    The figures are the mean adjusted Rand index over all pairs of orders; the store is only read.

    Example: segapsith validate order --shuffles 5 --store wire.db
    """
    chosen = wiring.settings(store=store, config=config, sets=sets)
    must_exist(str(chosen["store"]))
    progress = Progress(not quiet and not as_json)
    with wiring.wire(chosen) as wire:
        try:
            found = wire.order(shuffles=shuffles, seed=seed, on_order=progress.update)
        finally:
            progress.end()
    if as_json:
        show_json(found)
    elif not quiet:
        write(
            f"{found['shuffles']} orders of {found['units']} units agree by {found['domains']:.3f}"
            f" on domains and {found['topics']:.3f} on topics (mean adjusted Rand index)"
        )

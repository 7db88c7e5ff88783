"""`validate`: are the domains real?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from segapsith.cli import wiring
from segapsith.cli.keeping import must_exist
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
from segapsith.cli.output import say, show_json, write
from segapsith.errors import UsageError, ValidationBelowError

__all__ = ["add_to", "validation_lines"]


def add_to(app: typer.Typer) -> None:
    app.command("validate")(validate)


def validate(
    store: StorePath = None,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="What recomputes the clustering.")
    ] = "entropy-kmeans",
    similarity: Annotated[
        str | None,
        typer.Option("--similarity", metavar="NAME", help="What the clusterer compares with."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Clusters (default: as many as domains).")
    ] = None,
    min_units: MinUnits = None,
    lang: Annotated[str | None, typer.Option("--lang", help="Only this language.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of what is random.")] = 0,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", metavar="NAME=VALUE", help="Exit 76 below, e.g. kappa=0.4."),
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
    limits = dict(_limit(entry) for entry in fail_under or [])
    chosen = wiring.settings(store=store, config=config, wait=wait, sets=sets)
    must_exist(str(chosen["store"]))
    with wiring.wire(chosen, strict=strict_plugins, only_own=no_plugins) as wire:
        result = wire.validate(
            clusterer=clusterer,
            similarity=similarity,
            clusterer_settings=chosen.plugins,
            min_units=min_units,
            k=k,
            seed=seed,
            lang=lang,
        )
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
    if below:
        say("segapsith: " + "; ".join(below))
        raise typer.Exit(ValidationBelowError.exit_code)


def _limit(entry: str) -> tuple[str, float]:
    name, _, value = entry.partition("=")
    if name not in ("kappa", "ari", "nmi", "share"):
        raise UsageError(f"--fail-under {entry!r}: the name should be kappa, ari, nmi or share")
    try:
        return name, float(value)
    except ValueError as error:
        raise UsageError(f"--fail-under {entry!r} should be NAME=NUMBER") from error


def _figure(result: dict[str, Any], name: str) -> float | None:
    found = result["kappa"]["greedy"] if name == "kappa" else result[name]
    return None if found is None else float(found)


def validation_lines(result: dict[str, Any]) -> list[str]:
    """A validation in a few lines of plain words."""
    if not result["domains"]:
        return ["no stable domain yet: nothing to validate (--min-units lowers the bar)"]
    kappa, mantel = result["kappa"], result["mantel"]
    covered = result["coverage"]["bins"]
    similarity = result["links"]["similarity"]
    return [
        (
            f"{result['domains']} stable domains with {result['units']} units"
            f" ({100 * result['share']:.0f} % of all) against {result['clusters']} recomputed clusters"
        ),
        (
            f"kappa {kappa['greedy']:.3f} (optimal {kappa['optimal']:.3f}, random"
            f" {kappa['random']:.3f}), ARI {result['ari']:.3f}, NMI {result['nmi']:.3f}"
        ),
        (
            f"Mantel Z {mantel['z']} against {mantel['expected']:.0f} ± {mantel['sd']:.0f} by chance,"
            f" p {mantel['p']:.3f}; {100 * mantel['normalised']:.0f} % of what is possible"
        ),
        f"linked by words: {len(similarity['links']) - similarity['unlinked']} of"
        f" {len(similarity['links'])} clusters; coverage: "
        + ", ".join(f"{name} %: {count}" for name, count in covered.items() if count),
    ]

"""`domains rename|merge|consolidate|narrow|adopt|split|retire|reopen|lock|unlock`: what is done to domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, Sets, StorePath, Wait
from segapsith.cli.output import show_json, write
from segapsith.cli.status import must_exist
from segapsith.settings import CLUSTERER

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to"]

Domains = Annotated[list[int], typer.Argument(metavar="ID…", help="Domains.")]
Domain = Annotated[int, typer.Argument(metavar="ID", help="A domain.")]


def add_to(domains: typer.Typer) -> None:
    for command in (rename, merge, consolidate, narrow, adopt, split, retire, reopen, lock, unlock):
        domains.command(command.__name__)(command)


def _do(
    act: Callable[[Wire], Any],
    said: Callable[[dict[str, Any]], str],
    store: str | None,
    config: str | None,
    wait: float | None,
    as_json: bool,
    quiet: bool,
    sets: list[str] | None = None,
) -> None:
    chosen = context.settings(store=store, config=config, wait=wait, sets=sets)
    must_exist(str(chosen["store"]))
    with context.wire(chosen) as wire:
        done = act(wire)
    if as_json:
        show_json(done)
    elif not quiet:
        write(f"run {done['run']}: {said(done)}")


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def rename(
    domain: Domain,
    label: Annotated[str, typer.Argument(metavar="LABEL", help='Its name; "" for its best words.')],
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Give a domain a name that stays whatever it learns.

    Example: segapsith domains rename 17 "Spring floods" --store wire.db
    """
    _do(
        lambda wire: wire.rename(domain, label),
        lambda done: f"domain {domain} is called “{done['label']}”"
        if done["label"]
        else f"domain {domain} is called by its best words",
        store, config, wait, as_json, quiet,
    )  # fmt: skip


def merge(
    domains: Domains,
    into: Annotated[
        int | None,
        typer.Option("--into", metavar="ID", help="The one that stays (default: oldest)."),
    ] = None,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Make one domain of several: the oldest takes the units of the others.

    Example: segapsith domains merge 17 23 --store wire.db
    """
    _do(
        lambda wire: wire.merge(domains, into),
        lambda done: f"domain {done['domain']} took {done['units']} units of"
        f" {_listed(done['merged'])}",
        store, config, wait, as_json, quiet,
    )  # fmt: skip


def consolidate(
    similarity: Annotated[
        float | None,
        typer.Option(
            "--similarity", metavar="S", help="From which a quiet small domain joins another."
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="N", min=0, help="Stories after which it is quiet."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be merged.")
    ] = False,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Merge domains that are nearly the same, as every night does; `runs undo` parts them again.

    Example: segapsith domains consolidate --dry-run --store wire.db
    """
    chosen = context.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with context.wire(chosen) as wire:
        done = wire.consolidate(similarity=similarity, after=after, dry_run=dry_run)
    if as_json:
        show_json(done)
    elif not quiet:
        for found in done["merges"]:
            others = "; ".join(f"{d['id']} ({d['label']})" for d in found["merged"])
            write(f"{found['similarity']:.3f}  {found['domain']} ({found['label']}) takes {others}")
        said = "would be merged" if dry_run else "merged"
        run = f"run {done['run']}: " if done["run"] else ""
        write(f"{run}{done['merged']} of {done['domains']} domains {said}")


def narrow(
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="S", help="Similarity that its parts need."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be split.")
    ] = False,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Split domains that are several subjects; `runs undo` joins them again.

    Example: segapsith domains narrow --dry-run --store wire.db
    """
    chosen = context.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with context.wire(chosen) as wire:
        done = wire.narrow(threshold=threshold, dry_run=dry_run)
    if as_json:
        show_json(done)
    elif not quiet:
        for found in done["splits"]:
            sizes = ", ".join(map(str, found["parts"][:10]))
            more = " …" if len(found["parts"]) > 10 else ""
            write(
                f"{found['domain']} ({found['label']}; {found['units']} units)"
                f" in {len(found['parts'])} parts: {sizes}{more}"
            )
        said = "would be split" if dry_run else "split"
        run = f"run {done['run']}: " if done["run"] else ""
        write(f"{run}{done['split']} of {done['domains']} domains {said}")


def adopt(
    similarity: Annotated[
        float | None,
        typer.Option("--similarity", metavar="S", help="From which a stable domain takes a unit."),
    ] = None,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Let units find the stable domain they belong to; `runs undo` takes it back.

    Example: segapsith domains adopt --store wire.db
    """
    chosen = context.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with context.wire(chosen) as wire:
        done = wire.adopt(similarity=similarity)
    if as_json:
        show_json(done)
    elif not quiet:
        run = f"run {done['run']}: " if done["run"] else ""
        write(f"{run}{done['moved']} units moved to a stable domain")


def split(
    domain: Domain,
    units: Annotated[
        list[int] | None,
        typer.Option("--unit", metavar="ID", help="A unit that goes apart (repeatable)."),
    ] = None,
    parts: Annotated[int, typer.Option("--parts", min=2, help="How many, by the clusterer.")] = 2,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="Finds the parts.")
    ] = CLUSTERER,
    similarity: Annotated[
        str | None, typer.Option("--similarity", metavar="NAME", help="That it compares by.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of what is random.")] = 0,
    store: StorePath = None,
    sets: Sets = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Make several domains of one, by a clusterer or by naming units; all get new numbers.

    Example: segapsith domains split 17 --parts 3 --store wire.db
    """
    _do(
        lambda wire: wire.split(
            domain, units, parts=parts, clusterer=clusterer, similarity=similarity,
            settings=wire.settings.plugins, seed=seed,
        ),
        lambda done: f"domain {domain} became "
        + ", ".join(f"{part['id']} ({part['units']} units)" for part in done["parts"]),
        store, config, wait, as_json, quiet, sets,
    )  # fmt: skip


def retire(
    domains: Domains,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Close domains: they keep their units and words, take no more, and cost no memory.

    Example: segapsith domains retire 17 23 --store wire.db
    """
    _do(
        lambda wire: wire.retire(domains),
        lambda done: f"retired {_listed(done['retired'])}",
        store, config, wait, as_json, quiet,
    )  # fmt: skip


def reopen(
    domains: Domains,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Let retired domains take units again.

    Example: segapsith domains reopen 17 --store wire.db
    """
    _do(
        lambda wire: wire.reopen(domains),
        lambda done: f"open again: {_listed(done['opened'])}",
        store, config, wait, as_json, quiet,
    )  # fmt: skip


def lock(
    domains: Domains,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Keep domains from being merged, split or retired; they learn on.

    Example: segapsith domains lock 17 --store wire.db
    """
    _do(
        lambda wire: wire.lock(domains),
        lambda done: f"locked {_listed(done['locked'])}",
        store, config, wait, as_json, quiet,
    )  # fmt: skip


def unlock(
    domains: Domains,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Permit that domains are merged, split and retired again.

    Example: segapsith domains unlock 17 --store wire.db
    """
    _do(
        lambda wire: wire.lock(domains, False),
        lambda done: f"unlocked {_listed(done['unlocked'])}",
        store, config, wait, as_json, quiet,
    )  # fmt: skip

"""`tune`: the threshold for a target, and the curve that was searched."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli import wiring
from segapsith.cli.options import CommandJson, CommandQuiet, Config, StorePath
from segapsith.cli.output import Progress, show_json, table, write

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("tune")(tune)


def tune(
    target_new_rate: Annotated[
        float | None,
        typer.Option(
            "--target-new-rate", metavar="R", help="Share of the units that should found a domain."
        ),
    ] = None,
    target_singletons: Annotated[
        float | None,
        typer.Option(
            "--target-singletons", metavar="R", help="Share of the domains that have one unit."
        ),
    ] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="As if all were learned anew, not from now on.")
    ] = False,
    lang: Annotated[str | None, typer.Option("--lang", help="Only this language.")] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=50, metavar="N", help="The last units to replay.")
    ] = 10_000,
    store: StorePath = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Search the placement threshold for a target; the store does not change.

    The last stretch of the stream is placed again with several thresholds, and what the next
    stretch will bring is foreseen from it.

    Example: segapsith tune --target-new-rate 0.2 --store wire.db
    """
    from segapsith.api import Wire

    chosen = wiring.settings(store=store, config=config)
    progress = Progress(not (quiet or as_json))
    progress.update("replaying …")
    try:
        found = Wire(str(chosen["store"]), chosen).tune(
            target_new_rate=target_new_rate,
            target_singletons=target_singletons,
            afresh=afresh,
            lang=lang,
            sample=sample,
            watch=lambda trial: progress.update(f"threshold {trial.threshold} tried …"),
        )
    finally:
        progress.end()
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    names = ("threshold", "new_rate", "next_new_rate", "singletons", "next_singletons", "domains")
    (aim,) = found["target"]
    table(
        (
            (*(point[name] for name in names), _bar(point[f"next_{aim}"]))
            for point in found["curve"]
        ),
        (*names, "next"),
    )
    write(f"threshold {found['threshold']} should give {found['foreseen']:.3f}; in segapsith.toml:")
    write(found["line"])


def _bar(share: float) -> str:
    return "█" * max(1, round(30 * share))

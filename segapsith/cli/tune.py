"""`tune`: the threshold for a target, the curve that was searched, and targets that are kept."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, StorePath, Wait
from segapsith.cli.output import Progress, say, show_json, table, write
from segapsith.cli.status import must_exist
from segapsith.errors import UsageError

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
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the target: from now on the threshold follows it by itself."
        ),
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End the target that is kept; the setting holds again.")
    ] = False,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Search the placement threshold for a target; without --keep the store does not change.

    The last stretches of the stream are placed again with several thresholds, and what the next
    stretch will bring is foreseen from them. News come in waves, so one threshold may miss; a target
    that is kept is followed, and the threshold goes up and down with what comes. A threshold that
    is given (--set, environment, file) beats it; one that the store was not learned with needs
    `--change-learning` once. `runs undo` takes --keep and --stop back.

    Example: segapsith tune --target-new-rate 0.2 --keep --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = context.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with Wire(str(chosen["store"]), chosen) as wire:
        if stop:
            if keep or target_new_rate is not None or target_singletons is not None:
                raise UsageError("--stop ends a target; keep another one without it")
            ended = wire.follow_none()
            if as_json:
                show_json(ended)
            elif not quiet:
                write(
                    f"run {ended['run']}: no target is followed any more;"
                    f" threshold {wire.settings['threshold']} holds"
                )
            return
        progress = Progress(not (quiet or as_json))
        progress.update("replaying …")
        try:
            found = wire.tune(
                target_new_rate=target_new_rate,
                target_singletons=target_singletons,
                afresh=afresh,
                lang=lang,
                sample=sample,
                keep=keep,
                on_trial=lambda trial: progress.update(f"threshold {trial.threshold} tried …"),
            )
        finally:
            progress.end()
    if keep and found["overruled"]:
        say(f"segapsith: warning: {found['overruled']} beats the target that is kept")
    if as_json:
        show_json(found)
    elif not quiet:
        _show(found)


def _show(found: Any) -> None:
    names = ("threshold", "new_rate", "next_new_rate", "singletons", "next_singletons", "domains")
    (aim,) = found["target"]
    table(
        (
            (*(point[name] for name in names), _bar(point[f"next_{aim}"]))
            for point in found["curve"]
        ),
        (*names, "next"),
    )
    told = f"threshold {found['threshold']} should give {found['foreseen']:.3f}"
    if found["run"] is None:
        write(f"{told}; in segapsith.toml, and once with `ingest --change-learning`:")
        write(found["line"])
        if not found["afresh"] and found["lang"] is None:
            write("news come in waves; with --keep the threshold follows the target through them")
    else:
        write(f"run {found['run']}: {told}; it begins with that and follows the target from now on")


def _bar(share: float) -> str:
    return "█" * max(1, round(30 * share))

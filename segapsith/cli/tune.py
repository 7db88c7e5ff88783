"""`tune`: search the placement threshold for a target, and follow a target."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import WORKERS, Lang
from segapsith.cli.output import Output, say, write
from segapsith.errors import UsageError
from segapsith.model import Record

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("tune")(tune)


@command(WORKERS)
def tune(
    context: Context,
    *,
    target_new_rate: Annotated[
        float | None,
        typer.Option(
            "--target-new-rate", metavar="R", help="Share of units that should start a domain."
        ),
    ] = None,
    target_singletons: Annotated[
        float | None,
        typer.Option(
            "--target-singletons", metavar="R", help="Share of domains that have only one unit."
        ),
    ] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="For learning everything again, not for the future.")
    ] = False,
    lang: Lang = None,
    sample: Annotated[
        int, typer.Option("--sample", min=50, metavar="N", help="Place the last N units again.")
    ] = 10_000,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Store the target; from now on the threshold follows it."),
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="Delete the stored target; use the setting again.")
    ] = False,
) -> None:
    """Search the placement threshold for a target.

    The store changes only with --keep or --stop. The last units are placed again with several thresholds, which predicts the next ones. The
    stream changes, so one threshold may miss the target; a stored target is followed: the
    threshold moves up and down with the stream. A threshold that is given (--set, environment,
    file) has priority; one that the store was not learned with needs `--change-learning` once.
    `runs undo` takes --keep and --stop back.

    Example: segapsith tune --target-new-rate 0.2 --keep --store wire.db
    """
    if stop and (keep or target_new_rate is not None or target_singletons is not None):
        raise UsageError("--stop deletes the target; give a new one without it")
    context.require_store()
    with context.reader() as wire:
        if stop:
            ended = wire.threshold.unfollow()
            threshold = wire.settings.placement.threshold
            context.show(
                ended,
                lambda out: out.line(
                    f"run {ended['run']}: the target is deleted; the threshold is {threshold}"
                ),
            )
            return
        with context.out.progress() as progress:
            progress.update("placing units again …")
            result = wire.threshold.search(
                target_new_rate=target_new_rate,
                target_singletons=target_singletons,
                afresh=afresh,
                lang=lang,
                sample=sample,
                keep=keep,
                on_trial=lambda trial: progress.update(f"tried threshold {trial.threshold}"),
            )
    if keep and result["overruled"]:
        say(
            f"segapsith: warning: the stored target has no effect: {result['overruled']}"
            " has priority"
        )
    context.show(result, lambda out: _text(result, out))


NAMES = ("threshold", "new_rate", "next_new_rate", "singletons", "next_singletons", "domains")
HEAD = ("threshold", "new", "next new", "single", "next single", "domains")


def _text(result: Record, out: Output) -> None:
    (aim,) = result["target"]
    out.table(
        (
            (
                f"{point['threshold']:.4f}",
                *(point[name] for name in NAMES[1:]),
                _bar(point[f"next_{aim}"]),
            )
            for point in result["curve"]
        ),
        (*HEAD, "predicted"),
    )
    prediction = f"threshold {result['threshold']} should give {result['foreseen']:.3f}"
    if result["run"] is None:
        out.line(
            f"{prediction}; put this line into segapsith.toml and run"
            " `segapsith ingest --change-learning` once:"
        )
        write(result["line"])
        if not result["afresh"] and result["lang"] is None:
            out.line("The stream changes; with --keep the threshold follows the target.")
    else:
        out.line(
            f"run {result['run']}: {prediction}; from now on it starts there and follows the target"
        )


def _bar(share: float) -> str:
    return "█" * max(1, round(30 * share))

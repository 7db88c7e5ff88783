"""`update`: fetch the subscribed feeds and learn; with `--nightly` the whole nightly run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.ingest import summary_line, warn_of_languages
from segapsith.cli.options import ALLOW_HOSTS, FULL_TEXT, INBOX, LANG, ChangeLearning
from segapsith.cli.output import Output, say
from segapsith.errors import UsageError, worst

if TYPE_CHECKING:
    from segapsith.engine.runs import RunSummary

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("update")(update)


@command(LANG, FULL_TEXT, ALLOW_HOSTS, INBOX)
def update(
    context: Context,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Also feeds that are not due.")] = False,
    nightly: Annotated[
        bool,
        typer.Option("--nightly", help="Also inbox, upkeep, validation, report and backup."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 76 on any alarm of the night.")
    ] = False,
    batch: Annotated[
        str, typer.Option("--batch", metavar="NAME", help="A name for this run.")
    ] = "",
    metrics: Annotated[
        Path | None,
        typer.Option("--metrics", metavar="FILE", help="Write figures for Prometheus at the end."),
    ] = None,
    change_learning: ChangeLearning = False,
) -> None:
    """Fetch the feeds that are due, and learn.

    A feed that fails does not stop the others; the exit code is then 69. Requests are conditional,
    and no feed is fetched more often than its server permits.

    With --nightly the run also ingests the inbox, maintains the domains, validates, and writes a
    dated report and a verified backup; old reports and backups are deleted. A step that fails does
    not stop the others, and the most severe failure gives the exit code.

    Example: segapsith update --nightly --quiet --store wire.db
    """
    if nightly:
        code = _night(
            context,
            everything=everything,
            name=batch,
            strict=strict,
            change_learning=change_learning,
        )
        _write_metrics(context, metrics)
        raise typer.Exit(code)
    if context.flags["inbox"] is not None or strict:
        raise UsageError("--inbox and --strict need --nightly")
    with (
        context.wire(change_learning=change_learning) as wire,
        context.out.progress() as progress,
        contextlib.ExitStack() as pauses,
    ):
        from segapsith.engine.runs import collector_paused
        from segapsith.operations import feeds

        collect = pauses.enter_context(collector_paused())

        def watch(summary: RunSummary) -> None:
            collect()
            progress.update(f"{summary.read:,} read, {summary.new:,} new")

        fetcher = feeds.FeedFetcher(wire.settings, lambda: wire.writer)
        updated = feeds.update(
            wire,
            fetcher,
            wire.factory.sources(),
            everything=everything,
            name=batch,
            on_batch=watch,
        )
    summary, reports, failures = updated.summary, updated.reports, updated.failures
    for failure in failures:
        say(f"segapsith: {failure}")
    warn_of_languages(summary, context.out)
    run = f"run {summary.run}" if summary.run else "nothing new"
    context.show(
        updated.as_json(),
        lambda out: out.line(
            f"{run}: {_feeds(len(reports), len(failures))}, {summary_line(summary)}"
        ),
    )
    _write_metrics(context, metrics)
    raise typer.Exit(worst({failure.exit_code for failure in failures}))


def _write_metrics(context: Context, path: Path | None) -> None:
    """Write the figures of the store as it is now; without the lock, which is released."""
    if path is None:
        return
    from segapsith.api.browsing.metrics import metrics_text, write_metrics

    wire = context.reader()
    stable = wire.settings.maintenance.stable
    write_metrics(wire.read(lambda store: metrics_text(store, stable=stable)), path)


def _feeds(n_feeds: int, n_failed: int) -> str:
    """Return the number of feeds that were fetched, for people.

    >>> _feeds(12, 1), _feeds(1, 0), _feeds(0, 0)
    ('12 feeds (1 failed)', '1 feed', 'no feed is due (--all fetches every feed)')
    """
    if not n_feeds:
        return "no feed is due (--all fetches every feed)"
    failed = f" ({n_failed} failed)" if n_failed else ""
    return f"{n_feeds} feed{'s' if n_feeds != 1 else ''}{failed}"


def _night(
    context: Context, *, everything: bool, name: str, strict: bool, change_learning: bool
) -> int:
    """Run one night over a store; return the exit code of its most severe failure."""
    with (
        context.wire(change_learning=change_learning) as wire,
        context.out.progress() as progress,
        contextlib.ExitStack() as pauses,
    ):
        from segapsith.engine.runs import collector_paused
        from segapsith.operations.nightly import NightlyRun, run_night

        collect = pauses.enter_context(collector_paused())

        def watch(line: str) -> None:
            collect()
            progress.update(line)

        night = run_night(
            NightlyRun(wire, strict=strict, everything=everything, name=name, on_progress=watch)
        )

    def text(out: Output) -> None:
        out.line(night.line)

    context.show(night.as_json(), text)
    if context.out.quiet and (night.code or night.alarms):
        say(night.line)
    return night.code

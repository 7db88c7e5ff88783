"""`prepare`: read archives once, before they are ingested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import ANNOTATOR, LANG, SETS, WORKERS
from segapsith.cli.output import Output, say
from segapsith.errors import worst

if TYPE_CHECKING:
    from segapsith.api.preparation import Preparation
    from segapsith.api.preparation.folder import ShardFile

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("prepare")(prepare)


@command(LANG, ANNOTATOR, SETS, WORKERS)
def prepare(
    context: Context,
    archives: Annotated[
        list[str], typer.Argument(metavar="ARCHIVE…", help="Files and directories.")
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The directory of the shards.")
    ],
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Source plugin (default: detected)."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete shards of other inputs or settings there.")
    ] = False,
) -> None:
    """Read archives before they are ingested, in parallel.

    Writes shards of 1,000 stories: parsed, cleaned, with hash, fingerprint, language and words.
    `segapsith ingest DIR` then gives the same store as ingesting the archives, in less time.
    After an interruption the same command continues.

    Example: segapsith prepare archive/ --output shards --workers auto
    """
    from segapsith.api.factory import Factory
    from segapsith.api.preparation import prepare_with

    factory = Factory(context.settings, context.registry(), time_limits=True)
    n_shards = n_stories = 0
    with context.out.progress() as progress:

        def watch(shard: ShardFile) -> None:
            nonlocal n_shards, n_stories
            n_shards += 1
            n_stories += shard.header.n_stories
            progress.update(f"{n_stories:,} stories in {n_shards:,} shards")

        try:
            done = prepare_with(factory, archives, output, format, replace, on_shard=watch)
        finally:
            factory.close()
    for failure in done.failures:
        say(f"segapsith: {failure}")
    context.show(done.as_json(), lambda out: _text(done, out))
    raise typer.Exit(worst({failure.exit_code for failure in done.failures}))


def _text(done: Preparation, out: Output) -> None:
    removed = f", {done.removed:,} removed" if done.removed else ""
    out.line(
        f"{done.output}: {done.stories:,} stories, {done.rejected:,} rejected items;"
        f" shards: {done.shards:,} ({done.written:,} written, {done.kept:,} there already{removed}),"
        f" {done.bytes / 1e6:.1f} MB, {done.seconds:.1f} s"
    )
    if done.shards:
        out.line(f"Next: segapsith ingest {done.output}")

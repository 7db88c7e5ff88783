"""`feeds`, `update`: the subscriptions, and the nightly run over them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.sax.saxutils import quoteattr

import typer

from segapsith.cli import context, schedule
from segapsith.cli.ingest import one_line, warn_of_languages
from segapsith.cli.options import (
    AllowHosts,
    ChangeLearning,
    CommandJson,
    CommandQuiet,
    Config,
    Inbox,
    NoPlugins,
    OutputPath,
    StorePath,
    StrictPlugins,
    Wait,
)
from segapsith.cli.output import Progress, say, show_json, table, write
from segapsith.cli.status import must_exist
from segapsith.errors import FeedError, InputError, MissingInputError, UsageError, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segapsith.engine.runs import RunSummary
    from segapsith_store import Store
    from segapsith_store.queries.subscriptions import Feed

__all__ = ["add_to"]

MAX_OPML_BYTES = 15 * 1024**2
MAX_TITLE_CHARS = 300


def add_to(app: typer.Typer) -> None:
    feeds = typer.Typer(
        help="The subscriptions: add, list, remove, and OPML in and out.",
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    feeds.command("add")(add)
    feeds.command("list")(list_feeds)
    feeds.command("remove")(remove)
    feeds.command("import")(import_opml)
    feeds.command("export")(export_opml)
    app.add_typer(feeds, name="feeds")
    app.command("update")(update)


# -- the subscriptions ---------------------------------------------------------------------------


def add(
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Addresses of feeds.")],
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="A name for it (one URL).")
    ] = "",
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Subscribe to feeds; nothing is fetched before `update`.

    Example: segapsith feeds add https://example.org/wire.rss --title "The wire"
    """
    if title and len(urls) > 1:
        raise UsageError(f"--title names one feed, not {len(urls)}")
    try:
        entries = [(_sound(url), title) for url in urls]
    except FeedError as error:
        raise UsageError(str(error)) from error
    chosen = context.settings(store=store, config=config, wait=wait)
    _subscribe(str(chosen["store"]), float(chosen["wait"]), entries, as_json, quiet)


def _sound(url: str) -> str:
    """The address in its one spelling, or an error that says what is wrong with it."""
    from segapsith.io.addresses import Address

    return Address.of(url).full_url


def _shown(url: str) -> str:
    """The address without its credentials."""
    from segapsith.io.addresses import Address

    return Address.of(url).url


def _subscribe(
    path: str, wait: float, entries: Iterable[tuple[str, str]], as_json: bool, quiet: bool
) -> None:
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    done = []
    with Store.writing(path, wait) as kept:
        for url, title in entries:
            added = subscriptions.add(kept, url, " ".join(title.split())[:MAX_TITLE_CHARS])
            done.append({"url": _shown(url), "title": title, "added": added})
    if as_json:
        show_json(done)
    elif not quiet:
        for entry in done:
            write(f"{'subscribed to' if entry['added'] else 'already there:'} {entry['url']}")


def list_feeds(
    store: StorePath = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """The subscriptions: when they were read, when they are due, what went wrong.

    Example: segapsith feeds list --store wire.db
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    chosen = context.settings(store=store, config=config)
    with Store.reading(str(chosen["store"])) as kept:
        rows = [
            {
                **feed.as_json(),
                "url": _shown(feed.url),
                "items": subscriptions.items(kept, _shown(feed.url)),
            }
            for feed in subscriptions.listed(kept)
        ]
    if as_json:
        show_json(rows)
    elif not quiet:
        names = ("url", "title", "checked_at", "next_check_at", "items", "error")
        heads = ("url", "title", "last check", "next check", "items", "error")
        table(([row[name] for name in names] for row in rows), heads)


def remove(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address, as `feeds list` has it.")],
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    quiet: CommandQuiet = False,
) -> None:
    """End a subscription; what it brought stays.

    Example: segapsith feeds remove https://example.org/wire.rss
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    chosen = context.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with Store.writing(str(chosen["store"]), float(chosen["wait"])) as kept:
        subscribed = _subscribed(kept, url)
        subscriptions.remove(kept, subscribed.url)
    if not quiet:
        write(f"no longer subscribed to {_shown(subscribed.url)}")


def _subscribed(kept: Store, url: str) -> Feed:
    """The subscription of that address; its credentials need not be given."""
    from segapsith_store.queries import subscriptions

    feeds = subscriptions.listed(kept)
    try:
        full, shown = _sound(url), _shown(url)
    except FeedError as error:
        raise MissingInputError(f"{error}; so there is no subscription to it") from error
    exact = [feed for feed in feeds if feed.url == full]
    close = [feed for feed in feeds if _shown(feed.url) == shown]
    if not exact and not close:
        raise MissingInputError(f"{shown}: no subscription; `segapsith feeds list` shows them")
    return (exact or close)[0]


# -- OPML ----------------------------------------------------------------------------------------


def import_opml(
    file: Annotated[Path, typer.Argument(metavar="FILE.opml", help="A list of feeds.")],
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Subscribe to every feed of an OPML file.

    Example: segapsith feeds import subscriptions.opml
    """
    entries = []
    for title, url in _outlines(file):
        try:
            entries.append((_sound(url), title))
        except FeedError as error:
            say(f"segapsith: left out: {error}")
    chosen = context.settings(store=store, config=config, wait=wait)
    _subscribe(str(chosen["store"]), float(chosen["wait"]), entries, as_json, quiet)


def _outlines(file: Path) -> Iterator[tuple[str, str]]:
    """Title and address of each feed in an OPML file, however deep it is filed."""
    from segapsith.io.encoding import decoded
    from segapsith.io.xml import XmlError, parsed

    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_OPML_BYTES + 1)
    except FileNotFoundError as error:
        raise MissingInputError(f"{file}: there is no such file") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    if len(data) > MAX_OPML_BYTES:
        raise InputError(f"{file}: more than {MAX_OPML_BYTES:,} bytes")
    try:
        tree = parsed(decoded(data))
    except XmlError as error:
        raise InputError(f"{file}: {error}") from error
    if tree.name != "opml":
        raise InputError(f"{file}: this is not OPML")
    for outline in tree.all("outline"):
        if url := outline.attributes.get("xmlurl", "").strip():
            named = outline.attributes.get("title") or outline.attributes.get("text") or ""
            yield ("" if named == url else named), url


def export_opml(
    output: OutputPath = None,
    store: StorePath = None,
    config: Config = None,
    quiet: CommandQuiet = False,
) -> None:
    """The subscriptions as OPML 2.0; credentials in addresses are left out.

    Example: segapsith feeds export --output subscriptions.opml
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    chosen = context.settings(store=store, config=config)
    with Store.reading(str(chosen["store"])) as kept:
        feeds = subscriptions.listed(kept)
    text = _opml([(feed.title, _shown(feed.url)) for feed in feeds])
    stripped = sum(_shown(feed.url) != feed.url for feed in feeds)
    if stripped:
        say(f"segapsith: the credentials of {stripped} addresses were left out")
    if output is None:
        write(text)
        return
    output.write_text(text + "\n", encoding="utf-8")
    if not quiet:
        write(f"{len(feeds)} feeds written to {output}")


def _opml(feeds: Iterable[tuple[str, str]]) -> str:
    """OPML 2.0, the same for the same feeds.

    >>> print(_opml([("Wind & rain", "https://example.org/a")]).splitlines()[4].strip())
    <outline type="rss" text="Wind &amp; rain" title="Wind &amp; rain" xmlUrl="https://example.org/a"/>
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        "  <head><title>Subscriptions</title></head>",
        "  <body>",
    ]
    for title, url in feeds:
        name = quoteattr(re.sub("[\x00-\x1f\ud800-\udfff\ufffe\uffff]", " ", title or url))
        lines.append(f'    <outline type="rss" text={name} title={name} xmlUrl={quoteattr(url)}/>')
    return "\n".join([*lines, "  </body>", "</opml>"])


# -- the nightly run -----------------------------------------------------------------------------


def update(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are not due yet.")
    ] = False,
    nightly: Annotated[
        bool,
        typer.Option(
            "--nightly", help="The whole night: inbox, feeds, validation, report, backup."
        ),
    ] = False,
    inbox: Inbox = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Any alarm of the night gives exit code 76.")
    ] = False,
    store: StorePath = None,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="en|fr|auto", help="Language of the documents.")
    ] = None,
    batch: Annotated[
        str, typer.Option("--batch", metavar="NAME", help="A name for this delivery.")
    ] = "",
    full_text: Annotated[
        bool | None,
        typer.Option("--full-text", help="Follow the link of items that carry only a summary."),
    ] = None,
    change_learning: ChangeLearning = False,
    allow_host: AllowHosts = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Read the subscriptions that are due, and learn.

    A feed that fails does not stop the others; the exit code is then 69. Servers are asked only
    for what is new, and as often as they wish.

    With --nightly also the inbox, a validation, a dated report and a checked backup, old ones
    let go; a step that fails does not stop the others, and the worst one gives the exit code.

    Example: segapsith update --nightly --quiet --store wire.db
    """
    if not nightly and (inbox is not None or strict):
        raise UsageError("--inbox and --strict are for the night: add --nightly")
    chosen = context.settings(
        store=store,
        config=config,
        wait=wait,
        lang=lang,
        full_text=full_text,
        allow_hosts=context.joined(allow_host),
        inbox=inbox,
    )
    if nightly:
        code = schedule.nightly(
            chosen, everything=everything, name=batch, strict=strict,
            strict_plugins=strict_plugins, no_plugins=no_plugins, change_learning=change_learning,
            as_json=as_json, quiet=quiet,
        )  # fmt: skip
        raise typer.Exit(code)
    must_exist(str(chosen["store"]))
    with context.wire(
        chosen, strict=strict_plugins, only_own=no_plugins, change_learning=change_learning
    ) as wire:
        from segapsith.operations import feeds

        fetcher = feeds.FeedFetcher(chosen, lambda: wire.writer)
        kinds = wire.registry.names("source")
        sources = {name: wire.registry.make("source", name) for name in kinds}
        progress = Progress(not (quiet or as_json))

        def watch(summary: RunSummary) -> None:
            progress.update(f"{summary.read:,} read, {summary.new:,} new")

        try:
            updated = feeds.update(
                wire, fetcher, sources, everything=everything, name=batch, on_batch=watch
            )
        finally:
            progress.end()
    summary, reports, failures = updated.summary, updated.reports, updated.failures
    for failure in failures:
        say(f"segapsith: {failure}")
    warn_of_languages(summary, quiet)
    if as_json:
        show_json(updated.as_json())
    elif not quiet:
        named = f"run {summary.run}" if summary.run else "nothing new"
        write(f"{named}: {_feeds(len(reports), len(failures))}, {one_line(summary)}")
    codes = {failure.exit_code for failure in failures}
    raise typer.Exit(worst(codes))


def _feeds(n_feeds: int, n_failed: int) -> str:
    """How many feeds were asked, for people.

    >>> _feeds(12, 1), _feeds(1, 0), _feeds(0, 0)
    ('12 feeds (1 failed)', '1 feed', 'no feed is due (--all asks every one)')
    """
    if not n_feeds:
        return "no feed is due (--all asks every one)"
    failed = f" ({n_failed} failed)" if n_failed else ""
    return f"{n_feeds} feed{'s' if n_feeds != 1 else ''}{failed}"

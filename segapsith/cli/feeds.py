"""`feeds`: the subscriptions: add, list, remove, and OPML files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import All, OutputPath
from segapsith.cli.output import LISTED, Output, minute, say, write
from segapsith.errors import FeedError, InputError, MissingInputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segapsith_store import Store
    from segapsith_store.queries.subscriptions import Feed

__all__ = ["add_to"]

MAX_OPML_BYTES = 15 * 1024**2
MAX_TITLE_CHARS = 300


def add_to(app: typer.Typer) -> None:
    feeds = group(help="The subscribed feeds: add, list, remove, import, export.")
    feeds.command("add")(add)
    feeds.command("list")(list_feeds)
    feeds.command("remove")(remove)
    feeds.command("import")(import_opml)
    feeds.command("export")(export_opml)
    app.add_typer(feeds, name="feeds")


@command()
def add(
    context: Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Addresses of feeds.")],
    *,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="A title, for one feed.")
    ] = "",
) -> None:
    """Subscribe to feeds; `update` fetches them.

    Example: segapsith feeds add https://example.org/wire.rss --title "The wire"
    """
    if title and len(urls) > 1:
        raise UsageError(f"--title is for one feed, not {len(urls)}")
    try:
        entries = [(_full(url), title) for url in urls]
    except FeedError as error:
        raise UsageError(str(error)) from error
    _subscribe(context, entries)


def _full(url: str) -> str:
    """Return the address in its normal form; raise an error if it is not an address."""
    from segapsith.io.addresses import Address

    return Address.of(url).full_url


def _public(url: str) -> str:
    """Return the address without its credentials."""
    from segapsith.io.addresses import Address

    return Address.of(url).url


def _subscribe(context: Context, entries: Iterable[tuple[str, str]]) -> None:
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    done = []
    with Store.writing(context.path, context.settings.store.wait) as store:
        for url, title in entries:
            added = subscriptions.add(store, url, " ".join(title.split())[:MAX_TITLE_CHARS])
            done.append({"url": _public(url), "title": title, "added": added})

    def text(out: Output) -> None:
        for entry in done:
            out.line(f"{'subscribed to' if entry['added'] else 'already there:'} {entry['url']}")

    context.show(done, text)


@command()
def list_feeds(context: Context, *, everything: All = False) -> None:
    """List the subscriptions, those with most stories first: last and next check, items, errors.

    Example: segapsith feeds list --store wire.db
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    with Store.reading(context.path) as store:
        rows = [
            {
                **feed.as_json(),
                "url": _public(feed.url),
                "items": subscriptions.items(store, _public(feed.url)),
            }
            for feed in subscriptions.listed(store)
        ]
    largest = sorted(rows, key=lambda row: (-row["items"], row["url"]))
    names = ("url", "title", "checked_at", "next_check_at", "items", "error")
    context.show(
        rows,
        lambda out: out.table(
            ([minute(row[name]) if name.endswith("_at") else row[name] for name in names]
             for row in largest),
            ("url", "title", "last check", "next check", "items", "error"),
            cut=("error", "title", "url"),
            most=None if everything else LISTED,
        ),
    )  # fmt: skip


@command()
def remove(
    context: Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The address, as `feeds list` shows it.")
    ],
) -> None:
    """End a subscription; its documents stay.

    Example: segapsith feeds remove https://example.org/wire.rss
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    context.require_store()
    with Store.writing(context.path, context.settings.store.wait) as store:
        feed = _subscription(store, url)
        subscriptions.remove(store, feed.url)
    context.show(
        {"url": _public(feed.url), "removed": True},
        lambda out: out.line(f"no longer subscribed to {_public(feed.url)}"),
    )


def _subscription(store: Store, url: str) -> Feed:
    """Return the subscription of an address; its credentials may be left out."""
    from segapsith_store.queries import subscriptions

    feeds = subscriptions.listed(store)
    try:
        full, public = _full(url), _public(url)
    except FeedError as error:
        raise MissingInputError(f"{error}; so there is no subscription to it") from error
    exact = [feed for feed in feeds if feed.url == full]
    close = [feed for feed in feeds if _public(feed.url) == public]
    if not exact and not close:
        raise MissingInputError(f"{public}: no subscription; `segapsith feeds list` shows them")
    return (exact or close)[0]


# -- OPML ----------------------------------------------------------------------------------------


@command()
def import_opml(
    context: Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.opml", help="A list of feeds.")],
) -> None:
    """Subscribe to every feed of an OPML file.

    Example: segapsith feeds import subscriptions.opml
    """
    entries = []
    for title, url in _outlines(file):
        try:
            entries.append((_full(url), title))
        except FeedError as error:
            say(f"segapsith: left out: {error}")
    _subscribe(context, entries)


def _outlines(file: Path) -> Iterator[tuple[str, str]]:
    """Yield title and address of each feed in an OPML file, at any depth."""
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
        raise InputError(f"{file}: not an OPML file")
    for outline in tree.all("outline"):
        if url := outline.attributes.get("xmlurl", "").strip():
            named = outline.attributes.get("title") or outline.attributes.get("text") or ""
            yield ("" if named == url else named), url


@command()
def export_opml(context: Context, *, output: OutputPath = None) -> None:
    """Write the subscriptions as OPML 2.0.

    Credentials in addresses are left out.

    Example: segapsith feeds export --output subscriptions.opml
    """
    from segapsith_store import Store
    from segapsith_store.queries import subscriptions

    if output is None and context.out.json:
        raise UsageError("with --json the OPML needs a file: add --output FILE")
    with Store.reading(context.path) as store:
        feeds = subscriptions.listed(store)
    text = _opml([(feed.title, _public(feed.url)) for feed in feeds])
    stripped = sum(_public(feed.url) != feed.url for feed in feeds)
    if stripped:
        say(f"segapsith: the credentials of {stripped} addresses were left out")
    if output is None:
        write(text)
        return
    output.write_text(text + "\n", encoding="utf-8")
    context.show(
        {"feeds": len(feeds), "output": str(output)},
        lambda out: out.line(f"{len(feeds)} feeds written to {output}"),
    )


def _opml(feeds: Iterable[tuple[str, str]]) -> str:
    """Return OPML 2.0, the same text for the same feeds.

    >>> print(_opml([("Wind & rain", "https://example.org/a")]).splitlines()[4].strip())
    <outline type="rss" text="Wind &amp; rain" title="Wind &amp; rain" xmlUrl="https://example.org/a"/>
    """
    from xml.sax.saxutils import quoteattr  # it loads the HTTP client of the standard library

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

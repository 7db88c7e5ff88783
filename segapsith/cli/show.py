"""`domains`, `show`, `search`, `export`: what has been learned."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context as wiring
from segapsith.cli import domains as curating
from segapsith.cli.options import CommandJson, CommandQuiet, Config, MinUnits, StorePath
from segapsith.cli.output import on_terminal, plain, say, show_json, table, write, write_bytes
from segapsith.errors import UsageError

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.model import Result
    from segapsith_store import Store
    from segapsith_store.queries.domains import Domain

__all__ = ["add_to"]

FORMATS = ("csv", "jsonl", "parquet", "graphml")
BARS = 14
"""Bars of a domain in the list, at most."""
SUBJECTS = ("documents", "units", "domains", "topics", "assignments", "network")


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Domains with their words; and what people do to them.", rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    group.callback(invoke_without_command=True)(domains)
    curating.add_to(group)
    app.add_typer(group, name="domains")
    app.command("show")(show)
    app.command("search")(search)
    app.command("export")(export)


def _reader(store: str | None, config: str | None) -> Wire:
    from segapsith.api.wire import Wire

    chosen = wiring.settings(store=store, config=config)
    return Wire(str(chosen["store"]), chosen)


def domains(
    context: typer.Context,
    store: StorePath = None,
    min_units: MinUnits = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show of each.")] = 10,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE|RUN",
            help="Only those that took stories since, or after that run.",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE|RUN", help="As they were then, or after that run."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Show at most.")] = None,
    lang: Annotated[str | None, typer.Option("--lang", help="Only this language.")] = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Domains with their words, largest first; and what people do to them.

    Example: segapsith domains --min-units 15 --store wire.db
    """
    if context.invoked_subcommand is not None:
        return
    wire = _reader(store, config)
    drawn = sys.stdout.isatty() and not as_json
    with wire.reading():
        found = wire.domains(
            min_units=min_units or 1, top=top, since=since, limit=limit, lang=lang, as_of=as_of,
            days=drawn,
        )  # fmt: skip
        gone = 0 if as_of is None else wire.forgotten_since(as_of)
    if gone and not quiet:
        say(f"segapsith: {gone} documents were forgotten since; they cannot be shown")
    if as_json:
        show_json(found)
    elif not quiet:
        _list(found, since=since is not None, drawn=drawn)


def _list(domains: Sequence[Any], *, since: bool, drawn: bool) -> None:
    """A line for each domain; on a terminal with bars by day, all on one axis."""
    from segapsith.domains.timeline import Timeline
    from segapsith.domains.trends import bars

    axis = Timeline.of(day for d in domains for day in d.get("days", ()))
    columns: dict[str, Callable[[Domain], object]] = {
        "id": lambda d: d["id"],
        "units": lambda d: d["units"],
        **({"since": lambda d: d["units_since"]} if since else {}),
        "documents": lambda d: d["documents"],
        "first": lambda d: (d["first"] or "")[:10],
        "last": lambda d: (d["last"] or "")[:10],
        **({"days": lambda d: "┊".join(bars(d["days"], axis, BARS))} if drawn else {}),
        "state": _state,
        "words": lambda d: ", ".join(f"{w['word']} {w['weight']:.2f}" for w in d["words"]),
    }
    table(([cell(d) for cell in columns.values()] for d in domains), list(columns))
    if drawn and axis.stretches:
        write(f"days: {axis.label}{' (marked ┊)' if axis.gaps else ''}")


def _state(domain: Any) -> str:
    """Where it is going, and what was done to it."""
    marks = [str(domain["trend"]["state"])] if domain["status"] == "open" else [domain["status"]]
    undated = domain["undated"]
    state = " ".join([*marks, *(["locked"] if domain["locked"] else [])])
    return f"{state}, {undated} undated" if undated else state


def show(
    number: Annotated[int, typer.Argument(metavar="ID", help="A domain.")],
    store: StorePath = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show.")] = 40,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """One domain: words, days, bursts, typical sentences, nearest domains, history.

    Example: segapsith show 17 --store wire.db
    """
    from segapsith.domains.trends import sparkline

    found = _reader(store, config).show(number, top=top)
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    write(
        f"domain {number} “{found['label']}” ({found['lang']}): {found['units']} units in"
        f" {found['documents']} documents, {_times(found)}"
    )
    table(
        ((w["word"], w["weight"], w["occurrences"]) for w in found["words"]),
        ("word", "weight", "units"),
    )
    if found["days"]:
        first, last = min(found["days"]), max(found["days"])
        write(f"days: {first} {sparkline(found['days'])} {last}  ({_state(found)})")
    for burst in found["bursts"]:
        write(f"burst: {burst['day']}  {burst['units']} units, {burst['expected']:.1f} expected")
    for sentence in found["sentences"]:
        write(f"{sentence['document']}: {sentence['text']}")
    for near in found["near"]:
        write(f"near: {near['id']} “{near['label']}” {near['similarity']:.2f}")
    for event in found["history"]:
        undone = ", undone since" if event.get("undone") else ""
        write(f"{event['at']}  {event['kind']}{_relatives(event)} (run {event['run']}{undone})")


def _times(domain: Any) -> str:
    """From when to when its stories are, and how many units have no date."""
    undated = [f"{domain['undated']} undated"] if domain["undated"] else []
    dated = [f"{domain['first']} to {domain['last']}"] if domain["first"] else []
    return ", ".join([*dated, *undated])


def _relatives(event: Mapping[str, Any]) -> str:
    """The other domains of a lineage event."""
    said = ""
    for name, word in (("source", "from"), ("into", "into")):
        if name in event:
            numbers = event[name] if isinstance(event[name], list) else [event[name]]
            said += f" {word} {', '.join(map(str, numbers))}"
    return said


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What to look for.")],
    store: StorePath = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most.")] = 20,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Documents and domains that have all the words.

    Example: segapsith search interest rates --store wire.db
    """
    found = _reader(store, config).search(" ".join(words), limit)
    if as_json:
        show_json(found)
    elif not quiet:
        for d in found["domains"]:
            write(f"domain {d['id']}  {d['units']} units  {d['words']}")
        for d in found["documents"]:
            title = d["title"] or d["snippet"]
            write(f"{(d['date'] or '')[:10]:10}  {d['id']}  {' '.join(title.split())}")
        if not found["domains"] and not found["documents"]:
            write("nothing found")


def export(
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="|".join(FORMATS), help="Format; or the name of an exporter plugin."
        ),
    ] = "jsonl",
    what: Annotated[
        str, typer.Option("--what", metavar="|".join(SUBJECTS), help="Which rows.")
    ] = "assignments",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")
    ] = None,
    store: StorePath = None,
    config: Config = None,
    quiet: CommandQuiet = False,
) -> None:
    """Write documents, units, domains, assignments or the network for other programs.

    Example: segapsith export --what assignments --to csv --output a.csv --store wire.db
    """
    if what not in SUBJECTS:
        raise UsageError(f"--what {what!r} should be one of {', '.join(SUBJECTS)}")
    if to == "graphml" and what != "assignments":
        raise UsageError("graphml draws documents and domains: use --what assignments")
    wire = _reader(store, config)
    if to in FORMATS:
        data = wire.read(lambda kept: _written(kept, what, to))
    elif ("exporter", to) in wire.registry.offers:
        data = _by_plugin(wire, to, what)
    else:
        known = [*FORMATS, *wire.registry.names("exporter")]
        raise UsageError(f"--to {to!r} should be one of {', '.join(dict.fromkeys(known))}")
    if output is not None:
        output.write_bytes(data)
    elif to == "parquet" and on_terminal():
        raise UsageError("parquet is not for reading: use --output FILE")
    else:
        write_bytes(data)


def _by_plugin(wire: Wire, name: str, what: str) -> bytes:
    """What an exporter makes of the units and their domains."""
    if what not in ("units", "assignments"):
        raise UsageError(f"the exporter {name!r} writes units with their domains, not {what}")
    out = io.BytesIO()
    wire.registry.make("exporter", name).export(wire.snapshot(), out)
    return out.getvalue()


def _rows(store: Store, what: str) -> Iterator[dict[str, Any]]:
    from segapsith_store.queries import documents, domains, networks, topics

    rows: dict[str, Callable[[Store], Iterable[Result]]] = {
        "network": networks.iterate_links,
        "documents": documents.iterate_documents,
        "units": documents.iterate_units,
        "domains": lambda kept: domains.list_domains(kept, top=None),
        "topics": lambda kept: topics.list_topics(kept, top=None),
        "assignments": documents.iterate_assignments,
    }
    return (row.as_json() for row in rows[what](store))


def _written(store: Store, what: str, to: str) -> bytes:
    rows = _rows(store, what)
    if to == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if to == "csv":
        return _csv(rows)
    if to == "parquet":
        return _parquet(list(rows))
    return _graphml(rows)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Lists and objects as JSON, for formats of plain cells."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for name, value in row.items()
    }


def _csv(rows: Iterable[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in map(_flat, rows):
        if writer is None:
            writer = csv.DictWriter(out, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({k: _no_formula(v) for k, v in row.items()})
    return out.getvalue().encode()


def _no_formula(value: Any) -> Any:
    """A text that a spreadsheet would compute, made harmless."""
    if isinstance(value, str) and value.startswith(("=", "+", "@", "-", "\t", "\r")):
        return "'" + value
    return value


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("parquet needs an extra: pip install 'segapsith[parquet]'") from error
    out = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist([_flat(row) for row in rows]), out)
    data: bytes = out.getvalue().to_pybytes()
    return data


def _graphml(rows: Iterable[dict[str, Any]]) -> bytes:
    """Documents and domains as nodes, assignments as weighted edges."""
    from xml.sax.saxutils import quoteattr

    nodes: dict[str, None] = {}
    edges = []
    for row in rows:
        if row["domain"] is None:
            continue
        document, domain = f"document {row['document']}", f"domain {row['domain']}"
        nodes.update({document: None, domain: None})
        edges.append(
            f"<edge source={quoteattr(plain(document))} target={quoteattr(plain(domain))}>"
            f'<data key="score">{row["score"]}</data></edge>'
        )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '<key id="score" for="edge" attr.name="score" attr.type="double"/>',
        '<graph edgedefault="undirected">',
        *(f"<node id={quoteattr(plain(node))}/>" for node in nodes),
        *edges,
        "</graph>",
        "</graphml>",
    ]
    return ("\n".join(lines) + "\n").encode()

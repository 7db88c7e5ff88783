"""`export`: write what is stored for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import OutputPath
from segapsith.cli.output import on_terminal, plain, write_bytes
from segapsith.errors import UsageError
from segapsith.model import Result

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.model import Result
    from segapsith.plugin.contracts import Labeller
    from segapsith_store import Store

__all__ = ["add_to"]

FORMATS = ("csv", "jsonl", "parquet", "graphml")
SUBJECTS = (
    "documents", "units", "domains", "topics", "sections", "events", "assignments", "network",
    "days", "validations", "datasette-metadata",
)  # fmt: skip

METADATA = SUBJECTS[-1]
"""Descriptions of tables and columns for Datasette, instead of rows."""


def add_to(app: typer.Typer) -> None:
    app.command("export")(export)


@command()
def export(
    context: Context,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="|".join(FORMATS), help="Format, or the name of an exporter plugin."
        ),
    ] = "jsonl",
    what: Annotated[
        str, typer.Option("--what", metavar="|".join(SUBJECTS), help="Which rows to write.")
    ] = "assignments",
    output: OutputPath = None,
) -> None:
    """Write what is stored for other programs.

    Example: segapsith export --what assignments --to csv --output a.csv --store wire.db
    """
    if what not in SUBJECTS:
        raise UsageError(f"--what {what!r} should be one of {', '.join(SUBJECTS)}")
    if to == "graphml" and what != "assignments":
        raise UsageError("graphml shows documents and domains: use --what assignments")
    if what == METADATA and to != "jsonl":
        raise UsageError(f"{METADATA} is JSON: leave out --to {to}")
    if output is None and context.out.json:
        raise UsageError("with --json the data needs a file: add --output FILE")
    wire = context.reader()
    if what == METADATA:
        data = _datasette(wire)
    elif to in FORMATS:
        labeller = wire.labeller()
        data = wire.read(lambda store: _encoded(store, what, to, labeller))
    elif ("exporter", to) in wire.registry.offers:
        data = _by_plugin(wire, to, what)
    else:
        names = [*FORMATS, *wire.registry.names("exporter")]
        raise UsageError(f"--to {to!r} should be one of {', '.join(dict.fromkeys(names))}")
    if output is not None:
        output.write_bytes(data)
        context.show(
            {"what": what, "to": to, "output": str(output), "bytes": len(data)},
            lambda out: out.line(f"{len(data):,} bytes written to {output}"),
        )
    elif to == "parquet" and on_terminal():
        raise UsageError("parquet is binary: use --output FILE")
    else:
        write_bytes(data)


def _datasette(wire: Wire) -> bytes:
    from segapsith_store.datasette import metadata

    about = metadata(Path(wire.path).stem)
    return (json.dumps(about, ensure_ascii=False, indent=2) + "\n").encode()


def _by_plugin(wire: Wire, name: str, what: str) -> bytes:
    """Return what an exporter writes about the units and their domains."""
    if what not in ("units", "assignments"):
        raise UsageError(f"the exporter {name!r} writes units with their domains, not {what}")
    out = io.BytesIO()
    wire.registry.make("exporter", name).export(wire.snapshot(), out)
    return out.getvalue()


def _rows(store: Store, what: str, labeller: Labeller) -> Iterator[dict[str, Any]]:
    from segapsith_store.queries import (
        documents,
        domains,
        events,
        networks,
        sections,
        topics,
        validations,
    )

    if what == "days":
        return (dict(row) for row in domains.iterate_domain_days(store))
    rows: dict[str, Callable[[], Iterable[Result]]] = {
        "network": lambda: networks.iterate_links(store),
        "documents": lambda: documents.iterate_documents(store),
        "units": lambda: documents.iterate_units(store),
        "domains": lambda: domains.list_domains(store, top=None),
        "topics": lambda: topics.list_topics(store, top=None),
        "sections": lambda: sections.list_sections(store, top=None),
        "events": lambda: events.list_events(store, labels=events.EventLabels(labeller)),
        "assignments": lambda: documents.iterate_assignments(store),
        "validations": lambda: validations.list_validations(store, None, None),
    }
    return (row.as_json() for row in rows[what]())


def _encoded(store: Store, what: str, to: str, labeller: Labeller) -> bytes:
    rows = _rows(store, what, labeller)
    if to == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if to == "csv":
        return _csv(rows)
    if to == "parquet":
        return _parquet(list(rows))
    return _graphml(rows)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with lists and objects as JSON, for formats of plain cells."""
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
    """Return a text that no spreadsheet takes for a formula."""
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
    """Return a graph: documents and domains as nodes, assignments as weighted edges."""
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

#!/usr/bin/env python
"""Write the pages of docs/reference from the program; `--check` only reports stale pages.

The sources are the help of the commands, the settings, the errors and the schema of the store.
`tests/project/test_docs.py` fails if a page is stale. `--site` builds the site as well.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import importlib
import operator
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from segapsith import errors
from segapsith.cli.app import program
from segapsith.engine import clock
from segapsith.lexicon.vocabulary import SCALE
from segapsith.settings import SETTINGS
from segapsith_store import schema

WIDTH = 88
"""Characters of a line of help, whatever the terminal."""

OUTPUTS = Path(__file__).resolve().parent / "outputs"
"""What commands print, as `scripts/walkthrough --write` stored it."""

DOCS = Path(__file__).resolve().parents[1] / "docs"
REFERENCE = DOCS / "reference"
MANUAL = DOCS / "man"


def command_line() -> str:
    """Return the page on the command line: the help of every command."""
    parts = [
        "# The command line",
        "",
        "For people who look up a command. Tasks are in the [guides](../guides/index.md), settings in",
        "[settings.md](settings.md), exit codes in [exit-codes.md](exit-codes.md).",
        "",
        "Generated from the program's own `--help` by `scripts/docs`; do not edit. The outputs are those",
        "of `scripts/walkthrough` in a terminal of 100 columns; … stands for times, memory and other",
        "things that differ from machine to machine, and for texts that are cut at the edge.",
    ]
    for name, text in _helps():
        parts += ["", f"## {name}" if " " in name else "## The program", ""]
        parts += ["```text", text, "```"]
        output = OUTPUTS / f"{name.partition(' ')[2].replace(' ', '-')}.txt"
        if output.exists():
            shown = output.read_text("utf-8").rstrip()
            parts += ["", "On the sample wire:", "", "```text", shown, "```"]
    return "\n".join(parts) + "\n"


def _helps() -> Iterator[tuple[str, str]]:
    """Yield name and help of the program and of each command, subcommands after their group."""
    for name, command, context in _commands():
        yield name, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def _commands() -> Iterator[tuple[str, Any, Any]]:
    """Yield name, command and context of the program and of each command."""
    pending: list[tuple[str, Any, Any]] = [("segapsith", program(only_own=True), None)]
    while pending:
        name, command, parent = pending.pop(0)
        context = command.context_class(
            command,
            info_name=name.rpartition(" ")[2],
            parent=parent,
            terminal_width=WIDTH,
            **command.context_settings,
        )
        yield name, command, context
        inner = getattr(command, "commands", {})
        names = command.list_commands(context) if inner else []
        pending = [(f"{name} {n}", inner[n], context) for n in names] + pending


# -- manual pages --------------------------------------------------------------------------------


def manual_pages() -> dict[str, str]:
    """Return the manual pages in the language of `man`, by their file names."""
    return {
        f"{name.replace(' ', '-')}.1": _manual_page(name, command, context)
        for name, command, context in _commands()
    }


def _manual_page(name: str, command: Any, context: Any) -> str:
    """Return the manual page of one command, from the same help as the command reference."""
    first, *rest = (command.help or "").strip().split("\n\n")
    paragraphs = [" ".join(text.split()) for text in rest]
    examples = [text for text in paragraphs if text.startswith("Example: ")]
    summary = " ".join(first.split())
    records = [p.get_help_record(context) for p in command.get_params(context)]
    inner = getattr(command, "commands", {})
    parts = [
        f'.TH {_roff(name.replace(" ", "-").upper())} 1 "" "segapsith {version("segapsith")}"',
        ".SH NAME",
        f"{_roff(name.replace(' ', '-'))} \\- {_roff(summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_roff(' '.join([name, *command.collect_usage_pieces(context)]))}",
        ".SH DESCRIPTION",
    ]
    for text in [summary, *(text for text in paragraphs if text not in examples)]:
        parts += [".PP", _roff(text)]
    parts += _entries("OPTIONS", [record for record in records if record])
    parts += _entries(
        "COMMANDS",
        [(f"{name} {n}", inner[n].get_short_help_str(200)) for n in inner if not inner[n].hidden],
    )
    if examples:
        parts.append(".SH EXAMPLES")
        for text in examples:
            parts += [".PP", ".EX", _roff(text.removeprefix("Example: ")), ".EE"]
    if name == "segapsith":
        codes = re.findall(r"^\| (\d+) \| (.*) \|$", exit_codes(), re.MULTILINE)
        parts += _entries("EXIT STATUS", codes)
        variables = [(s.variable, s.about) for s in SETTINGS.values() if s.variable]
        parts += _entries("ENVIRONMENT", variables)
    else:
        parts += [".SH SEE ALSO", f".BR {_roff('segapsith')} (1)"]
    return "\n".join(parts) + "\n"


def _entries(title: str, records: Sequence[tuple[str, str]]) -> list[str]:
    """Return a section of names and their meanings."""
    lines = [f".SH {title}"] if records else []
    for name, about in records:
        lines += [".TP", f".B {_roff(name)}", _roff(" ".join(about.split()) or "-")]
    return lines


def _roff(text: str) -> str:
    r"""Return a text that `man` prints as it is.

    >>> _roff("--to csv"), _roff(".hidden"), _roff("a\\b")
    ('\\-\\-to csv', '\\&.hidden', 'a\\eb')
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def settings() -> str:
    """Return the page on settings."""
    return "\n".join(["# Settings", "", *_settings()]) + "\n"


def _settings() -> Iterator[str]:
    yield "For people who change a value; [the guide](../guides/settings.md) explains how."
    yield ""
    yield "Generated from `segapsith.settings` by `scripts/docs`; do not edit."
    yield ""
    yield "In order of priority: flag, environment variable, file `segapsith.toml`, store (what it was"
    yield "learned with), preset, default. `segapsith config` shows each value and its origin."
    yield ""
    yield "In tables of the file a setting has the name in the column *section*."
    yield ""
    yield "| setting | section | default | variable | meaning |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS.values():
        choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
        section = f"`[{setting.section}] {setting.key}`" if setting.section else ""
        yield (
            f"| `{setting.name}` | {section} | `{setting.default}` | `{setting.variable}` |"
            f" {setting.about}{choices} |"
        )


def exit_codes() -> str:
    """Return the page on exit codes."""
    return "\n".join(["# Exit codes", "", *_exit_codes()]) + "\n"


def _exit_codes() -> Iterator[str]:
    yield "For people who write scripts. [Troubleshooting](../operations/troubleshooting.md) has what to do."
    yield ""
    yield "Generated from `segapsith.errors` by `scripts/docs`; do not edit."
    yield ""
    order = ", ".join(map(str, errors.WORST_FIRST))
    yield f"If several apply, the exit code is the first of {order}. No input"
    yield "gives a code of 126 or more."
    yield ""
    meanings: dict[int, list[str]] = {0: ["Done."]}
    for name in errors.__all__:
        kind = getattr(errors, name)
        if not (isinstance(kind, type) and issubclass(kind, errors.SegapsithError)):
            continue
        if "exit_code" not in vars(kind):
            continue
        sentence = "It failed." if kind.exit_code == 1 else (kind.__doc__ or "").splitlines()[0]
        meanings.setdefault(kind.exit_code, []).append(sentence)
    meanings[130] = ["Stopped by SIGINT at a batch boundary; the store is sound."]
    meanings[143] = ["Stopped by SIGTERM at a batch boundary; the store is sound."]
    yield "| code | meaning |"
    yield "|---|---|"
    for code in sorted(meanings):
        yield f"| {code} | {' '.join(meanings[code])} |"


def store() -> str:
    """Return the page on the store: tables, columns, indexes, views, and layouts of blobs."""
    parts = [
        "# The store",
        "",
        "For people who read a store with SQL, and for engineers.",
        "",
        "Generated from `segapsith_store.schema` by `scripts/docs`; do not edit.",
        "",
        "A store is one SQLite file in WAL mode with foreign keys on. Its `PRAGMA application_id`,",
        f"`{schema.APPLICATION_ID:#x}`, says whose file it is; its `PRAGMA user_version` is the schema,",
        f"now {schema.SCHEMA}. An older store is migrated when it is next written to, after a backup.",
        "One process writes (it holds a lock on `STORE.lock`), any number read.",
        "",
        "## Views, to read first",
    ]
    for view in schema.VIEWS:
        parts += ["", f"### {view.name}", "", view.about, "", "```sql", _dedented(view.sql), "```"]
    parts += ["", "## Tables"]
    for table in schema.TABLES:
        parts += ["", f"### {table.name}", "", table.about, "", *_columns(table)]
    return "\n".join([*parts, "", *_full_text(), "", *_layouts()]) + "\n"


def _columns(table: schema.Table) -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for name, kind, meaning in (*table.columns, *table.added):
        yield f"| `{name}` | {_plain(kind)} | {_plain(meaning)} |"
    notes = [_plain(closing) for closing in table.closing]
    kept = [n for n in table.indexes if f"{table.name}_{n}" not in schema.DROPPED]
    if kept:
        begins = {"hash": f"`hash` (its first {schema.HASH_BEGIN} digits)"}
        notes.append("indexes: " + ", ".join(begins.get(name, f"`{name}`") for name in kept))
    if notes:
        yield ""
        yield "; ".join(notes)


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def _dedented(sql: str) -> str:
    lines = [line for line in sql.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[margin:].rstrip() for line in lines)


def _full_text() -> Iterator[str]:
    yield "## Full text"
    yield ""
    yield "Indexes of SQLite's FTS5, kept in step by triggers; accents do not matter."
    yield ""
    yield "```sql"
    yield from (statement + ";" for statement in schema.FTS if "VIRTUAL TABLE" in statement)
    yield "```"


def _layouts() -> Iterator[str]:
    yield f"""## Byte layouts

Many small numbers lie in blobs: arrays of little-endian integers one after the other, or tables of
them, never a pickle. Weights are fixed point: {SCALE} is a weight of 1.

| blob | integers | arrays |
|---|---|---|
| `versions.words` | int32 | the ids of the content words in text order |
| `units.words` | table | word ids (ascending), counts, weights less 1 |
| `domains.words` | table | word ids (ascending), occurrences, sums of the units' weights |
| `clusterings.units`, `.labels` | int64 | unit ids; the cluster of each, -1 for none |
| `pair_runs.pairs`, `.counts` | int64 | `smaller id << 32 \\| larger id`, ascending; counts |
| `epochs.arrays` | – | NumPy's npz, read with `allow_pickle=False` |

A table has three columns of numbers, none negative. Its first three bytes say how many bytes a value
of each column takes (1, 2, 4 or 8); the columns follow one behind the other, little endian.

With the default `domain_weight`, a word's weight in a domain is its sum of weights divided by the
units of the domain and by {SCALE}. This opens a store with nothing but NumPy:

```python
import sqlite3
import numpy as np


def columns(table):
    widths, at = table[:3], 3
    length = (len(table) - 3) // sum(widths)
    for width in widths:
        yield np.frombuffer(table, f"<u{{width}}", length, at).astype(np.int64)
        at += width * length


db = sqlite3.connect("file:wire.db?mode=ro", uri=True)
names = dict(db.execute("SELECT id, word FROM words"))
units, blob = db.execute("SELECT units, words FROM domains ORDER BY units DESC").fetchone()
ids, occurrences, sums = columns(blob)
for i in np.argsort(-sums)[:10]:
    print(names[ids[i]], sums[i] / units / {SCALE}, occurrences[i])
```

## What the digest covers

Two stores are equal if `segapsith status --json` gives the same `digest`: a hash over documents,
texts, units, words, domains, assignments and network in the order of their ids. Runs, batches,
clocks and paths are not in it. The learning clock ticks at {", ".join(map(str, _ticks()))} … accepted documents."""


def _ticks() -> list[int]:
    found = [clock.next_tick(0)]
    while found[-1] < 3 * clock.EPOCH:
        found.append(clock.next_tick(found[-1]))
    return found


def http() -> str:
    """Return the page on the JSON routes of the web application."""
    return "\n".join(["# HTTP", "", *_http()]) + "\n"


def _http() -> Iterator[str]:
    from segapsith.web.json_api import description

    yield "For programmers who ask a running `segapsith serve`; [the guide](../guides/web.md) starts it."
    yield ""
    yield "Generated from `segapsith.web.json_api` by `scripts/docs`; do not edit. The application"
    yield "serves the same description in the form of OpenAPI 3.1 at `/api/v1/openapi.json`."
    yield ""
    yield "Send the token as `Authorization: Bearer TOKEN`, or as the cookie that the printed address"
    yield "sets. `/healthz` needs none. Answers have the shape of [`--json`](json.md)."
    described = description()["paths"]
    for path, operations in described.items():
        for method, operation in operations.items():
            yield from ("", f"## {method.upper()} {path}", "", f"{operation['summary']}.")
            rows = list(_parameters(operation))
            if rows:
                yield from ("", "| parameter | in | type | meaning |", "|---|---|---|---|", *rows)
    failures = next(iter(next(iter(described.values())).values()))["responses"]
    yield from ("", "## Status codes", "", "| code | meaning |", "|---|---|")
    for code, answer in failures.items():
        yield f"| {code} | {answer['description']} |"
    yield "| 405 | a changing route was asked by GET |"
    yield "| 409 | another run came after the form was opened |"


def _parameters(operation: dict[str, Any]) -> Iterator[str]:
    for parameter in operation["parameters"]:
        schema = parameter["schema"]
        kind = schema["type"]
        if kind == "array":
            kind, schema = f"{schema['items']['type']}, repeated", schema["items"]
        if "enum" in schema:
            kind = ", ".join(f"`{choice}`" for choice in schema["enum"])
        meaning = parameter.get("description", "").replace("|", "\\|")
        yield f"| `{parameter['name']}` | {parameter['in']} | {kind} | {meaning} |"
    body = operation.get("requestBody")
    if body:
        schema = body["content"]["application/json"]["schema"]
        for name, inner in schema["properties"].items():
            needed = "required" if name in schema["required"] else "optional"
            yield f"| `{name}` | body | {inner['type']} | {needed} |"


def json() -> str:
    """Return the page on what commands print with `--json`, and Python calls return."""
    return "\n".join(["# JSON", "", *_json()]) + "\n"


def _json() -> Iterator[str]:
    calls = _calls()
    yield "For programmers who read what commands print with `--json`, or what Python calls return."
    yield ""
    yield "Generated from the classes by `scripts/docs`; do not edit. Later versions may add keys and"
    yield "never remove one. A key marked * is left out if it has no value. Ids are integers for units,"
    yield "domains, topics, sections and runs, and texts for documents."
    yield ""
    yield "| command | Python | value |"
    yield "|---|---|---|"
    for command, call, result, many in calls:
        link = f"[{result.__name__}](#{result.__name__.lower()})"
        yield f"| `{command}` | `{call}` | {'a list of ' if many else ''}{link} |"
    pending, listed = [result for *_, result, _ in calls], list[type]()
    while pending:
        kind = pending.pop(0)
        if kind not in listed:
            listed.append(kind)
            for field in dataclasses.fields(kind):
                pending += _results(str(field.type), kind.__module__)
    for kind in sorted(listed, key=lambda kind: kind.__name__):
        yield from ("", f"## {kind.__name__}", "", (kind.__doc__ or "").strip().splitlines()[0])
        yield from ("", "| key | type |", "|---|---|")
        for field in dataclasses.fields(kind):
            mark = "" if "optional" not in field.metadata else " *"
            yield f"| `{field.name}`{mark} | {_plain(str(field.type))} |"


def _calls() -> list[tuple[str, str, type, bool]]:
    """Return command, call, class of the result, and whether there is a list of it."""
    import segapsith
    from segapsith.api.wire import Wire

    with Wire(":memory:") as wire:
        found = []
        for command, call in JSON_COMMANDS.items():
            function = operator.attrgetter(call)(wire)
            hint = str(function.__annotations__["return"])
            result = next(_results(hint, function.__module__))
            found.append((command, f"wire.{call}", result, "[" in hint))
    for command in JSON_FUNCTIONS:
        function = getattr(segapsith, command)
        result = next(_results(str(function.__annotations__["return"]), function.__module__))
        found.append((command, f"segapsith.{command}", result, False))
    return found


def _results(hint: str, module: str) -> Iterator[type]:
    """Yield the classes of results that an annotation of a module names."""
    names = {**_type_imports(module), **vars(sys.modules[module])}
    for name in re.findall(r"\w+", hint):
        kind = names.get(name)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            yield kind


@functools.cache
def _type_imports(module: str) -> dict[str, Any]:
    """Return what a module imports for type checkers only, by name."""
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    found = {}
    for node in (statement for block in blocks for statement in block.body):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                source = importlib.import_module(node.module)
                found[alias.asname or alias.name] = getattr(source, alias.name, None)
    return found


JSON_FUNCTIONS = ("prepare", "federate")
"""Commands without a store of their own; the function of the package has the same name."""

JSON_COMMANDS = {
    "status": "status",
    "ingest": "ingest",
    "domains": "domains.list",
    "show": "domains.show",
    "domains rename": "domains.rename",
    "domains merge": "domains.merge",
    "domains split": "domains.split",
    "domains retire": "domains.retire",
    "domains reopen": "domains.reopen",
    "domains lock": "domains.lock",
    "domains unlock": "domains.unlock",
    "domains reassign": "domains.reassign",
    "topics": "topics.list",
    "topics link": "topics.propose_links",
    "sections": "sections.list",
    "events": "events.list",
    "today": "today",
    "search": "search",
    "explain": "explain",
    "classify": "classify",
    "cluster": "cluster",
    "compare": "compare",
    "validate": "validation.run",
    "tune": "threshold.search",
    "runs": "runs.list",
    "runs undo": "runs.undo",
    "verify": "verify",
}
"""Commands whose JSON is the result of one call."""


PAGES = {
    "cli.md": command_line,
    "settings.md": settings,
    "exit-codes.md": exit_codes,
    "store.md": store,
    "http.md": http,
    "json.md": json,
}


def build_site(output: Path | None = None) -> int:
    """Build the site; a warning is a failure. Return the exit code."""
    arguments = ["build", "--strict", "--quiet"]
    if output is not None:
        arguments += ["--site-dir", str(output)]
    return _mkdocs(*arguments)


def _mkdocs(*arguments: str) -> int:
    """Run mkdocs, with the folder of its configuration on the path for the hooks that are there."""
    site = DOCS / "site"
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *arguments, "--config-file", str(site / "mkdocs.yml")],
        env={**os.environ, "PYTHONPATH": str(site), "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    ).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write no page; exit with 1 if one is out of date"
    )
    parser.add_argument("--site", action="store_true", help="build the site into build/site, too")
    parser.add_argument("--serve", action="store_true", help="serve the site while pages change")
    options = parser.parse_args()
    stale = 0
    pages = {REFERENCE / name: page() for name, page in PAGES.items()}
    pages |= {MANUAL / name: text for name, text in manual_pages().items()}
    for path, text in pages.items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale += 1
        shown = path.relative_to(DOCS.parent)
        print(f"{shown} is {'stale' if options.check else 'written'}")
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    for path in sorted(set(MANUAL.glob("*")) - pages.keys()):
        stale += 1
        print(f"{path.relative_to(DOCS.parent)} is {'stale' if options.check else 'deleted'}")
        if not options.check:
            path.unlink()
    if options.check and stale:
        return 1
    if options.serve:
        return _mkdocs("serve")
    return build_site() if options.site else 0


if __name__ == "__main__":
    sys.exit(main())

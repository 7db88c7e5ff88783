#!/usr/bin/env python
"""Play an editor, a researcher, an operator and a plugin author with the real commands, in a terminal.

    scripts/walkthrough [--columns N] [--write]

Each command runs in a pseudo-terminal of 80 and of 100 columns, in an empty folder, offline. It must
end with exit code 0 and print something, and no line may be longer than the terminal. What 100
columns show must agree with scripts/outputs, from where `scripts/docs.py` takes it for the page on
the command line; `--write` stores it there.
"""

from __future__ import annotations

import argparse
import fcntl
import http.server
import importlib
import json
import math
import os
import pty
import re
import shlex
import signal
import socketserver
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from segapsith.demo import sample

ROOT = Path(__file__).resolve().parents[1]
OUTPUTS = Path(__file__).resolve().parent / "outputs"
WIDTHS = (80, 100)
MAX_SECONDS = 300

LOADED = ("segapsith.cli", "segapsith.cli.app", "segapsith.api.wire", "segapsith_store", "numba",
          "scipy.sparse", "segapsith_plugins")  # fmt: skip
"""Modules that are imported once: each command runs in a copy of this process."""

EDITOR = """
demo --store demo.db --output demo.html
config
ingest monday.jsonl --store wire.db
prepare monday.jsonl tuesday.jsonl --output shards
ingest tuesday.jsonl --store wire.db
status --store wire.db
topics --store wire.db
sections --store wire.db
today --since 2026-03-12 --store wire.db
domains --limit 5 --store wire.db
events --limit 5 --store wire.db
show 5 --store wire.db
search grain --limit 3 --store wire.db
explain 5 --store wire.db
classify story.txt --store wire.db
domains rename 5 "The great flood" --store wire.db
domains lock 5 --store wire.db
domains unlock 5 --store wire.db
domains split 1 --parts 2 --store wire.db
runs undo --store wire.db
domains merge 1 2 --store wire.db
runs undo --store wire.db
domains retire 5 --store wire.db
domains reopen 5 --store wire.db
domains reassign --store wire.db
runs --limit 5 --store wire.db
feeds add http://127.0.0.1:54321/wire.xml --store wire.db
feeds list --store wire.db
update --allow-host 127.0.0.1:54321 --store wire.db
feeds export --output subscriptions.opml --store wire.db
feeds remove http://127.0.0.1:54321/wire.xml --store wire.db
feeds import subscriptions.opml --store wire.db
report --output wire.html --store wire.db
forget en-034 --store wire.db
verify --store wire.db
backup copy.db --store wire.db
"""

RESEARCHER = """
validate --min-units 6 --store wire.db
validate --history --store wire.db
validate order --shuffles 2 --store wire.db
validate drift --store wire.db
validate curve --store wire.db
compare 1 2 --store wire.db
cluster -k 8 --store wire.db
tune --target-new-rate 0.2 --store wire.db
segment story.txt --store wire.db
network status --store wire.db
network show river --store wire.db
federate wire.db demo.db --output view --min-units 5
export --to csv --what domains --output domains.csv --store wire.db
cite --store wire.db
languages
languages check en
ingest german.jsonl spanish.jsonl --store two.db
topics --limit 3 --store two.db
topics link --across --limit 5 --store two.db
reproduce
"""

PLUGIN_AUTHOR = """
plugins
plugins new overlap-share --kind similarity
plugins check overlap-share
ingest monday.jsonl --placement overlap-share --set threshold=0.4 --store own.db
domains --limit 3 --store own.db
plugins check paragraphs
network build tuesday.jsonl --store own.db
"""

OPERATOR = """
schedule show --at 02:30 --store wire.db
schedule install --user --store wire.db
doctor --store wire.db
notify test --config notify.toml --store wire.db
notify list --config notify.toml --store wire.db
notify send --config notify.toml --store wire.db
notify drop reader --config notify.toml --store wire.db
serve --port 0 --store wire.db
"""

PEOPLE = {
    "editor": EDITOR,
    "researcher": RESEARCHER,
    "operator": OPERATOR,
    "plugin author": PLUGIN_AUTHOR,
}

TARGET = """[[notify]]
name = "reader"
to = "atom"
on = ["new-domain", "rising"]
path = "news.atom"
"""

WITH_LONG_LINES = ("schedule show",)
"""Commands that print files for other programs, whose lines are not wrapped."""

RUNS_UNTIL = {"serve": b"token="}
"""Commands that run until Ctrl-C, which is pressed when they have printed this; the code is 130."""

FEED = b"""<rss version="2.0"><channel><title>Town wire</title><link>http://example.org</link>
<item><guid>storm-1</guid><title>Storm closes the harbour</title><description>The harbour stayed
closed on Monday. Ferries waited for the storm to pass, and the coast guard warned of high
waves.</description></item></channel></rss>"""


@dataclass(frozen=True, slots=True)
class Step:
    """A command that somebody gave, and what the terminal showed."""

    person: str
    line: str
    code: int
    text: str

    @property
    def name(self) -> str:
        """The words of the command before its first argument: `domains merge`."""
        words = self.line.split()
        second = words[1:2] if words[0] in GROUPS and words[1:] else []
        return " ".join([words[0], *(word for word in second if word.isalpha())])


GROUPS = (
    *("domains", "feeds", "languages", "network", "notify", "plugins", "runs", "schedule"),
    *("topics", "validate"),
)


def play(columns: int, folder: Path) -> Iterator[Step]:
    """Yield every step of the people, one after the other in the same folder."""
    _fill(folder)
    for name in LOADED:
        importlib.import_module(name)
    with _feed_server() as port:
        for person, script in PEOPLE.items():
            for line in script.strip().splitlines():
                typed = line.replace(":54321", f":{port}")
                code, text = _in_terminal(shlex.split(typed), columns, folder)
                for here, there in ((f":{port}", ":54321"), *_places(folder)):
                    text = text.replace(here, there)
                yield Step(person, line, code, text)
                if line.startswith("plugins new"):
                    _install(folder / "segapsith-overlap-share", folder)


def _places(folder: Path) -> list[tuple[str, str]]:
    """Return the paths of this machine, and the ones that the pages show instead."""
    from segapsith.operations.schedule import program

    return [(shlex.join(program()), "/srv/wire/env/bin/segapsith"), (str(folder), "/srv/wire")]


def faults(step: Step, columns: int) -> list[str]:
    """Return what a user would stumble over."""
    longest = max((len(line) for line in step.text.splitlines()), default=0)
    if step.name in WITH_LONG_LINES:
        longest = 0
    right = 130 if step.name in RUNS_UNTIL else 0
    return [
        reason
        for reason, present in {
            f"exit code {step.code}": step.code != right,
            "it printed nothing": not step.text.strip(),
            f"a line of {longest} characters": longest > columns,
            "a traceback": "Traceback" in step.text or "this should not happen" in step.text,
        }.items()
        if present
    ]


def _fill(folder: Path) -> None:
    stories = sample.lines("en")
    for name, part in (("monday", stories[:120]), ("tuesday", stories[120:])):
        lines = "".join(json.dumps(story) + "\n" for story in part)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    for name, lang in (("german", "de"), ("spanish", "es")):
        (folder / f"{name}.jsonl").write_bytes(sample.path(lang).read_bytes())
    (folder / "notify.toml").write_text(TARGET, "utf-8")
    systemctl = folder / "bin" / "systemctl"  # nothing is started on this machine
    systemctl.parent.mkdir()
    systemctl.write_text("#!/bin/sh\n", "utf-8")
    systemctl.chmod(0o755)
    (folder / "story.txt").write_text(
        "The river rose over its banks again and the dam had to be opened.\n\n"
        "The central bank left its interest rate unchanged.\n",
        "utf-8",
    )


def _install(project: Path, folder: Path) -> None:
    """Install a project where only this walk-through finds it."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--target", folder / "site", project],
        check=True, capture_output=True, timeout=MAX_SECONDS,
    )  # fmt: skip


class _Feed(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(FEED)))
        self.end_headers()
        self.wfile.write(FEED)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _feed_server() -> Iterator[int]:
    """Serve the feed in a process of its own: this one has no threads, so that it can be copied."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Feed) as server:
        process = os.fork()
        if process == 0:
            server.serve_forever()
            os._exit(0)
        try:
            yield server.server_address[1]
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _in_terminal(arguments: list[str], columns: int, folder: Path) -> tuple[int, str]:
    """Run a command in a terminal of some columns; return its exit code and what stays visible."""
    sys.stdout.flush()
    process, terminal = pty.fork()
    if process == 0:
        _run(arguments, columns, folder)
    pieces, until = [], RUNS_UNTIL.get(arguments[0])
    while piece := _read(terminal):
        pieces.append(piece)
        if until and until in b"".join(pieces):
            os.kill(process, signal.SIGINT)
            until = None
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    text = b"".join(pieces).decode("utf-8")
    return os.waitstatus_to_exitcode(status), visible(text)


def _run(arguments: list[str], columns: int, folder: Path) -> NoReturn:
    """Be the command: in its folder, with its plugins, without settings from outside."""
    code = 1
    try:
        signal.alarm(MAX_SECONDS)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.chdir(folder)
        for name in [n for n in os.environ if n.startswith("SEGAPSITH_") or n == "COLUMNS"]:
            del os.environ[name]
        site = str(folder / "site")
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        os.environ |= {"PYTHONPATH": site, "TERM": "xterm", "PATH": path}
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        sys.path.insert(0, site)
        from segapsith.cli.app import run

        code = run(arguments)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the command has ended
        return b""


def visible(text: str) -> str:
    """Return what a terminal still shows: progress is overwritten.

    >>> visible("\\r\\x1b[2Kverifying: 3 %\\r\\x1b[2Ksound\\r\\n")
    'sound\\n'
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(re.sub(r".*\x1b\[2K|\x1b\[[0-9;]*m", "", line).rstrip() for line in lines)


DAY_OF_THE_SAMPLE = r"(?!2026-03-(?:0\d|1[0-5]))"


def settled(text: str) -> str:
    """Return an output with "…" for what differs from one machine and minute to the next.

    >>> settled("run 1, 2031-01-01 10:11: 3 stories of 2026-03-02, 12.5 s\\nrows  learn\\n   5  0.123")
    'run 1, …: 3 stories of 2026-03-02, … s\\nrows  learn\\n   5      …\\n'
    """
    moment = DAY_OF_THE_SAMPLE + r"\b20\d\d-\d\d-\d\d(?: \d\d:\d\d)?"
    text = re.sub(moment + "(?=  )", lambda match: "…".ljust(len(match.group())), text)
    text = re.sub(moment, "…", text)
    text = re.sub(r"\b\d+(\.\d+)? (s|min|h)\b", "… s", text)
    text = re.sub(r"\b\d+(\.\d+)? [MGT]B( of memory| free)", r"… GB\2", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "…", text)
    text = re.sub(r"127\.0\.0\.1:\d+/\?token=\S+", "127.0.0.1:8787/?token=…", text)
    text = re.sub(r"(?m)^(User|MAILTO)=.*$", r"\1=wire", text)
    text = re.sub(r"(?ms)^\w+ +sqlite .*?^(?=\S)", "ok       sqlite       …\n", text)
    text = re.sub(r"(?m)^(ok +python +)\S+$", r"\1…", text)
    text = re.sub(r"(\.db), [\d,]+ bytes", r"\1, … bytes", text)
    text = re.sub(r"(?ms)^(versions\s+).*?(?=^\S|\Z)", r"\1…\n", text)
    text = re.sub(r"(?m)^((?:sqlite_version|schema)\s+).*$", r"\1…", text)
    return _without_seconds(text).strip("\n") + "\n"


def _without_seconds(text: str) -> str:
    """Return a text whose tables have "…" in columns of seconds."""
    lines: list[str] = []
    ends: set[int] = set()
    for line in text.splitlines():
        if re.fullmatch(r"[a-z][a-z0-9_ ]*", line):
            ends = {match.end() for match in re.finditer(r"\b(learn|compare|seconds)\b", line)}
        for match in re.finditer(r"\b\d+\.\d{3}\b", line):
            if match.end() in ends:
                mark = "…".rjust(len(match.group()))
                line = line[: match.start()] + mark + line[match.end() :]
        lines.append(line)
    return "\n".join(lines)


TOLERANCE = 0.02
"""By how much a figure with decimals may differ: other processors round sums otherwise."""


def agree(shown: str, stored: str) -> bool:
    """Return whether two outputs agree; where lines were wrapped and how long bars are is no matter.

    >>> agree("kappa 0.979,\\n  ARI 1.000 ██", "kappa 0.981, ARI 1.000 █"), agree("20 units", "21 units")
    (True, False)
    """
    left, right = ([w for w in re.sub(r"[█·]", " ", t).split()] for t in (shown, stored))
    return len(left) == len(right) and all(map(_alike, left, right))


def _alike(left: str, right: str) -> bool:
    figure = r"\d+\.\d+"
    numbers = zip(re.findall(figure, left), re.findall(figure, right), strict=False)
    return re.sub(figure, "", left) == re.sub(figure, "", right) and all(
        math.isclose(float(a), float(b), rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in numbers
    )


def examples(steps: list[Step]) -> dict[str, str]:
    """Return the first call of each command with its output, as the page on commands shows it."""
    shown: dict[str, str] = {}
    for step in steps:
        shown.setdefault(step.name, f"$ segapsith {step.line}\n{settled(step.text)}")
    return shown


def stale(shown: dict[str, str]) -> list[str]:
    """Return the names of commands whose stored output is not what they show."""
    return [
        name
        for name, text in shown.items()
        if not (_stored(name).exists() and agree(text, _stored(name).read_text("utf-8")))
    ]


def _stored(name: str) -> Path:
    return OUTPUTS / f"{name.replace(' ', '-')}.txt"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--columns", type=int, action="append", help="width of the terminal")
    parser.add_argument("--write", action="store_true", help="store the outputs for the pages")
    given = parser.parse_args()
    failed = 0
    for columns in given.columns or WIDTHS:
        steps = []
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            for step in play(columns, Path(folder)):
                steps.append(step)
                wrong = faults(step, columns)
                failed += bool(wrong)
                mark = "FAIL " + ", ".join(wrong) if wrong else "ok"
                seconds = time.monotonic() - began
                print(f"{seconds:5.1f} s  {columns}  {step.person}: segapsith {step.line}: {mark}")
                if wrong:
                    print(step.text)
        if columns == WIDTHS[-1]:
            failed += _compare(examples(steps), write=given.write and not failed)
    return int(failed > 0)


def _compare(shown: dict[str, str], *, write: bool) -> int:
    """Return how many stored outputs are stale; `write`: store them anew."""
    names = stale(shown)
    for name in names:
        if write:
            _stored(name).write_text(shown[name], "utf-8")
        else:
            print(f"FAIL scripts/outputs: {name} prints\n{shown[name]}")
            print("run scripts/walkthrough --write, then scripts/docs.py")
    return 0 if write else len(names)


if __name__ == "__main__":
    sys.exit(main())

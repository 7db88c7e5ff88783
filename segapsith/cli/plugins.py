"""`plugins check`, `plugins new`: what a plugin promises, and a project to begin one with."""

from __future__ import annotations

import keyword
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, NoPlugins, StrictPlugins
from segapsith.cli.output import claim, say, show_json, table, write
from segapsith.errors import (
    PluginError,
    PluginLoadError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from segapsith.settings import ANNOTATOR, LINKAGE, PLAIN_SIMILARITY

if TYPE_CHECKING:
    from segapsith.arrays import Labels, Rows
    from segapsith.plugin.registry import Offer, Registry

__all__ = ["add_to", "check_plugin", "new_project"]

KINDS = (
    "source", "annotator", "segmenter", "similarity", "clusterer", "comparison", "exporter"
)  # fmt: skip
SIZES = (500, 1_000, 2_000)
"""Rows that are timed."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40

KindChoice = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
]


def add_to(plugins: typer.Typer) -> None:
    plugins.command("check")(check)
    plugins.command("new")(new)


# -- check ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one check went: ok, FAIL or SLOW, and why."""

    check: str
    result: str
    seconds: float
    reason: str = ""


@dataclass(slots=True)
class Examination:
    """Everything that was found about one plugin in one of its kinds."""

    kind: str
    checks: list[Verdict] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    leaderboard: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(verdict.result == "ok" for verdict in self.checks)


def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An installed plugin.")],
    kind: KindChoice = None,
    limit: Annotated[
        float, typer.Option("--limit", metavar="SECONDS", min=0.1, help="For each check.")
    ] = 60.0,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Hold an installed plugin to its contract, time it, and score it on the bundled sample.

    Exit code 70 when a check fails or takes longer than the limit.

    Example: segapsith plugins check cosine
    """
    registry = context.plugins(strict=strict_plugins, only_own=no_plugins)
    offers = _found(registry, name, kind)
    found = []
    for offer in offers:
        found.append(check_plugin(registry, offer, limit))
        if not as_json and not quiet:
            _show(offer, found[-1])
    sound = all(examination.ok for examination in found)
    if as_json:
        show_json(
            {
                "name": name,
                "ok": sound,
                "plugins": [
                    {"package": offer.package, "version": offer.version, **asdict(examination)}
                    for offer, examination in zip(offers, found, strict=True)
                ],
            }
        )
    if not sound:
        for examination in found:
            for verdict in examination.checks:
                if verdict.result != "ok":
                    said = f"{verdict.check}: {verdict.reason}"
                    say(f"segapsith: {examination.kind} '{name}': {said}")
        raise typer.Exit(PluginError.exit_code)


def _found(registry: Registry, name: str, kind: str | None) -> list[Offer]:
    """The offers of that name, in all kinds or in one."""
    if kind is not None:
        return [registry.offer(_known_kind(kind), name)]
    offers = [registry.offers[k, name] for k in KINDS if (k, name) in registry.offers]
    if offers:
        return offers
    for problem in registry.problems:
        if name == problem.plugin or name in problem.names:
            raise PluginLoadError(f"'{name}' cannot be used: {problem}")
    known = sorted({n for _, n in registry.offers})
    raise UnknownNameError(f"no plugin is called {name!r}{did_you_mean(name, known)}")


def _known_kind(kind: str | None) -> str:
    if kind not in KINDS:
        hint = did_you_mean(kind or "", KINDS)
        raise UsageError(f"--kind {kind or ''!r} should be one of {', '.join(KINDS)}{hint}")
    return kind


def check_plugin(registry: Registry, offer: Offer, limit: float) -> Examination:
    """The checks of its kind; for measures and clusterers also times and scores."""
    from segapsith.testing import CHECKS

    found = Examination(offer.kind)
    for one in CHECKS[offer.kind]:
        found.checks.append(_verdict(one.__name__, partial(one, offer.factory, limit)))
    if offer.kind in ("similarity", "clusterer") and found.ok:
        _time(registry, offer, limit, found)
    if offer.kind in ("similarity", "clusterer") and found.ok:
        found.leaderboard = _leaderboard(registry, offer, limit)
        for row in found.leaderboard:
            if row["name"] == offer.name and row["error"]:
                result = "SLOW" if row["slow"] else "FAIL"
                found.checks.append(Verdict("the sample", result, row["seconds"], row["error"]))
    return found


def _verdict(name: str, work: Callable[[], object]) -> Verdict:
    from segapsith.testing import TooSlowError

    began = time.monotonic()
    result, reason = "ok", ""
    try:
        work()
    except TooSlowError as error:
        result, reason = "SLOW", str(error)
    except (AssertionError, PluginError) as error:
        result, reason = "FAIL", str(error)
    return Verdict(name, result, round(time.monotonic() - began, 3), reason)


def _limited(offer: Offer, hook: str, limit: float, work: Callable[[], Any]) -> Any:
    """What the work gives within the limit; else `TooSlowError`."""
    from segapsith.errors import PluginTimeoutError
    from segapsith.plugin import guards
    from segapsith.testing import TooSlowError

    now = guards.charged_seconds
    end = now() + limit
    try:
        with guards.time_limit(guards.PluginName(offer.kind, offer.name), hook, limit, clock=now):
            result = work()
    except PluginTimeoutError as error:
        raise TooSlowError(str(error)) from error
    if now() >= end:
        raise TooSlowError(f"{hook} took more than {limit:g} seconds")
    return result


def _time(registry: Registry, offer: Offer, limit: float, found: Examination) -> None:
    """Seconds on synthetic rows of each size; stops where the limit is passed."""
    from segapsith.testing import example_rows

    for n_rows in SIZES:
        rows = example_rows(n_rows, 4_000, n_groups=20, length=60)
        work = _steps(registry, offer, rows)
        timing: dict[str, Any] = {"rows": n_rows}
        for hook, step in work:
            verdict = _verdict(
                f"{hook} of {n_rows:,} rows", partial(_limited, offer, hook, limit, step)
            )
            timing[hook] = verdict.seconds
            if verdict.result != "ok":
                found.checks.append(verdict)
                found.timings.append(timing)
                return
        found.timings.append(timing)


def _steps(
    registry: Registry, offer: Offer, rows: Rows
) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed, by name."""
    if offer.kind == "clusterer":
        yield "cluster", lambda: _clustered(registry, offer.name, rows, 20)
        return
    measure = registry.make("similarity", offer.name)
    yield "learn", lambda: measure.learn(rows)
    yield "compare", lambda: measure.compare(rows, rows)


def _clustered(registry: Registry, name: str, rows: Rows, k: int) -> Labels:
    """The labels with k clusters, as far as the clusterer can be told; cosine if it needs one."""
    wanted = {"k": k, "seed": 0}
    known = registry.settings("clusterer", name)
    made = registry.make("clusterer", name, {n: v for n, v in wanted.items() if n in known})
    try:
        labels: Labels = made.cluster(rows, None)
    except PluginError as error:
        if not isinstance(error.__cause__, ValueError):
            raise
        labels = made.cluster(rows, registry.make("similarity", PLAIN_SIMILARITY).compare)
    return labels


def _leaderboard(registry: Registry, offer: Offer, limit: float) -> list[dict[str, Any]]:
    """The plugin and the built-ins of its kind on the bundled sample, best first.

    Paragraphs are rows, and there are as many clusters as the gold has subjects: a measure is
    given weights (TF-IDF) and clustered by average linkage, a clusterer is given counts.
    """
    from segapsith.demo import sample
    from segapsith.plugin.registry import OWN_PACKAGE
    from segapsith.testing import TooSlowError

    wires = {lang: _paragraphs(registry, lang) for lang in sample.LANGS}
    rows: list[dict[str, Any]] = []
    for name in registry.names(offer.kind):
        other = registry.offers[offer.kind, name]
        if other.package != OWN_PACKAGE and name != offer.name:
            continue
        row: dict[str, Any] = {"name": name, "package": other.package, "error": "", "slow": False}
        began = time.monotonic()
        try:
            scores = [
                _limited(other, "scoring", limit, partial(_scores, registry, other, wire))
                for wire in wires.values()
            ]
        except (PluginError, TooSlowError) as error:
            row |= {"error": str(error), "slow": isinstance(error, TooSlowError)}
            scores = []
        for lang, score in zip(wires, scores, strict=False):
            row |= {f"nmi_{lang}": score[0], f"f1_{lang}": score[1]}
        row["f1"] = round(sum(s[1] for s in scores) / len(scores), 4) if scores else None
        row["seconds"] = round(time.monotonic() - began, 3)
        rows.append(row)
    return sorted(rows, key=lambda row: (-(row["f1"] or 0.0), row["name"]))


def _paragraphs(registry: Registry, lang: str) -> tuple[Rows, Rows, list[str]]:
    """The paragraphs of the sample that have words: counts, weights, subjects."""
    import numpy as np
    from scipy.sparse import csr_array

    from segapsith.demo import sample
    from segapsith.demo.sample.baseline import tf_idf
    from segapsith.model import Document, Lexicon

    texts = {item["id"]: Document(title=item["title"], body=item["text"]).text
             for item in sample.lines(lang)}  # fmt: skip
    gold = sample.gold_of_paragraphs(lang)
    documents = [Document(body=texts[uid][start:end], lang=lang) for uid, start, end, _ in gold]
    found = registry.make("annotator", ANNOTATOR).annotate(documents, Lexicon())
    bags = [
        [lemma for lemma, content in zip(a.lemmas, a.content, strict=True) if content]
        for a in found
    ]
    filled = [place for place, bag in enumerate(bags) if bag]
    bags = [bags[place] for place in filled]
    number = {word: i for i, word in enumerate(sorted({word for bag in bags for word in bag}))}
    places = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    words = [number[word] for bag in bags for word in bag]
    shape = (len(bags), len(number))
    counts = csr_array((np.ones(len(words)), (places, words)), shape=shape)
    counts.sum_duplicates()
    return counts, tf_idf(bags), [gold[place][3] for place in filled]


def _scores(
    registry: Registry, offer: Offer, wire: tuple[Rows, Rows, list[str]]
) -> tuple[float, float]:
    """NMI and B-cubed F1 against the subjects."""
    from segapsith.evaluation.metrics import bcubed, nmi

    counts, weights, subjects = wire
    k = len(set(subjects))
    if offer.kind == "clusterer":
        labels = _clustered(registry, offer.name, counts, k)
    else:
        measure = registry.make("similarity", offer.name)
        measure.learn(weights)
        linkage = registry.make("clusterer", LINKAGE, {"k": k, "linkage": "average"})
        labels = linkage.cluster(weights, measure.compare)
    groups = labels.tolist()
    return round(nmi(groups, subjects), 4), round(bcubed(groups, subjects).f1, 4)


def _show(offer: Offer, found: Examination) -> None:
    write(f"{offer.kind} '{offer.name}' of {offer.package} {offer.version}".rstrip())
    for verdict in found.checks:
        why = f"  {verdict.reason}" if verdict.reason else ""
        write(f"{verdict.result:4}  {verdict.check} ({verdict.seconds:.2f} s){why}")
    if found.timings:
        write("")
        heads = tuple(found.timings[0])
        table(([t.get(head) for head in heads] for t in found.timings), heads)
    if found.leaderboard:
        write("")
        heads = ("name", "nmi_en", "f1_en", "nmi_fr", "f1_fr", "f1", "seconds", "error")
        board = [[row.get(head) for head in heads] for row in found.leaderboard]
        for line in board:
            line[0] = f"> {line[0]}" if line[0] == offer.name else f"  {line[0]}"
        table(board, heads)
    passed = sum(verdict.result == "ok" for verdict in found.checks)
    write(f"{passed} of {len(found.checks)} checks passed")


# -- new -----------------------------------------------------------------------------------


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower case, with hyphens.")],
    kind: KindChoice = None,
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Where the project's folder is made.")
    ] = Path(),
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Begin a plugin: a project with a working example, its tests, its CI file and a README.

    Example: segapsith plugins new my-measure --kind similarity
    """
    claim()
    folder, files = new_project(name, _known_kind(kind), into)
    if as_json:
        show_json({"name": name, "kind": kind, "path": str(folder), "files": files})
    elif not quiet:
        for file in files:
            write(str(folder / file))
        say(f"next: pip install -e {folder} && segapsith plugins check {name} --kind {kind}")


def new_project(name: str, kind: str, into: Path) -> tuple[Path, list[str]]:
    """Writes the project below `into`; gives its folder and its files. Overwrites nothing."""
    from importlib.resources import files
    from string import Template

    from segapsith.plugin.hookspecs import HOOKS
    from segapsith.plugin.registry import load_plugins

    _checked_name(name)
    taken = load_plugins().offers.get((kind, name))
    if taken is not None:
        raise UsageError(f"the {kind} {name!r} is there already, from package {taken.package}")
    folder = into / f"segapsith-{name}"
    module = f"segapsith_{name.replace('-', '_')}"
    values = {
        "name": name,
        "kind": kind,
        "hook": HOOKS[kind],
        "module": module,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    templates = files("segapsith.cli") / "plugin_project"
    wanted = {
        ".github/workflows/ci.yml": "ci.yml.txt",
        ".gitignore": "gitignore.txt",
        "README.md": "README.md.txt",
        "pyproject.toml": "pyproject.toml.txt",
        f"src/{module}/__init__.py": f"{kind}.py.txt",
        f"src/{module}/py.typed": "py.typed.txt",
        f"tests/test_{module.removeprefix('segapsith_')}.py": "test.py.txt",
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        raise UsageError(f"{error.filename} is there already; nothing was written") from error
    for path, template in wanted.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = Template((templates / template).read_text("utf-8")).substitute(values)
        target.write_text(text, "utf-8")
    return folder, sorted(wanted)


def _checked_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME or keyword.iskeyword(name):
        raise UsageError(
            f"the name {name!r} should be lower case letters and digits with single hyphens,"
            f" like my-measure, and have at most {_LONGEST_NAME} characters"
        )
    if name.startswith("segapsith"):
        raise UsageError(f"the name {name!r} should not begin with segapsith: the package will")

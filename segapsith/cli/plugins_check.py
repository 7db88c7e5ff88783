"""`plugins check`: test an installed plugin against its contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, say, write
from segapsith.cli.plugins_new import KINDS, Kind, checked_kind
from segapsith.errors import PluginError, PluginLoadError, UnknownNameError, did_you_mean
from segapsith.settings import ANNOTATOR, LINKAGE, PLAIN_SIMILARITY

if TYPE_CHECKING:
    from segapsith.arrays import Labels, Rows
    from segapsith.plugin.registry import Offer, Registry

__all__ = ["add_to", "check_plugin"]

SIZES = (500, 1_000, 2_000)
"""Numbers of rows that are measured."""


def add_to(plugins: typer.Typer) -> None:
    plugins.command("check")(check)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one check: ok, FAIL or SLOW, and why."""

    check: str
    result: str
    seconds: float
    reason: str = ""


@dataclass(slots=True)
class Examination:
    """The results for one plugin in one of its kinds."""

    kind: str
    checks: list[Verdict] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    leaderboard: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(verdict.result == "ok" for verdict in self.checks)


@command()
def check(
    context: Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="An installed plugin.")],
    *,
    kind: Kind = None,
    limit: Annotated[
        float,
        typer.Option("--limit", metavar="SECONDS", min=0.1, help="Time limit of each check."),
    ] = 60.0,
) -> None:
    """Test an installed plugin against its contract.

    Similarities and clusterers are also timed and scored on the bundled sample. The exit code is 70 if a check fails or exceeds the time limit.

    Example: segapsith plugins check cosine
    """
    registry = context.registry()
    offers = _offers(registry, name, kind)
    examinations = []
    for offer in offers:
        examination = check_plugin(registry, offer, limit)
        examinations.append(examination)
        if not context.out.json and not context.out.quiet:
            _show(offer, examination, context.out)
    ok = all(examination.ok for examination in examinations)
    context.show(
        {
            "name": name,
            "ok": ok,
            "plugins": [
                {"package": offer.package, "version": offer.version, **asdict(examination)}
                for offer, examination in zip(offers, examinations, strict=True)
            ],
        },
        lambda out: None,
    )
    for examination in examinations:
        for verdict in examination.checks:
            if verdict.result != "ok":
                reason = f"{verdict.check}: {verdict.reason}"
                say(f"segapsith: {examination.kind} '{name}': {reason}")
    if not ok:
        raise typer.Exit(PluginError.exit_code)


def _offers(registry: Registry, name: str, kind: str | None) -> list[Offer]:
    """Return the plugins of that name, of all kinds or of one."""
    if kind is not None:
        return [registry.offer(checked_kind(kind), name)]
    offers = [registry.offers[k, name] for k in KINDS if (k, name) in registry.offers]
    if offers:
        return offers
    for problem in registry.problems:
        if name == problem.plugin or name in problem.names:
            raise PluginLoadError(f"'{name}' cannot be used: {problem}")
    names = sorted({n for _, n in registry.offers})
    raise UnknownNameError(f"no plugin is called {name!r}{did_you_mean(name, names)}")


def check_plugin(registry: Registry, offer: Offer, limit: float) -> Examination:
    """Run the checks of its kind; time and score similarities and clusterers as well."""
    from segapsith.testing import CHECKS

    examination = Examination(offer.kind)
    for one in CHECKS[offer.kind]:
        examination.checks.append(_verdict(one.__name__, partial(one, offer.factory, limit)))
    if offer.kind in ("similarity", "clusterer") and examination.ok:
        _time(registry, offer, limit, examination)
    if offer.kind in ("similarity", "clusterer") and examination.ok:
        examination.leaderboard = _leaderboard(registry, offer, limit)
        for row in examination.leaderboard:
            if row["name"] == offer.name and row["error"]:
                result = "SLOW" if row["slow"] else "FAIL"
                examination.checks.append(
                    Verdict("the sample", result, row["seconds"], row["error"])
                )
    return examination


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
    """Return the result of the work; raise `TooSlowError` beyond the limit."""
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


def _time(registry: Registry, offer: Offer, limit: float, examination: Examination) -> None:
    """Measure seconds on synthetic rows of each size, up to the size that exceeds the limit."""
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
                examination.checks.append(verdict)
                examination.timings.append(timing)
                return
        examination.timings.append(timing)


def _steps(
    registry: Registry, offer: Offer, rows: Rows
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps to measure, by name."""
    if offer.kind == "clusterer":
        yield "cluster", lambda: _clustered(registry, offer.name, rows, 20)
        return
    measure = registry.make("similarity", offer.name)
    yield "learn", lambda: measure.learn(rows)
    yield "compare", lambda: measure.compare(rows, rows)


def _clustered(registry: Registry, name: str, rows: Rows, k: int) -> Labels:
    """Return labels of k clusters if the clusterer has that setting; with cosine if it needs a similarity."""
    accepted = registry.settings("clusterer", name)
    settings = {n: v for n, v in {"k": k, "seed": 0}.items() if n in accepted}
    clusterer = registry.make("clusterer", name, settings)
    try:
        labels: Labels = clusterer.cluster(rows, None)
    except PluginError as error:
        if not isinstance(error.__cause__, ValueError):
            raise
        labels = clusterer.cluster(rows, registry.make("similarity", PLAIN_SIMILARITY).compare)
    return labels


def _leaderboard(registry: Registry, offer: Offer, limit: float) -> list[dict[str, Any]]:
    """Score the plugin and the built-ins of its kind on the bundled sample, best first.

    Paragraphs are rows, and the number of clusters is the number of subjects. A similarity gets
    weights (TF-IDF) and is clustered by average linkage; a clusterer gets counts.
    """
    from segapsith.demo import sample
    from segapsith.plugin.registry import OWN_PACKAGE
    from segapsith.testing import TooSlowError

    wires = {lang: _paragraphs(registry, lang) for lang in sample.WHOLE}
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
    """Return the paragraphs of the sample that have words: counts, weights, subjects."""
    import numpy as np
    from scipy.sparse import csr_array

    from segapsith.demo import sample
    from segapsith.demo.sample.baseline import tf_idf
    from segapsith.model import Document, Lexicon

    texts = {item["id"]: Document(title=item["title"], body=item["text"]).text
             for item in sample.lines(lang)}  # fmt: skip
    gold = sample.gold_of_paragraphs(lang)
    documents = [Document(body=texts[uid][start:end], lang=lang) for uid, start, end, _ in gold]
    annotations = registry.make("annotator", ANNOTATOR).annotate(documents, Lexicon())
    bags = [
        [lemma for lemma, content in zip(a.lemmas, a.content, strict=True) if content]
        for a in annotations
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
    """Return NMI and B-cubed F1 against the subjects."""
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


def _show(offer: Offer, examination: Examination, out: Output) -> None:
    write(f"{offer.kind} '{offer.name}' of {offer.package} {offer.version}".rstrip())
    for verdict in examination.checks:
        why = f"  {verdict.reason}" if verdict.reason else ""
        out.line(f"{verdict.result:4}  {verdict.check} ({verdict.seconds:.2f} s){why}")
    if examination.timings:
        write("")
        heads = tuple(examination.timings[0])
        out.table(([t.get(head) for head in heads] for t in examination.timings), heads)
    if examination.leaderboard:
        write("")
        heads = ("name", "nmi_en", "f1_en", "nmi_fr", "f1_fr", "f1", "seconds", "error")
        board = [[row.get(head) for head in heads] for row in examination.leaderboard]
        for line in board:
            line[0] = f"> {line[0]}" if line[0] == offer.name else f"  {line[0]}"
        out.table(board, heads, cut=("error",))
    passed = sum(verdict.result == "ok" for verdict in examination.checks)
    write(f"{passed} of {len(examination.checks)} checks passed")

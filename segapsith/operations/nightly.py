"""The night: a line of steps over one store, each ending by itself, and a line about all of them.

A step that fails does not undo those before it, and those behind it that do not need it are still
done. What a night missed is made good by the next: feeds bring what they still have, and the
entries of the inbox are ingested in the order of their names, each as a run of its own.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segapsith.api.wire import KeyedItems, Wire
from segapsith.engine.runs import RunSummary
from segapsith.errors import MissingInputError, SegapsithError, ValidationBelowError, worst
from segapsith.io.inputs import Inputs
from segapsith.operations import backups as rotation
from segapsith.operations import feeds
from segapsith.operations.alarms import Alarm, Figures, alarms, merged
from segapsith.plugin.contracts import Source
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store import Store
from segapsith_store.queries import news, nights, subscriptions, topics
from segapsith_store.seal import kept, seal

__all__ = ["LINE", "Ended", "Night", "Outcome", "Step", "backups", "reports", "run_night"]

log = logging.getLogger("segapsith.operations.nightly")
log.addHandler(logging.NullHandler())  # who runs this from Python decides what is heard

LONGEST_REASON = 300


@dataclass(slots=True)
class Outcome:
    """What a step did: for people, for programs, and what went wrong without ending it."""

    line: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    failures: list[SegapsithError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the night, and the steps without which it cannot be done."""

    name: str
    work: Callable[[Night], Outcome]
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Ended:
    """How a step ended: done, failed or skipped."""

    step: str
    status: str
    code: int = 0
    error: str = ""
    seconds: float = 0.0
    line: str = ""
    result: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "line"}


class Night:
    """One night: what its steps share, and what came of them."""

    def __init__(
        self,
        wire: Wire,
        *,
        now: Callable[[], str] = subscriptions.moment,
        strict: bool = False,
        everything: bool = False,
        name: str = "",
        watch: Callable[[str], None] | None = None,
    ) -> None:
        self.wire, self.now, self.strict, self.everything = wire, now, strict, everything
        self.started_at = now()
        self.date = self.started_at[:10]
        self.name = name or f"night {self.date}"
        self.number = 0
        """Of its row in the store; 0 while the store is not ours."""
        self.first_run = 0
        """The last run before it."""
        self.feeds: dict[str, int] = {}
        """New stories by feed, of the feeds that answered."""
        self.kappa: float | None = None
        self.figures = Figures(self.date)
        self.alarms: list[Alarm] = []
        self.missed = 0
        self.ended: list[Ended] = []
        self._watch = watch
        self._courier: feeds.FeedFetcher | None = None

    @property
    def messenger(self) -> feeds.FeedFetcher:
        if self._courier is None:
            self._courier = feeds.FeedFetcher(
                self.wire.settings, lambda: self.wire.writer, now=self.now
            )
        return self._courier

    def sources(self) -> dict[str, Source]:
        registry = self.wire.registry
        return {name: registry.make("source", name) for name in registry.names("source")}

    def saw(self, summary: RunSummary) -> None:
        """A batch is in the store."""
        log.debug("batch stored", extra={"facts": summary.as_json()})
        if self._watch is not None:
            self._watch(f"{summary.read:,} read, {summary.new:,} new")

    @property
    def code(self) -> int:
        """The exit code of the worst step, alarms among them."""
        codes = {ended.code for ended in self.ended}
        if any(alarm.grave or self.strict for alarm in self.alarms):
            codes.add(ValidationBelowError.exit_code)
        return worst(codes)

    @property
    def line(self) -> str:
        """All of it in one line, for a mail."""
        failed = [ended for ended in self.ended if ended.code]
        word = f"FAILED ({self.code})" if self.code else "warning" if self.alarms else "ok"
        parts = [f"{self.missed} nights missed before"] if self.missed else []
        parts += [ended.line for ended in self.ended if ended.line]
        parts += [f"{ended.step} failed: {ended.error[:LONGEST_REASON]}" for ended in failed]
        parts += [f"ALARM {alarm.name}: {alarm.reason} ({alarm.look})" for alarm in self.alarms]
        return " ".join(f"segapsith {self.date}: {word}; {'; '.join(parts)}".split())

    def as_json(self) -> dict[str, Any]:
        return {
            "night": self.date,
            "started_at": self.started_at,
            "code": self.code,
            "missed": self.missed,
            "steps": [ended.as_json() for ended in self.ended],
            "figures": self.figures.as_json(),
            "alarms": [alarm.as_json() for alarm in self.alarms],
            "line": self.line,
        }

    def write_down(self) -> None:
        """Keeps how the night went so far."""
        if self.number:
            nights.end(
                self.wire.writer, self.number, self.now(), self.code, self.line,
                self.figures.as_json(), self.as_json(),
            )  # fmt: skip


# -- the steps -----------------------------------------------------------------------------------


def _store(night: Night) -> Outcome:
    """Asks the feeds, then takes the lock, and counts the nights that were missed."""
    if os.path.exists(night.wire.path):
        feeds.ask_ahead(night.wire, night.messenger, night.sources(), everything=night.everything)
    store = night.wire.writer
    before = nights.listed(store, 1)
    if before:
        last = datetime.date.fromisoformat(before[0].night)
        night.missed = max(0, (datetime.date.fromisoformat(night.date) - last).days - 1)
    night.first_run = nights.last_run(store)
    night.number = nights.begin(store, night.date, night.started_at)
    cut = bool(before and before[0].finished_at is None)
    return Outcome(
        "the last night was cut short" if cut else "",
        {"after_a_cut": cut, "first_run": night.first_run},
    )


def _inbox(night: Night) -> Outcome:
    """Ingests what lies in the inbox and was not read before, in the order of names."""
    folder = str(night.wire.settings["inbox"])
    if not folder:
        return Outcome()
    if not os.path.isdir(folder):
        raise MissingInputError(f"the inbox {folder} is not a directory")
    outcome = Outcome(result={"deliveries": []})
    sources = night.sources()
    warnings: list[str] = []
    for entry in sorted(Path(folder).iterdir(), key=lambda path: path.name):
        if entry.name.startswith(".") or entry.suffix in (".part", ".tmp") or entry.is_symlink():
            continue
        key = _key(entry)
        if nights.delivered(night.wire.writer, key):
            continue
        inputs = Inputs([str(entry)], sources, follow=night.messenger.follower())
        summary = night.wire.ingest(
            KeyedItems(key, inputs.items()), name=f"inbox {entry.name}", watch=night.saw
        )
        if inputs.failures:  # the next night tries again
            night.wire.writer.mark_failed(summary.run)
            outcome.failures += inputs.failures
        outcome.result["deliveries"].append({"name": entry.name, **summary.as_json()})
        warnings += [f"{entry.name}: {summary.apart}"] if summary.apart else []
    done = len(outcome.result["deliveries"])
    read = [f"{done} deliver{'y' if done == 1 else 'ies'} of the inbox"] if done else []
    outcome.line = "; ".join([*read, *warnings])
    return outcome


def _key(entry: Path) -> str:
    """A delivery by its names, sizes and times: one that grew since is read again."""
    files = sorted(p for p in entry.rglob("*") if p.is_file()) if entry.is_dir() else [entry]
    facts = [
        (path.relative_to(entry.parent).as_posix(), found.st_size, found.st_mtime_ns)
        for path in files
        for found in [path.stat()]
    ]
    content = repr((entry.name, facts)).encode("utf-8", "surrogateescape")
    return "inbox " + hashlib.sha256(content).hexdigest()[:16]


def _feeds(night: Night) -> Outcome:
    """Reads the subscriptions that are due."""
    summary, reports = feeds.update(
        night.wire,
        night.messenger,
        night.sources(),
        everything=night.everything,
        name=night.name,
        watch=night.saw,
    )
    answered = [report for report in reports if report.status in ("read", "unchanged")]
    night.feeds = {report.url: report.counts.get("new", 0) for report in answered}
    failures = [report.failure for report in reports if report.failure is not None]
    bad = f" ({len(failures)} failed)" if failures else ""
    asked = [f"{len(reports)} feed{'' if len(reports) == 1 else 's'}{bad}"] if reports else []
    return Outcome(
        "; ".join([*asked, summary.apart] if summary.apart else asked),
        {**summary.as_json(), "feeds": [report.as_json() for report in reports]},
        failures,
    )


def _refine(night: Night) -> Outcome:
    """Places units again, if that is wanted."""
    passes = int(night.wire.settings["refine"])
    if not passes:
        return Outcome()
    found = night.wire.refine(passes)
    return Outcome(f"{found['moved']} units moved" if found["moved"] else "", found)


def _consolidate(night: Night) -> Outcome:
    """Merges domains that turned out to be nearly the same."""
    if not float(night.wire.settings["consolidate"]):
        return Outcome()
    found = night.wire.consolidate(since=_narrowed(night))
    told = {name: found[name] for name in ("run", "domains", "merged")}
    return Outcome(f"{found['merged']} domains merged" if found["merged"] else "", told)


def _narrow(night: Night) -> Outcome:
    """Splits domains that turned out to be several subjects; other measures have other scales."""
    settings = night.wire.settings
    if not (
        settings["narrowing"]
        and float(settings["narrow"])
        and settings["placement"] == BUILT_IN_PLACEMENT
    ):
        return Outcome()
    found = night.wire.narrow(after=_narrowed(night))
    kept = {name: found[name] for name in ("run", "domains", "split")}
    kept["up_to"] = nights.last_run(night.wire.writer)
    return Outcome(f"{found['split']} domains split" if found["split"] else "", kept)


def _narrowed(night: Night) -> int:
    """The run up to which an earlier night has looked for broad domains; 0 if none has."""
    steps = [
        step for one in nights.listed(night.wire.writer, 30) for step in one.result.get("steps", [])
    ]
    looked = (s["result"].get("up_to", 0) for s in steps if s["step"] == "narrow")
    return next((run for run in looked if run), 0)


def _adopt(night: Night) -> Outcome:
    """Lets units find the stable domain that they belong to."""
    settings = night.wire.settings
    if not (
        settings["narrowing"]
        and float(settings["adopt"])
        and settings["placement"] == BUILT_IN_PLACEMENT
    ):
        return Outcome()
    found = night.wire.adopt()
    return Outcome(f"{found['moved']} units adopted" if found["moved"] else "", found)


def _topics(night: Night) -> Outcome:
    """Groups the domains into topics; without a new or changed domain it only reads."""
    night.wire.topics(limit=0)  # to describe them all would take as long as to make them
    found = len(set(night.wire.read(topics.members).values()))
    return Outcome(f"{found} topics" if found else "", {"topics": found})


def _validate(night: Night) -> Outcome:
    """Measures the domains against a clustering of the same units, those of the newest stories."""
    result = night.wire.validate(last=int(night.wire.settings["validate_last"]))
    night.kappa = result["kappa"]["greedy"]
    told = {name: result[name] for name in ("run", "units", "share", "domains", "clusters")}
    told |= {"kappa": result["kappa"], "ari": result["ari"], "nmi": result["nmi"]}
    line = "no stable domain yet" if night.kappa is None else f"kappa {night.kappa:.3f}"
    return Outcome(line, told)


def _alarms(night: Night) -> Outcome:
    """Compares this night with those before, keeps what it was judged by, and seals the store."""
    store = night.wire.writer
    new, copies, languages = nights.arrivals(store, night.first_run)
    joined, created = nights.placed(store, night.first_run)
    night.figures = Figures(
        night.date, new, copies, joined, created, night.kappa, languages, night.feeds
    )
    past = [
        Figures.of(past_night.figures)
        for past_night in reversed(nights.listed(store))
        if past_night.figures and past_night.id != night.number
    ]
    by_date = merged([*past, night.figures])
    began_after = _began_after(night, store)
    night.alarms = alarms(by_date[-1], by_date[:-1], night.wire.path, after_run=began_after)
    night.write_down()  # before the backup, which then knows this night
    seal(store)  # before the report, which then need not compute the digest
    units = news.arrived(store, night.first_run).n_units
    founded = news.new_domains(store, night.first_run)
    line = (
        f"{new} new ({units} unit{'' if units == 1 else 's'}), {copies} copies,"
        f" {founded} new domain{'' if founded == 1 else 's'}"
    )
    return Outcome(line, {"alarms": len(night.alarms), "units": units, "new_domains": founded})


def _began_after(night: Night, store: Store) -> int:
    """The last run before this date's first night: what was run twice in a night is one night."""
    runs = [night.first_run]
    for past in nights.listed(store, 30):
        if past.night != night.date:
            continue
        steps = past.result.get("steps", [])
        runs += [s["result"]["first_run"] for s in steps if "first_run" in s.get("result", {})]
    return min(runs)


def _report(night: Night) -> Outcome:
    """Writes the report of the night, and lets old ones go."""
    shelf = reports(night.wire)
    since = None
    if night.number:  # without the lock nothing was read tonight: the last run is the news
        since = night.wire.read(lambda store: _began_after(night, store))
    path = shelf.write(night.date, night.wire.report(since=since))
    gone = shelf.rotate(int(night.wire.settings["keep_reports"]))
    return Outcome(f"report {path.name}", {"file": str(path), "removed": gone})


def _backup(night: Night) -> Outcome:
    """Copies the store with its seal, proves the copy, and lets old ones go."""
    shelf = backups(night.wire)
    wanted = (kept(night.wire.writer) or seal(night.wire.writer)) if night.number else None

    def copied(store: Store) -> dict[str, Any]:
        return rotation.back_up(store, shelf, night.date, wanted)

    result = night.wire.read(copied)
    settings = night.wire.settings
    gone = shelf.rotate(int(settings["keep_daily"]), int(settings["keep_weekly"]))
    return Outcome(f"backup {Path(result['file']).name}", {**result, "removed": gone})


def reports(wire: Wire) -> rotation.Dated:
    """Where the reports of a store's nights are."""
    return rotation.Dated(_beside(wire, "reports"), "report", ".html")


def backups(wire: Wire) -> rotation.Dated:
    """Where the backups of a store's nights are."""
    path = Path(wire.path)
    return rotation.Dated(_beside(wire, "backups"), path.stem, path.suffix or ".db")


def _beside(wire: Wire, setting: str) -> Path:
    said = str(wire.settings[setting])
    return Path(said) if said else Path(wire.path).with_suffix(f".{setting}")


LINE: tuple[Step, ...] = (
    Step("store", _store),
    Step("inbox", _inbox, needs=("store",)),
    Step("feeds", _feeds, needs=("store",)),
    Step("refine", _refine, needs=("store",)),
    Step("consolidate", _consolidate, needs=("store",)),
    Step("narrow", _narrow, needs=("store",)),
    Step("adopt", _adopt, needs=("store",)),
    Step("topics", _topics, needs=("store",)),
    Step("validate", _validate, needs=("store",)),
    Step("alarms", _alarms, needs=("store",)),
    Step("report", _report),
    Step("backup", _backup),
)
"""The night, step by step. Reports and backups need no lock: they are made in any case."""


# -- running them --------------------------------------------------------------------------------


def run_night(night: Night, line: Sequence[Step] = LINE) -> Night:
    """Does every step that can be done; a signal ends the night where it is."""
    status: dict[str, str] = {}
    for step in line:
        missing = [name for name in step.needs if status.get(name) != "done"]
        ended = _skipped(step, missing) if missing else _ended(step, night)
        status[step.name] = ended.status
        night.ended.append(ended)
        log.log(
            logging.WARNING if ended.code else logging.INFO,
            "step %s: %s", step.name, ended.error or ended.line or ended.status,
            extra={"facts": ended.as_json()},
        )  # fmt: skip
    try:
        night.write_down()
    except SegapsithError as error:  # a full disk: the mail still says what was done
        night.ended.append(Ended("log", "failed", error.exit_code, str(error)))
    return night


def _skipped(step: Step, missing: Sequence[str]) -> Ended:
    return Ended(step.name, "skipped", result={"needs": list(missing)})


def _ended(step: Step, night: Night) -> Ended:
    began = time.monotonic()
    try:
        outcome = step.work(night)
    except SegapsithError as error:
        ended = Ended(step.name, "failed", error.exit_code, str(error))
    except PermissionError as error:
        ended = Ended(step.name, "failed", 77, str(error))
    except (OSError, MemoryError) as error:
        ended = Ended(step.name, "failed", 74, str(error) or "out of memory")
    except Exception as error:
        log.debug("step %s", step.name, exc_info=error)
        text = f"this should not happen: {type(error).__name__}: {error}"
        ended = Ended(step.name, "failed", 1, text)
    else:
        code = worst({failure.exit_code for failure in outcome.failures})
        reasons = "; ".join(str(failure) for failure in outcome.failures)
        ended = Ended(step.name, "done", code, reasons, 0.0, outcome.line, outcome.result)
    ended.seconds = round(time.monotonic() - began, 3)
    return ended

"""The nightly run: a list of steps over one store, each independent, and a summary line.

A step that fails does not undo the steps before it, and the steps after it that do not need it
still run. The next night makes up for what one missed: feeds bring what they still show, and the
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

from segapsith.api.maintenance import is_nightly
from segapsith.api.wire import KeyedItems, Wire
from segapsith.engine.runs import RunSummary
from segapsith.errors import MissingInputError, SegapsithError, ValidationBelowError, worst
from segapsith.io.inputs import Inputs
from segapsith.model import Notice
from segapsith.operations import feeds, notifications
from segapsith.operations.alarms import Alarm, Figures, alarms, merged
from segapsith.operations.backups import DatedFiles, back_up
from segapsith.plugin.contracts import Source
from segapsith_store import Store
from segapsith_store.notifications import Queued
from segapsith_store.queries import nights, subscriptions, topics
from segapsith_store.queries.news import (
    Highlight,
    Highlights,
    count_new_domains,
    read_arrivals,
    read_highlights,
)
from segapsith_store.seal import seal, sealed_digest

__all__ = [
    "STEPS",
    "NightlyRun",
    "Outcome",
    "Step",
    "StepRecord",
    "backup_files",
    "report_files",
    "run_night",
]

log = logging.getLogger("segapsith.operations.nightly")
log.addHandler(logging.NullHandler())  # a program that calls this decides what is printed

NAMED, MAX_HEADLINE_CHARS = 3, 80
"""New and rising domains that the summary line names, and characters of their headlines."""

MAX_FAILURE_CHARS = 2000
"""Characters of the errors in the notice of a failed night."""

MAX_REASON_CHARS = 300
"""Characters of an error in the summary line."""


@dataclass(slots=True)
class Outcome:
    """What a step did: its part of the summary line, its JSON, and errors that did not end it."""

    line: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    failures: list[SegapsithError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the nightly run, and the steps that must be done before it."""

    name: str
    work: Callable[[NightlyRun], Outcome]
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class StepRecord:
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


class NightlyRun:
    """One night: what its steps share, and how they ended."""

    def __init__(
        self,
        wire: Wire,
        *,
        now: Callable[[], str] = subscriptions.moment,
        strict: bool = False,
        everything: bool = False,
        name: str = "",
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self.wire, self.now, self.strict, self.everything = wire, now, strict, everything
        self.started_at = now()
        self.date = self.started_at[:10]
        self.name = name or f"night {self.date}"
        self.id = 0
        """The id of its row in the store; 0 until the store is locked."""
        self.previous_run = 0
        """The last run before this night."""
        self.last_run = 0
        """The last run of this night so far."""
        self.highlights = Highlights([], [])
        """What is new and rising."""
        self.new_by_feed: dict[str, int] = {}
        """Number of new stories of each feed that answered."""
        self.kappa: float | None = None
        self.figures = Figures(self.date)
        self.alarms: list[Alarm] = []
        self.notices: list[Queued] = []
        """What the night reports, for each target."""
        self.notified_run = 0
        """The last run that earlier nights have reported."""
        self.missed = 0
        """Number of nights without a run before this one."""
        self.steps: list[StepRecord] = []
        self._on_progress = on_progress
        self._fetcher: feeds.FeedFetcher | None = None

    @property
    def fetcher(self) -> feeds.FeedFetcher:
        """The fetcher that the steps share: what one prefetches, another stores."""
        if self._fetcher is None:
            self._fetcher = feeds.FeedFetcher(
                self.wire.settings, lambda: self.wire.writer, now=self.now
            )
        return self._fetcher

    def sources(self) -> dict[str, Source]:
        """Return every installed source, by name."""
        registry = self.wire.registry
        return {name: registry.make("source", name) for name in registry.names("source")}

    def report_batch(self, summary: RunSummary) -> None:
        """Log a stored batch and report the progress."""
        log.debug("batch stored", extra={"facts": summary.as_json()})
        if self._on_progress is not None:
            self._on_progress(f"{summary.read:,} read, {summary.new:,} new")

    @property
    def code(self) -> int:
        """The exit code of the worst step or alarm."""
        codes = {record.code for record in self.steps}
        if any(alarm.grave or self.strict for alarm in self.alarms):
            codes.add(ValidationBelowError.exit_code)
        return worst(codes)

    @property
    def line(self) -> str:
        """The whole night in one line, for a mail."""
        failed = [record for record in self.steps if record.code]
        word = f"FAILED ({self.code})" if self.code else "warning" if self.alarms else "ok"
        parts = [f"{self.missed} nights missed before"] if self.missed else []
        parts += [record.line for record in self.steps if record.line]
        parts += [f"{record.step} failed: {record.error[:MAX_REASON_CHARS]}" for record in failed]
        parts += [f"ALARM {alarm.name}: {alarm.reason} ({alarm.look})" for alarm in self.alarms]
        return " ".join(f"segapsith {self.date}: {word}; {'; '.join(parts)}".split())

    def as_json(self) -> dict[str, Any]:
        return {
            "night": self.date,
            "started_at": self.started_at,
            "code": self.code,
            "missed": self.missed,
            "last_run": self.last_run,
            **self.highlights.as_json(),
            "steps": [record.as_json() for record in self.steps],
            "figures": self.figures.as_json(),
            "alarms": [alarm.as_json() for alarm in self.alarms],
            "line": self.line,
        }

    def store_record(self) -> None:
        """Store how the night went so far."""
        if self.id:
            self.last_run = nights.last_run(self.wire.writer)
            nights.end(
                self.wire.writer, self.id, self.now(), self.code, self.line,
                self.figures.as_json(), self.as_json(), self.notices,
            )  # fmt: skip


# -- the steps -----------------------------------------------------------------------------------


def _fetch(night: NightlyRun) -> Outcome:
    """Request the feeds that are due, before the store is locked."""
    if os.path.exists(night.wire.path):
        feeds.prefetch_due(night.wire, night.fetcher, night.sources(), everything=night.everything)
    return Outcome()


def _open(night: NightlyRun) -> Outcome:
    """Lock the store, record the start of the night, and count the nights that were missed."""
    store = night.wire.writer
    last = next(iter(nights.listed(store, 1)), None)
    if last is not None:
        days = datetime.date.fromisoformat(night.date) - datetime.date.fromisoformat(last.night)
        night.missed = max(0, days.days - 1)
    night.previous_run = nights.last_run(store)
    night.notified_run = notifications.notified_run(store, night.previous_run)
    night.id = nights.begin(store, night.date, night.started_at)
    interrupted = last is not None and last.finished_at is None
    return Outcome(
        "the last night was cut short" if interrupted else "",
        {"after_a_cut": interrupted, "previous_run": night.previous_run},
    )


def _inbox(night: NightlyRun) -> Outcome:
    """Ingest the entries of the inbox that are new, in the order of their names."""
    folder = night.wire.settings.nightly.inbox
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
        key = _delivery_key(entry)
        if nights.delivered(night.wire.writer, key):
            continue
        inputs = Inputs([str(entry)], sources, follow=night.fetcher.full_text())
        summary = night.wire.ingest(
            KeyedItems(key, inputs.items()), name=f"inbox {entry.name}", on_batch=night.report_batch
        )
        if inputs.failures:  # the next night tries again
            night.wire.writer.mark_failed(summary.run)
            outcome.failures += inputs.failures
        outcome.result["deliveries"].append({"name": entry.name, **summary.as_json()})
        warnings += [f"{entry.name}: {summary.apart}"] if summary.apart else []
    n_read = len(outcome.result["deliveries"])
    counted = [f"{n_read} deliver{'y' if n_read == 1 else 'ies'} of the inbox"] if n_read else []
    outcome.line = "; ".join([*counted, *warnings])
    return outcome


def _delivery_key(entry: Path) -> str:
    """Return a key made of the names, sizes and times of a delivery: one that grew is read again."""
    files = sorted(p for p in entry.rglob("*") if p.is_file()) if entry.is_dir() else [entry]
    facts = [
        (path.relative_to(entry.parent).as_posix(), status.st_size, status.st_mtime_ns)
        for path in files
        for status in [path.stat()]
    ]
    content = repr((entry.name, facts)).encode("utf-8", "surrogateescape")
    return "inbox " + hashlib.sha256(content).hexdigest()[:16]


def _feeds(night: NightlyRun) -> Outcome:
    """Store the feeds that are due."""
    updated = feeds.update(
        night.wire,
        night.fetcher,
        night.sources(),
        everything=night.everything,
        name=night.name,
        on_batch=night.report_batch,
    )
    answered = [report for report in updated.reports if report.status in ("read", "unchanged")]
    night.new_by_feed = {report.url: report.counts.get("new", 0) for report in answered}
    n_feeds, n_failed = len(updated.reports), len(updated.failures)
    parts = [f"{n_feeds} feed{'' if n_feeds == 1 else 's'}"] if n_feeds else []
    if n_failed:
        parts[0] += f" ({n_failed} failed)"
    if updated.summary.apart:
        parts.append(updated.summary.apart)
    return Outcome("; ".join(parts), updated.as_json(), updated.failures)


def _refine(night: NightlyRun) -> Outcome:
    """Place units again, if `refine` is set."""
    passes = night.wire.settings.maintenance.refine_passes
    if not passes:
        return Outcome()
    refined = night.wire.domains.refine(passes)
    return Outcome(_numbered(refined["moved"], "unit", "moved"), refined.as_json())


def _merge(night: NightlyRun) -> Outcome:
    """Merge domains that are nearly the same."""
    if not night.wire.settings.maintenance.merge_similarity:
        return Outcome()
    merges = night.wire.domains.merge_similar(since=_last_checked_run(night))
    result = {name: merges[name] for name in ("run", "domains", "merged")}
    return Outcome(_numbered(merges["merged"], "domain", "merged"), result)


def _split(night: NightlyRun) -> Outcome:
    """Split domains that have several subjects."""
    if not is_nightly(night.wire.settings, "split"):
        return Outcome()
    splits = night.wire.domains.split_broad(after=_last_checked_run(night))
    result = {name: splits[name] for name in ("run", "domains", "split")}
    result["up_to"] = nights.last_run(night.wire.writer)
    return Outcome(_numbered(splits["split"], "domain", "split"), result)


def _numbered(count: int, noun: str, done: str = "") -> str:
    """Return a count with its noun and what was done; empty for none.

    >>> _numbered(1, "domain", "merged"), _numbered(2, "topic"), _numbered(0, "unit")
    ('1 domain merged', '2 topics', '')
    """
    return f"{count} {noun}{'s' * (count != 1)} {done}".rstrip() if count else ""


def _last_checked_run(night: NightlyRun) -> int:
    """Return the last run whose domains an earlier night checked for splitting, or 0."""
    return next((run for _, run in nights.step_numbers(night.wire.writer, "up_to") if run), 0)


def _reassign(night: NightlyRun) -> Outcome:
    """Move units to the nearest stable domain."""
    if not is_nightly(night.wire.settings, "reassign"):
        return Outcome()
    moves = night.wire.domains.reassign()
    return Outcome(_numbered(moves["moved"], "unit", "reassigned"), moves.as_json())


def _topics(night: NightlyRun) -> Outcome:
    """Group the domains into topics; without a new or changed domain this only reads."""
    night.wire.topics(limit=0)  # describing all topics would take as long as making them
    n_topics = len(set(night.wire.read(topics.topic_of_domain).values()))
    return Outcome(_numbered(n_topics, "topic"), {"topics": n_topics})


def _sections(night: NightlyRun) -> Outcome:
    """Group the topics into sections; without a changed topic or domain this only reads."""
    night.wire.sections.regroup()
    n_sections = len(set(night.wire.read(topics.section_of_topic).values()))
    return Outcome(_numbered(n_sections, "section"), {"sections": n_sections})


def _validate(night: NightlyRun) -> Outcome:
    """Compare the domains of the newest stories with a clustering of the same units."""
    validation = night.wire.validate(last=night.wire.settings.validation.last)
    night.kappa = validation["kappa"]["greedy"]
    names = ("run", "units", "share", "domains", "clusters", "kappa", "ari", "nmi")
    line = "no stable domain yet" if night.kappa is None else f"kappa {night.kappa:.3f}"
    figures = validation.as_json()
    return Outcome(line, {name: figures[name] for name in names})


def _alarms(night: NightlyRun) -> Outcome:
    """Count what arrived and compare this night with the nights before it."""
    store = night.wire.writer
    new, copies, languages = nights.arrivals(store, night.previous_run)
    joined, created = nights.placed(store, night.previous_run)
    night.figures = Figures(
        night.date, new, copies, joined, created, night.kappa, languages, night.new_by_feed
    )
    past = [
        Figures.of(record.figures)
        for record in reversed(nights.listed(store))
        if record.figures and record.id != night.id
    ]
    *before, tonight = merged([*past, night.figures])
    night.alarms = alarms(
        tonight, before, night.wire.path, after_run=_run_before_date(night, store)
    )
    units = read_arrivals(store, night.previous_run).n_units
    n_domains = count_new_domains(store, night.previous_run)
    line = (
        f"{new} new ({units} unit{'' if units == 1 else 's'}), {copies} cop{'y' if copies == 1 else 'ies'},"
        f" {n_domains} new domain{'' if n_domains == 1 else 's'}"
    )
    night.highlights = night.wire.read(lambda s: read_highlights(s, night.previous_run))
    line += _told("new", night.highlights.new) + _told("rising", night.highlights.rising)
    occasion = notifications.Occasion(
        night.date, night.started_at, night.notified_run, night.alarms
    )
    night.notices, failures = notifications.collect(night.wire, occasion)
    figures = {"alarms": len(night.alarms), "units": units, "new_domains": n_domains}
    return Outcome(line, figures, failures)


def _told(kind: str, domains: Sequence[Highlight]) -> str:
    """Return domains as part of the line: headline, words and units of the first ones."""
    named = [
        f"“{one.headline[:MAX_HEADLINE_CHARS]}” ({', '.join(one.words[:3])}; {one.units} units)"
        for one in domains[:NAMED]
    ]
    return f"; {kind}: {', '.join(named)}" if named else ""


def _run_before_date(night: NightlyRun, store: Store) -> int:
    """Return the last run before the first night of this date: two nights of a date count as one."""
    earlier = nights.step_numbers(store, "previous_run", "first_run")  # in older records
    return min([night.previous_run, *(run for date, run in earlier if date == night.date)])


def _journal(night: NightlyRun) -> Outcome:
    """Store the record of the night so far, so that the backup contains it."""
    night.store_record()
    return Outcome()


def _seal(night: NightlyRun) -> Outcome:
    """Seal the store before the report, which then need not compute the digest."""
    return Outcome(result={"digest": seal(night.wire.writer)})


def _report(night: NightlyRun) -> Outcome:
    """Write the report of the night and delete old reports."""
    files = report_files(night.wire)
    since = None
    if night.id:  # without the lock nothing arrived tonight, so the report is about the last run
        since = night.wire.read(lambda store: _run_before_date(night, store))
    path = files.write(night.date, night.wire.report(since=since))
    removed = files.rotate(night.wire.settings.nightly.keep_reports)
    return Outcome(f"report {path.name}", {"file": str(path), "removed": removed})


def _backup(night: NightlyRun) -> Outcome:
    """Copy the store with its seal, check the copy, and delete old backups."""
    files = backup_files(night.wire)
    digest = (sealed_digest(night.wire.writer) or seal(night.wire.writer)) if night.id else None
    backup = night.wire.read(lambda store: back_up(store, files, night.date, digest=digest))
    settings = night.wire.settings
    removed = files.rotate(settings.nightly.keep_daily, settings.nightly.keep_weekly)
    return Outcome(f"backup {backup.path.name}", {**backup.as_json(), "removed": removed})


def _notify(night: NightlyRun) -> Outcome:
    """Queue what failed so far, and send what waits."""
    targets = night.wire.settings.notify
    if not targets:
        return Outcome()
    if night.code:
        failed = [f"{record.step}: {record.error}" for record in night.steps if record.error]
        notice = Notice(
            f"failure/{night.id}",
            "failure",
            f"The night of {night.date} failed with code {night.code}",
            "\n".join(failed)[:MAX_FAILURE_CHARS],
            night.started_at,
            {"code": night.code},
        )
        night.notices += notifications.failure_notice(targets, notice)
    night.store_record()
    done = notifications.deliver(night.wire, night.now)
    n_sent = sum(done.sent.values())
    line = f"{n_sent} notice{'' if n_sent == 1 else 's'} sent" if n_sent else ""
    return Outcome(line, {"sent": done.sent}, done.failures)


def report_files(wire: Wire) -> DatedFiles:
    """Return where the reports of the nights are written."""
    return DatedFiles(_folder(wire, wire.settings.nightly.reports, ".reports"), "report", ".html")


def backup_files(wire: Wire) -> DatedFiles:
    """Return where the backups of the nights are written."""
    path = Path(wire.path)
    return DatedFiles(
        _folder(wire, wire.settings.nightly.backups, ".backups"), path.stem, path.suffix or ".db"
    )


def _folder(wire: Wire, folder: str, suffix: str) -> Path:
    """Return the directory that is set, or the default one beside the store."""
    return Path(folder) if folder else Path(wire.path).with_suffix(suffix)


STEPS: tuple[Step, ...] = (
    Step("fetch", _fetch),
    Step("open", _open),
    Step("inbox", _inbox, needs=("open",)),
    Step("feeds", _feeds, needs=("open",)),
    Step("refine", _refine, needs=("open",)),
    Step("merge", _merge, needs=("open",)),
    Step("split", _split, needs=("open",)),
    Step("reassign", _reassign, needs=("open",)),
    Step("topics", _topics, needs=("open",)),
    Step("sections", _sections, needs=("open", "topics")),
    Step("validate", _validate, needs=("open",)),
    Step("alarms", _alarms, needs=("open",)),
    Step("journal", _journal, needs=("open",)),
    Step("seal", _seal, needs=("open",)),
    Step("report", _report),
    Step("backup", _backup),
    Step("notify", _notify, needs=("open",)),
)
"""The steps of the nightly run, in order. Report and backup need no lock: they always run."""


# -- running them --------------------------------------------------------------------------------


def run_night(night: NightlyRun, steps: Sequence[Step] = STEPS) -> NightlyRun:
    """Run every step whose needs are done; a signal ends the night where it is."""
    status: dict[str, str] = {}
    for step in steps:
        missing = [name for name in step.needs if status.get(name) != "done"]
        record = _skipped(step, missing) if missing else _run_step(step, night)
        status[step.name] = record.status
        night.steps.append(record)
        log.log(
            logging.WARNING if record.code else logging.INFO,
            "step %s: %s", step.name, record.error or record.line or record.status,
            extra={"facts": record.as_json()},
        )  # fmt: skip
    try:
        night.store_record()
    except SegapsithError as error:  # a full disk: the mail still reports what was done
        night.steps.append(StepRecord("journal", "failed", error.exit_code, str(error)))
    return night


def _skipped(step: Step, missing: Sequence[str]) -> StepRecord:
    return StepRecord(step.name, "skipped", result={"needs": list(missing)})


def _run_step(step: Step, night: NightlyRun) -> StepRecord:
    began = time.monotonic()
    try:
        outcome = step.work(night)
    except SegapsithError as error:
        record = StepRecord(step.name, "failed", error.exit_code, str(error))
    except PermissionError as error:
        record = StepRecord(step.name, "failed", 77, str(error))
    except (OSError, MemoryError) as error:
        record = StepRecord(step.name, "failed", 74, str(error) or "out of memory")
    except Exception as error:
        log.debug("step %s", step.name, exc_info=error)
        text = f"this should not happen: {type(error).__name__}: {error}"
        record = StepRecord(step.name, "failed", 1, text)
    else:
        code = worst({failure.exit_code for failure in outcome.failures})
        reasons = "; ".join(str(failure) for failure in outcome.failures)
        record = StepRecord(step.name, "done", code, reasons, 0.0, outcome.line, outcome.result)
    record.seconds = round(time.monotonic() - began, 3)
    return record

"""Figures of a store and of its last night, in the text format that Prometheus reads."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from segapsith import __version__
from segapsith_store import Store
from segapsith_store.queries import nights, subscriptions
from segapsith_store.queries.nights import Night
from segapsith_store.queries.status import read_counts

__all__ = ["CONTENT_TYPE", "MIN_FAILURES", "metrics_text", "write_metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What Prometheus expects of an address that it reads."""

MIN_FAILURES = 3
"""Failures in a row at which a feed counts as failing."""

_COUNTED = {
    "documents": "Stories in the store, without duplicates.",
    "duplicates": "Documents that repeat a story.",
    "units": "Thematic units of the stories.",
    "domains": "Domains with units.",
    "stable_domains": "Domains with enough units to be stable.",
    "events": "Events with units.",
    "words": "Words that occur in stories.",
    "rejects": "Items that were rejected.",
    "runs": "Runs in the log.",
}


@dataclass(frozen=True, slots=True)
class _Gauge:
    """A figure: its name, its meaning, and a value for each label."""

    name: str
    about: str
    values: Mapping[str, float]
    label: str = ""
    """Name of the label whose values are the keys of `values`; empty if there is one value."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format.

        >>> list(_Gauge("stories", "Stories.", {"en": 3}, "lang").lines())[2]
        'segapsith_stories{lang="en"} 3'
        """
        yield f"# HELP segapsith_{self.name} {self.about}"
        yield f"# TYPE segapsith_{self.name} gauge"
        for key, value in self.values.items():
            label = f'{{{self.label}="{_escaped(key)}"}}' if self.label else ""
            number = int(value) if value == int(value) else value
            yield f"segapsith_{self.name}{label} {number}"


def _escaped(text: str) -> str:
    """
    >>> print(_escaped('a "b"'))
    a \\"b\\"
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def metrics_text(store: Store, *, stable: int) -> str:
    """Return the figures of a store and of its last night; a domain of `stable` units is stable.

    Every figure is a gauge: `forget` and `runs undo` can lower it.
    """
    with store.frozen():
        counts = read_counts(store, stable=stable)
        feeds = subscriptions.listed(store)
        last = next(iter(nights.listed(store, 1)), None)
    gauges = [
        _Gauge("build_info", "Version of the program.", {__version__: 1}, "version"),
        *(_Gauge(name, about, {"": counts[name]}) for name, about in _COUNTED.items()),
        _Gauge("feeds", "Subscribed feeds.", {"": len(feeds)}),
        _Gauge(
            "feeds_failing",
            f"Subscribed feeds that failed at least {MIN_FAILURES} times in a row.",
            {"": sum(feed.failures >= MIN_FAILURES for feed in feeds)},
        ),
        *([] if last is None else _of_night(last)),
    ]
    return "".join(f"{line}\n" for gauge in gauges for line in gauge.lines())


def _of_night(night: Night) -> Iterator[_Gauge]:
    """Yield the figures of a night; those that it did not reach are left out."""
    yield _Gauge(
        "night_started_timestamp_seconds", "When the last night began.",
        {"": _seconds(night.started_at)},
    )  # fmt: skip
    if night.finished_at is None:
        return
    figures = night.figures
    yield _Gauge(
        "night_finished_timestamp_seconds", "When the last night ended.",
        {"": _seconds(night.finished_at)},
    )  # fmt: skip
    yield _Gauge("night_exit_code", "Exit code of the last night.", {"": night.code or 0})
    yield _Gauge(
        "night_alarms", "Alarms of the last night.", {"": len(night.result.get("alarms", ()))}
    )
    for name, about in (
        ("new", "New stories of the last night."),
        ("copies", "Copies of other stories in the last night."),
        ("joined", "Units of the last night that joined a domain."),
        ("created", "Units of the last night that started a domain."),
        ("kappa", "Agreement with a recomputed clustering in the last night."),
    ):
        if figures.get(name) is not None:
            yield _Gauge(f"night_{name}", about, {"": figures[name]})
    if figures.get("languages"):
        about = "New stories of the last night by language."
        yield _Gauge("night_language_stories", about, figures["languages"], "lang")
    seconds = {step["step"]: step["seconds"] for step in night.result.get("steps", ())}
    yield _Gauge("night_step_seconds", "Duration of the steps of the last night.", seconds, "step")
    failed = {step["step"]: int(bool(step["code"])) for step in night.result.get("steps", ())}
    yield _Gauge("night_step_failed", "Whether a step of the last night failed.", failed, "step")


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment).timestamp()


def write_metrics(text: str, path: Path) -> None:
    """Write a file in one step: the collector of node_exporter may read it at any time."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)

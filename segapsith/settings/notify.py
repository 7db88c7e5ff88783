"""Where a night sends notifications: the tables `[[notify]]` of the configuration file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segapsith.errors import ConfigurationError, did_you_mean
from segapsith.settings.values import PluginValue

__all__ = ["NOTICE_KINDS", "NotifyTarget", "read_targets"]

NOTICE_KINDS = (
    "alarm", "failure", "new-section", "new-topic", "new-domain", "rising", "search",
)  # fmt: skip
"""What a night can report."""

DEFAULT_KINDS = ("alarm", "failure")


@dataclass(frozen=True, slots=True)
class NotifyTarget:
    """One target: its name, the notifier that sends, what it is sent, the notifier's settings."""

    name: str
    to: str
    on: tuple[str, ...] = DEFAULT_KINDS
    search: str = ""
    """Words of a saved search; stories of the night that have them are reported."""
    settings: Mapping[str, PluginValue] = field(default_factory=dict)

    def __str__(self) -> str:
        search = f" for {self.search!r}" if self.search else ""
        return f"{self.to} on {', '.join(self.on)}{search}"


def read_targets(tables: Any, where: str) -> tuple[NotifyTarget, ...]:
    """Return the targets of a file; raise `ConfigurationError` for one that cannot work.

    >>> read_targets([{"to": "atom", "path": "news.atom"}], "")[0].settings
    {'path': 'news.atom'}
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigurationError(f"{where}write [[notify]] with two brackets, once per target")
    targets = tuple(_target(table, where) for table in tables)
    names = [target.name for target in targets]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(
                f"{where}{names.count(name)} tables [[notify]] are called {name!r};"
                " give each a name of its own",
                setting="notify",
            )
    return targets


def _target(table: Mapping[str, Any], where: str) -> NotifyTarget:
    more = dict(table)
    to, search = more.pop("to", None), more.pop("search", "")
    if not isinstance(to, str) or not to:
        raise _wrong(where, "should have to = the name of a notifier, such as to = 'webhook'")
    name, on = more.pop("name", to), more.pop("on", list(DEFAULT_KINDS))
    if not isinstance(name, str) or not name or not isinstance(search, str):
        raise _wrong(where, "name and search should be texts")
    kinds = _kinds(on, where)
    if bool(search) != ("search" in kinds):
        raise _wrong(where, f"{name!r}: search = 'words' and on = ['search'] need each other")
    for key, value in more.items():
        if not isinstance(value, str | int | float | bool):
            raise _wrong(where, f"{name!r}: {key} should be a text, a number, true or false")
    return NotifyTarget(name, to, kinds, search, more)


def _kinds(on: Any, where: str) -> tuple[str, ...]:
    kinds: Sequence[Any] = [on] if isinstance(on, str) else on
    if not isinstance(kinds, list) or not kinds:
        raise _wrong(where, f"on should be a list of {', '.join(NOTICE_KINDS)}")
    for kind in kinds:
        if kind not in NOTICE_KINDS:
            hint = did_you_mean(str(kind), NOTICE_KINDS)
            raise _wrong(where, f"on: {kind!r} is not one of {', '.join(NOTICE_KINDS)}{hint}")
    return tuple(dict.fromkeys(kinds))


def _wrong(where: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"{where}[[notify]]: {what}", setting="notify")

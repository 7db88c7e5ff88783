"""What notifiers share: the heading and the text of several notices, their id, their secrets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from segapsith.errors import ConfigurationError
from segapsith.model import Notice

__all__ = ["delivery_id", "heading", "plain_text", "read_secret", "required"]

_NOUNS = {
    "alarm": ("alarm", "alarms"),
    "failure": ("failed night", "failed nights"),
    "new-section": ("new section", "new sections"),
    "new-topic": ("new topic", "new topics"),
    "new-domain": ("new domain", "new domains"),
    "rising": ("rising domain", "rising domains"),
    "search": ("saved search", "saved searches"),
    "test": ("test", "tests"),
}


def heading(notices: Sequence[Notice]) -> str:
    """Return one line on all notices: the title of a single one, else their numbers by kind.

    >>> heading([Notice("1", "alarm", "a", at="2026-03-02"), Notice("2", "rising", "b")])
    'segapsith 2026-03-02: 1 alarm, 1 rising domain'
    """
    if len(notices) == 1:
        return f"segapsith: {notices[0].title}"
    counts = Counter(notice.kind for notice in notices)
    parts = [f"{n} {_NOUNS.get(kind, (kind, kind))[n > 1]}" for kind, n in counts.items()]
    return f"segapsith {notices[0].at[:10]}: {', '.join(parts)}"


def plain_text(notices: Sequence[Notice]) -> str:
    """Return all notices, a paragraph each."""
    return "\n\n".join("\n".join(filter(None, [n.title, n.text])) for n in notices) + "\n"


def delivery_id(notices: Sequence[Notice]) -> str:
    """Return an id that is the same whenever the same notices are sent."""
    keys = "\n".join(notice.key for notice in notices)
    return hashlib.sha256(keys.encode()).hexdigest()[:32]


def read_secret(path: str) -> str:
    """Return the first line of a file that holds a secret."""
    try:
        lines = Path(path).expanduser().read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the file of a secret cannot be read: {error}") from error
    if not lines or not lines[0].strip():
        raise ConfigurationError(f"{path}: the first line should be the secret; it is empty")
    return lines[0].strip()


def required(notifier: str, **settings: str) -> None:
    """Raise an error that names the settings without a value."""
    missing = [name for name, value in settings.items() if not value]
    if missing:
        raise ConfigurationError(
            f"[[notify]] to = '{notifier}' needs {' and '.join(missing)}", setting=missing[0]
        )

"""Notices as an Atom feed in a file, for feed readers and web servers."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from segapsith.errors import DeliveryError
from segapsith.io.markup import xml_text
from segapsith.model import Notice
from segapsith.plugin.contracts import Notifier
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.notifiers._texts import required

__all__ = ["AtomFile"]

_ENTRY = re.compile(r"<entry><id>([^<]+)</id>.*<updated>([^<]+)</updated>.*</entry>")
"""An entry as this module writes it: one line, so that the file need not be parsed."""

_EPOCH = "1970-01-01T00:00:00+00:00"


class AtomFile:
    """Writes the newest notices to `path`, at most `most` of them; an id is never written twice."""

    def __init__(self, *, path: str = "", title: str = "SEGAPSITH", most: int = 100) -> None:
        if not 1 <= most <= 10_000:
            raise ValueError(f"most={most} should be in 1..10000")
        self._path, self._title, self._most = path, title, most

    def send(self, notices: Sequence[Notice]) -> None:
        """Add entries and replace the file in one step."""
        if not notices:
            return
        required("atom", path=self._path)
        path = Path(self._path).expanduser()
        try:
            entries = {
                match[1]: line
                for line in (path.read_text("utf-8").splitlines() if path.exists() else ())
                if (match := _ENTRY.fullmatch(line))
            }
            added = {_tag(notice.key): _entry(notice) for notice in notices}
            newest = [*added.values(), *(e for key, e in entries.items() if key not in added)]
            self._write(path, newest[: self._most])
        except (OSError, UnicodeDecodeError) as error:
            raise DeliveryError(f"{path}: {error}") from error

    def _write(self, path: Path, entries: Sequence[str]) -> None:
        moments = [match[2] for entry in entries if (match := _ENTRY.fullmatch(entry))]
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<feed xmlns="http://www.w3.org/2005/Atom">',
            f"<id>{_tag(str(path.absolute()))}</id>",
            f"<title>{xml_text(self._title)}</title>",
            f"<updated>{max(moments, default=_EPOCH)}</updated>",
            "<author><name>SEGAPSITH</name></author>",
            *entries,
            "</feed>",
            "",
        ]
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            unfinished.write_text("\n".join(lines), "utf-8")
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _entry(notice: Notice) -> str:
    return (
        f"<entry><id>{_tag(notice.key)}</id><title>{xml_text(notice.title)}</title>"
        f"<updated>{_moment(notice.at)}</updated>"
        f'<category term="{xml_text(notice.kind)}"/><summary>{xml_text(notice.text)}</summary></entry>'
    )


def _tag(key: str) -> str:
    """Return a tag URI (RFC 4151) for a key."""
    return f"tag:segapsith.invalid,2026:{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _moment(text: str) -> str:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return _EPOCH
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return aware.isoformat(timespec="seconds")


@hookimpl
def register_notifiers() -> Mapping[str, Callable[..., Notifier]]:
    return {"atom": AtomFile}

"""Changes from pages: each is one call of the Python API, so one run, and can be undone.

A form carries the last run that its page knew. If another run came between, nothing is done and
the answer shows the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response

from segapsith.api.wire import Wire
from segapsith.errors import UsageError
from segapsith.web.ask import Ask
from segapsith.web.pages.watch import change_watch
from segapsith.web.render import Page
from segapsith.web.templating import story_path

__all__ = ["ROUTES", "Change"]

Change = Callable[[Ask, Mapping[str, str]], Page | Response]


def _whole(form: Mapping[str, str], name: str) -> int:
    text = form.get(name, "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise UsageError(f"{name} should be a whole number")
    return int(text)


def _numbers(form: Mapping[str, str], name: str) -> list[int]:
    parts = [part for part in form.get(name, "").replace(",", " ").split() if part]
    return [_whole({name: part}, name) for part in parts]


def _done(ask: Ask, form: Mapping[str, str], work: Callable[[Wire], Any], path: str) -> Response:
    """Apply a change, then show a page that offers to undo it."""
    result = ask.desk.change(_whole(form, "run"), work)
    return RedirectResponse(ask.url(path, done=result.run), 303)


def _of_domain(ask: Ask) -> tuple[int, str]:
    number = ask.number_part("id")
    return number, f"/domains/{number}"


def rename(ask: Ask, form: Mapping[str, str]) -> Response:
    number, path = _of_domain(ask)
    label = form.get("label", "")
    return _done(ask, form, lambda wire: wire.domains.rename(number, label), path)


def merge(ask: Ask, form: Mapping[str, str]) -> Response:
    number, _ = _of_domain(ask)
    numbers = [number, *(n for n in _numbers(form, "with") if n != number)]
    into = _whole(form, "into") if form.get("into") else number
    path = f"/domains/{into}"
    return _done(ask, form, lambda wire: wire.domains.merge(numbers, into), path)


def split(ask: Ask, form: Mapping[str, str]) -> Response:
    number, _ = _of_domain(ask)
    parts = _whole(form, "parts")
    if not 2 <= parts <= 6:
        raise UsageError("parts should be from 2 to 6")
    return _done(ask, form, lambda wire: wire.domains.split(number, parts=parts), "/domains")


def retire(ask: Ask, form: Mapping[str, str]) -> Response:
    number, path = _of_domain(ask)
    return _done(ask, form, lambda wire: wire.domains.retire([number]), path)


def reopen(ask: Ask, form: Mapping[str, str]) -> Response:
    number, path = _of_domain(ask)
    return _done(ask, form, lambda wire: wire.domains.reopen([number]), path)


def lock(ask: Ask, form: Mapping[str, str]) -> Response:
    number, path = _of_domain(ask)
    return _done(ask, form, lambda wire: wire.domains.lock([number]), path)


def unlock(ask: Ask, form: Mapping[str, str]) -> Response:
    number, path = _of_domain(ask)
    return _done(ask, form, lambda wire: wire.domains.unlock([number]), path)


def move(ask: Ask, form: Mapping[str, str]) -> Response:
    number, target = ask.number_part("id"), _whole(form, "domain")
    return _done(ask, form, lambda wire: wire.domains.move(number, target), f"/units/{number}")


def forget(ask: Ask, form: Mapping[str, str]) -> Response:
    """Forget a story; its id has to be typed, because this cannot be undone."""
    uid = form.get("uid", "")
    if not uid or form.get("typed", "").strip() != uid.strip():
        raise UsageError(ask.texts.text("The typed id is not the id of this story."))
    run = _whole(form, "run")
    result = ask.desk.change(run, lambda wire: wire.forget(uid))
    if result.successor:
        return RedirectResponse(ask.url(story_path(result.successor), done=result.run), 303)
    return RedirectResponse(ask.url("/runs", done=result.run), 303)


def undo(ask: Ask, form: Mapping[str, str]) -> Response:
    """Undo the last run that stands."""
    target = _whole(form, "undo")
    ask.desk.change(_whole(form, "run"), lambda wire: wire.runs.undo(target))
    return RedirectResponse(ask.url("/runs", undone=target), 303)


ROUTES: tuple[tuple[str, Change], ...] = (
    ("/domains/{id:int}/rename", rename),
    ("/domains/{id:int}/merge", merge),
    ("/domains/{id:int}/split", split),
    ("/domains/{id:int}/retire", retire),
    ("/domains/{id:int}/reopen", reopen),
    ("/domains/{id:int}/lock", lock),
    ("/domains/{id:int}/unlock", unlock),
    ("/units/{id:int}/move", move),
    ("/forget", forget),
    ("/undo", undo),
    ("/watch/change", change_watch),
)
"""Paths that only accept POST; all but the last change the store."""

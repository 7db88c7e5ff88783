"""The ASGI application: routes to pages, data, feeds and changes; errors to answers."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from segapsith.errors import (
    BusyError,
    MissingInputError,
    PermissionDeniedError,
    QueryTimeoutError,
    SegapsithError,
    UsageError,
)
from segapsith.settings import Settings
from segapsith.web import atom, json_api, pages, steering
from segapsith.web.ask import Ask
from segapsith.web.charts import ENDINGS, chart_response
from segapsith.web.desk import ChangesOffError, Desk, StaleFormError
from segapsith.web.forms import read_form
from segapsith.web.metrics import metrics
from segapsith.web.render import Page, render
from segapsith.web.security import Guard, WebOptions
from segapsith.web.snapshots import READERS, Moment
from segapsith.web.templating import login_page
from segapsith.web.texts import LANGUAGES, Texts, catalogue, language_of

__all__ = ["make_app"]

FORMS = 2
"""Changes and classifications that are worked on at once; they may wait, so they have threads apart."""

NOT_OF_THE_STORE = ("/watch", "/federation")
"""Pages that also show what is not in the store: a cookie, a file."""

UI_COOKIE = "segapsith_ui"
STATIC = {"style.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}

Work = Callable[[Ask], Page | Response]


def make_app(
    store: str | os.PathLike[str], options: WebOptions, settings: Settings | None = None
) -> Starlette:
    """Return the application on a store, with its guard around it."""
    desk = Desk(store, options, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.watch()
        yield
        desk.close()

    application = Starlette(
        routes=_routes(desk),
        lifespan=lifespan,
        middleware=[Middleware(Guard, options=options)],
        exception_handlers={404: _not_found(desk)},
    )
    application.state.token = options.token
    application.state.desk = desk
    return application


def _routes(desk: Desk) -> list[BaseRoute]:
    routes: list[BaseRoute] = [
        Route("/healthz", _healthz(desk)),
        Route("/metrics", _page(desk, metrics)),
        Route("/static/{name}", _static),
        Route("/login", _login(desk), methods=["GET", "POST"]),
    ]
    for route in json_api.ROUTES:
        path = f"{json_api.PREFIX}{route.path}"
        routes.append(Route(path, _json(desk, route.work), methods=[route.method]))
    routes += [Route(path, _page(desk, feed)) for path, feed in atom.ROUTES]
    routes += [
        Route(path, _form(desk, change), methods=["POST"]) for path, change in steering.ROUTES
    ]
    for path, page in pages.ROUTES:
        routes.append(Route(path, _page(desk, page)))
        if "{uid:path}" not in path:
            behind = f"{path.rstrip('/')}/{{chart}}.{{ending}}"
            routes.append(Route(behind, _page(desk, page, behind=True)))
    return routes


# -- kinds of routes -----------------------------------------------------------------------------


def _page(desk: Desk, work: Work, *, behind: bool = False) -> Callable[[Request], Any]:
    """Return the endpoint of a page, or of the data behind one of its charts."""

    def answer(request: Request) -> Response:
        if behind:
            return _behind(request, desk, work)
        ask = _ask(request, desk)
        try:
            with desk.reading() as moment:
                return _finished(_made(ask, work, moment), ask)
        except SegapsithError as error:
            return _finished(_error_page(error), ask)

    return _in_thread(answer)


def _made(ask: Ask, work: Work, moment: Moment) -> Page | Response:
    """Return a page; its HTML is made once for each state of the store."""
    query = ask.request.scope["query_string"].decode("latin-1")
    if "done=" in query or "ui=" in query or ask.path in NOT_OF_THE_STORE:
        return work(ask)

    def make() -> bytes | Page | Response:
        result = work(ask)
        whole = isinstance(result, Page) and result.status == 200
        return render(result, ask).encode() if whole and isinstance(result, Page) else result

    made: bytes | Page | Response = moment.made((ask.path, query, ask.texts.language), make)
    if isinstance(made, bytes):
        return HTMLResponse(made, headers={"vary": "Cookie, Accept-Language"})
    return made


def _behind(request: Request, desk: Desk, work: Work) -> Response:
    name, ending = request.path_params["chart"], request.path_params["ending"]
    own = f"/{name}.{ending}"
    if ending not in ENDINGS:
        return _finished(
            _error_page(MissingInputError("there is no such page")), _ask(request, desk)
        )
    scope = {**request.scope, "path": request.scope["path"].removesuffix(own) or "/"}
    ask = _ask(Request(scope, request.receive), desk)
    try:
        with desk.reading():
            result = work(ask)
        chart = result.chart(name) if isinstance(result, Page) else None
        if chart is None:
            raise MissingInputError("there is no such chart")
    except SegapsithError as error:
        return _finished(_error_page(error), ask)
    return _tagged(request, chart_response(chart, ending))


def _json(desk: Desk, work: Callable[[Ask, bytes], Response]) -> Callable[[Request], Any]:
    def answer(request: Request, body: bytes) -> Response:
        try:
            with desk.reading():
                return _tagged(request, work(_ask(request, desk), body))
        except SegapsithError as error:
            status, more = _status(error)
            return JSONResponse({"error": str(error), **more}, status)

    return _with_body(answer)


def _form(desk: Desk, work: steering.Change) -> Callable[[Request], Any]:
    def answer(request: Request, body: bytes) -> Response:
        ask = _ask(request, desk)
        try:
            form = read_form(body, request.headers.get("content-type", ""))
            result = work(ask, form)
        except SegapsithError as error:
            result = _error_page(error, desk)
        return _finished(result, ask)

    return _with_body(answer)


_readers = anyio.CapacityLimiter(READERS)
_forms = anyio.CapacityLimiter(FORMS)


def _in_thread(answer: Callable[[Request], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return await run_sync(answer, request, limiter=_readers)

    return endpoint


def _with_body(answer: Callable[[Request, bytes], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return await run_sync(answer, request, b"", limiter=_readers)
        return await run_sync(answer, request, await request.body(), limiter=_forms)

    return endpoint


# -- answers -------------------------------------------------------------------------------------


def _ask(request: Request, desk: Desk) -> Ask:
    language = request.query_params.get("ui") or request.cookies.get(UI_COOKIE, "")
    if language not in LANGUAGES:
        language = language_of(request.headers.get("accept-language", ""))
    return Ask(request, desk, Texts(language))


def _finished(result: Page | Response, ask: Ask) -> Response:
    if isinstance(result, Page):
        response: Response = HTMLResponse(render(result, ask), result.status)
        response.headers["vary"] = "Cookie, Accept-Language"
        result = response
    if ask.text("ui") in LANGUAGES:
        result.set_cookie(
            UI_COOKIE, ask.text("ui"), max_age=31_536_000, httponly=True, samesite="strict",
            path=f"{ask.desk.options.base_path}/",
        )  # fmt: skip
    return _tagged(ask.request, result)


def _tagged(request: Request, response: Response) -> Response:
    """Give an answer a tag of its content, or report that the browser has it already."""
    if request.method not in ("GET", "HEAD") or response.status_code != 200:
        return response
    tag = f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:24]}"'
    known = [
        part.strip().removeprefix("W/")
        for part in request.headers.get("if-none-match", "").split(",")
    ]
    if tag in known:
        headers = {
            n: v for n, v in response.headers.items() if n in ("vary", "link", "x-total-count")
        }
        return Response(None, 304, {**headers, "etag": tag})
    response.headers["etag"] = tag
    return response


def _status(error: SegapsithError) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status of an error, and facts for its JSON form."""
    if isinstance(error, StaleFormError):
        runs = [{"id": run.id, "command": run.command} for run in error.between]
        return 409, {"known_run": error.known, "runs": runs}
    for kind, status in (
        (MissingInputError, 404),
        (UsageError, 400),
        (ChangesOffError, 403),
        (BusyError, 503),
        (QueryTimeoutError, 503),
        (PermissionDeniedError, 403),
    ):
        if isinstance(error, kind):
            return status, {}
    return 500, {}


def _error_page(error: SegapsithError, desk: Desk | None = None) -> Page:
    """Return the page of an error; its message is in English unless the catalogue has it."""
    status, _ = _status(error)
    values: dict[str, Any] = {
        "error": str(error),
        "between": error.between if isinstance(error, StaleFormError) else [],
        "known_run": error.known if isinstance(error, StaleFormError) else 0,
        "busy": desk.busy() if desk is not None and isinstance(error, BusyError) else "",
    }
    title, reason = _TITLES.get(status, ("Something failed", ""))
    values |= {"reason": reason, "translated": str(error) in catalogue().values()}
    return Page("error.html", title, values, status=status)


_TITLES = {
    400: ("This cannot be asked", "A part of the address or of the form has no valid value."),
    403: ("Not allowed", ""),
    404: ("Not found", "The store does not have this, or has it no more."),
    409: ("The store has changed", ""),
    503: ("The store is busy", ""),
}
"""Title of an error by its status, and what it means."""


# -- small routes --------------------------------------------------------------------------------


def _healthz(desk: Desk) -> Callable[[Request], Any]:
    def answer(_: Request) -> Response:
        try:
            with desk.reading() as moment:
                state = moment.state
        except SegapsithError:
            return JSONResponse({"ok": False}, 503)
        return JSONResponse({"ok": True, "run": state.run})

    return _in_thread(answer)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return Response("not found", 404, media_type="text/plain")
    content = (files("segapsith.web") / "static" / name).read_bytes()
    forever = {"cache-control": "public, max-age=31536000, immutable"}
    versioned = "v" in request.query_params
    return Response(content, media_type=STATIC[name], headers=forever if versioned else None)


def _login(desk: Desk) -> Callable[[Request], Any]:
    """Exchange the token in a form for the cookie."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":  # the form was shown here after a wrong token
            return RedirectResponse(f"{desk.options.base_path}/", 303)
        guard = Guard(Response(), desk.options)
        form = read_form(await request.body(), request.headers.get("content-type", ""))
        where = form.get("where", "/")
        if not where.startswith("/") or where.startswith(("//", "/\\")):
            where = "/"
        if not guard.is_token(form.get("token", "").strip()):
            accepted = request.headers.get("accept-language", "")
            return HTMLResponse(login_page(desk.options.base_path, where, accepted), 401)
        return guard.with_cookie(RedirectResponse(f"{desk.options.base_path}{where}", 303))

    return endpoint


def _not_found(desk: Desk) -> Callable[[Request, Exception], Any]:
    def answer(request: Request, _: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": "there is no such address"}, 404)
        ask = _ask(request, desk)
        page = _error_page(MissingInputError(ask.texts.text("There is no such page.")))
        return HTMLResponse(render(page, ask), 404)

    return answer

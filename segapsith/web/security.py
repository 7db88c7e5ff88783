"""The guard of the web application: who may ask, from where, how much, and what browsers may do.

It is the outermost layer. The Host header is checked first, against DNS rebinding; then the size of
the request, the token, and for changes the origin. Every answer carries strict headers.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from segapsith.errors import UsageError
from segapsith.web.templating import login_page

__all__ = ["CSP", "LOOPBACK", "Guard", "WebOptions", "svg_policy"]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

MOST_QUERY_BYTES = 8_192
MOST_PARAMETERS = 100
MOST_BODY_BYTES = 1_000_000
MOST_COOKIE_BYTES = 8_192

CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "private, no-cache",
}
_OPEN = ("/healthz", "/static/", "/login")
"""Paths that need no token; a login needs it in its form."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def svg_policy(style: str) -> str:
    """Return the content security policy of an SVG file with one style of its own."""
    digest = hashlib.sha256(style.encode()).digest()
    return f"default-src 'none'; style-src 'sha256-{base64.b64encode(digest).decode()}'"


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How the application is offered."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    allow_changes: bool = False
    hosts: frozenset[str] = LOOPBACK
    """Names under which the application may be asked."""
    base_path: str = ""
    """Where a proxy offers it: empty, or `/x` without a slash at the end."""
    query_seconds: float = 20.0
    """Time limit of the queries of one request."""
    wait_seconds: float = 2.0
    """How long a change waits for another writing process."""
    federation: str | os.PathLike[str] = ""
    """The directory of a view that `segapsith federate` wrote; empty if none is shown."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", frozenset(name.lower() for name in self.hosts))
        if len(self.token) < 16 or not self.token.isascii() or not self.token.isprintable():
            raise UsageError("a token should have at least 16 printable ASCII characters")
        if not re.fullmatch(r"(/[\w.~-]+)*", self.base_path):
            raise UsageError(f"--base-path {self.base_path!r} should be like /news")

    @property
    def cookie(self) -> str:
        """The name of the cookie; other servers on this host have other names."""
        return f"segapsith_{hashlib.sha256(self.token.encode()).hexdigest()[:8]}"

    @property
    def cookie_value(self) -> str:
        """What the cookie holds: proof that the token was known, not the token."""
        return hmac.new(self.token.encode(), b"segapsith cookie", "sha256").hexdigest()


class _TooLarge(Exception):
    """The body of a request is larger than allowed."""


class Guard:
    """An ASGI application around another: refuse what is foreign, too large or unknown."""

    def __init__(self, inner: ASGIApp, options: WebOptions) -> None:
        self._inner = inner
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        headers = _Headers(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope = {**scope, "path": self._inner_path(scope["path"])}
        scope.pop("raw_path", None)
        try:
            await self._inner(scope, _limited(receive), send)
        except _TooLarge:
            await _refused(scope, 413, "the body is too large")(scope, receive, send)

    # -- checks, in order ----------------------------------------------------------------------

    def _refusal(self, scope: Scope, headers: _Headers) -> Response | None:
        """Return the answer to a request that is not let in; None if it is."""
        if not self._is_known_host(headers):
            return _refused(scope, 403, "this name is not served here (--allow-host NAME)")
        path = scope["path"]
        if self._inner_path(path) is None:
            return _refused(scope, 404, f"the application is at {self._options.base_path}/")
        return (
            _wrong_size(scope, headers)
            or self._wrong_token(scope, headers)
            or self._foreign_site(scope, headers)
        )

    def _is_known_host(self, headers: _Headers) -> bool:
        names = headers.all("host")
        if len(names) != 1:
            return False
        return _host_name(names[0]) in self._options.hosts

    def _inner_path(self, path: str) -> str | None:
        base = self._options.base_path
        if not base:
            return path
        if path == base:
            return "/"
        return path.removeprefix(base) if path.startswith(f"{base}/") else None

    def _wrong_token(self, scope: Scope, headers: _Headers) -> Response | None:
        path = self._inner_path(scope["path"]) or "/"
        if any(path == name or (name.endswith("/") and path.startswith(name)) for name in _OPEN):
            return None
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in parameters if name == "token"]
        if given and scope["method"] in ("GET", "HEAD"):
            if not self.is_token(given[0]):
                return self._unauthorized(scope, path)
            rest = urlencode([(n, v) for n, v in parameters if n != "token"])
            where = f"{self._options.base_path}{quote(path)}{'?' if rest else ''}{rest}"
            return self.with_cookie(RedirectResponse(where, 303))
        return None if self.is_authorized(headers) else self._unauthorized(scope, path)

    def is_token(self, text: str) -> bool:
        """Return whether a text is the token."""
        return hmac.compare_digest(text.encode(), self._options.token.encode())

    def is_authorized(self, headers: _Headers) -> bool:
        """Return whether a request carries the token or the cookie that was given for it."""
        scheme, _, token = headers.first("authorization").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_token(token.strip())
        value = headers.cookie(self._options.cookie)
        return hmac.compare_digest(value.encode(), self._options.cookie_value.encode())

    def with_cookie(self, response: Response) -> Response:
        """Return a response that gives the browser the cookie."""
        response.set_cookie(
            self._options.cookie,
            self._options.cookie_value,
            path=f"{self._options.base_path}/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _unauthorized(self, scope: Scope, path: str) -> Response:
        if _is_json(path):
            return JSONResponse(
                {"error": "a token is needed: Authorization: Bearer …"},
                401,
                {"www-authenticate": "Bearer"},
            )
        query = scope["query_string"].decode("latin-1")
        rest = [(n, v) for n, v in parse_qsl(query, keep_blank_values=True) if n != "token"]
        where = quote(path) + (f"?{urlencode(rest)}" if rest else "")
        page = login_page(
            self._options.base_path, where, _Headers(scope["headers"]).first("accept-language")
        )
        return HTMLResponse(page, 401, {"www-authenticate": "Bearer"})

    def _foreign_site(self, scope: Scope, headers: _Headers) -> Response | None:
        """Refuse a change that another site sent through the browser of a user."""
        if scope["method"] in ("GET", "HEAD"):
            return None
        site, origin = headers.first("sec-fetch-site"), headers.first("origin")
        own = {f"{scheme}://{headers.first('host')}".lower() for scheme in ("http", "https")}
        if site and site != "same-origin":
            return _refused(scope, 403, "a change must come from a page of this application")
        if (
            origin
            and origin.lower() not in own
            and not (site == "same-origin" and origin == "null")
        ):
            return _refused(scope, 403, "a change must come from a page of this application")
        by_header = headers.first("authorization").lower().startswith("bearer ")
        if not site and not origin and not by_header:
            return _refused(scope, 403, "a change must come from a page of this application")
        return None


class _Headers:
    """The headers of a request by name."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = [(name.lower(), value) for name, value in raw]

    def all(self, name: str) -> list[str]:
        return [v.decode("latin-1") for n, v in self._raw if n == name.encode()]

    def first(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def cookie(self, name: str) -> str:
        text = "; ".join(self.all("cookie"))
        if len(text) > MOST_COOKIE_BYTES:
            return ""
        try:
            morsel = SimpleCookie(text).get(name)
        except CookieError:
            return ""
        return "" if morsel is None else morsel.value


def _host_name(header: str) -> str:
    """Return the name in a Host header, without the port.

    >>> _host_name("Localhost:8787"), _host_name("[::1]:8787"), _host_name("a b")
    ('localhost', '::1', '')
    """
    if not re.fullmatch(r"[\w.:\[\]-]+", header):
        return ""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_json(path: str) -> bool:
    return path.startswith("/api/")


def _refused(scope: Scope, status: int, reason: str) -> Response:
    if _is_json(scope["path"]):
        return JSONResponse({"error": reason}, status)
    return HTMLResponse(f"<!doctype html><title>{status}</title><p>{status}: {reason}", status)


def _wrong_size(scope: Scope, headers: _Headers) -> Response | None:
    query = scope["query_string"]
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return Response(None, 405, {"allow": "GET, HEAD, POST"})
    if len(query) > MOST_QUERY_BYTES or len(scope["path"]) > MOST_QUERY_BYTES:
        return _refused(scope, 414, "the address is too long")
    if query.count(b"&") + query.count(b";") >= MOST_PARAMETERS:
        return _refused(scope, 400, "the address has too many parameters")
    length = headers.first("content-length")
    if length and (not length.isdigit() or int(length) > MOST_BODY_BYTES):
        return _refused(scope, 413, "the body is too large")
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if any(map(_CONTROL.search, [scope["path"], *(part for pair in pairs for part in pair)])):
        return _refused(scope, 400, "the address has control characters")
    return None


def _limited(receive: Receive) -> Receive:
    """Stop reading a body that is larger than allowed."""
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > MOST_BODY_BYTES:
            raise _TooLarge
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[Any] = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            given += [
                (name.encode(), value.encode())
                for name, value in _HEADERS.items()
                if name.encode() not in names
            ]
            message = {**message, "headers": given}
        await send(message)

    return sending

"""Run the application: a socket, its address with the token, and the server."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import ipaddress
import logging
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from segapsith.errors import (
    ConfigurationError,
    MissingInputError,
    PermissionDeniedError,
    StorageError,
    UsageError,
)
from segapsith.settings import Settings
from segapsith.web.security import LOOPBACK, WebOptions

__all__ = [
    "bound",
    "is_loopback",
    "new_token",
    "read_token",
    "serve",
    "served_hosts",
    "spare_memory",
]

log = logging.getLogger(__name__)


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def read_token(path: str | os.PathLike[str]) -> str:
    """Return the token in a file: its first line."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise MissingInputError(f"{path}: there is no such token file") from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{path}: no permission to read the token") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the token cannot be read: {error}") from error
    token = lines[0].strip() if lines else ""
    if len(token) < 16:
        raise ConfigurationError(f"{path}: a token should have at least 16 characters")
    return token


def is_loopback(host: str) -> bool:
    """Return whether a host is only reachable from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def served_hosts(host: str, allowed: list[str]) -> frozenset[str]:
    """Return the names under which the application may be asked."""
    names = {name.strip().lower() for name in allowed}
    if any(not name or "/" in name or "*" in name for name in names):
        raise UsageError("--allow-host takes a name such as news.example.org")
    everywhere = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not bound to
    own = set() if host in everywhere else {host.lower()}
    return frozenset(LOOPBACK | names | own)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with contextlib.ExitStack() as stack:
            # Only of a socket that names TCP does asyncio turn off Nagle's delay of 40 ms.
            kind = (family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            listener = stack.enter_context(socket.socket(*kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(128)
            stack.pop_all()
    except PermissionError as error:
        raise PermissionDeniedError(f"{host}:{port}: no permission to listen there") from error
    except OSError as error:
        raise StorageError(
            f"{host}:{port}: cannot listen there: {error.strerror or error}"
        ) from error
    return listener


def spare_memory() -> None:
    """Let the C library return memory: few arenas for threads, and large arrays apart.

    Without this a server on 100,000 stories holds 100 MB more. Other C libraries than glibc do
    without it.
    """
    arenas, threshold = -8, -3  # M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(arenas, 2)
        library.mallopt(threshold, 262_144)


def serve(
    store: str,
    options: WebOptions,
    listener: socket.socket,
    *,
    settings: Settings,
    announce: Callable[[str], None],
) -> None:
    """Serve until the process is asked to stop; `announce` receives the address with the token."""
    spare_memory()
    gc.set_threshold(50_000, 20, 100)  # a search of all columns for cycles would delay an answer
    import uvicorn

    from segapsith.web.application import make_app

    application = make_app(store, options, settings)
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    announce(f"http://{name}:{port}{options.base_path}/?token={options.token}")
    config = uvicorn.Config(
        application,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        limit_concurrency=256,
        timeout_keep_alive=20,
        h11_max_incomplete_event_size=32_768,
    )
    uvicorn.Server(config).run(sockets=[listener])

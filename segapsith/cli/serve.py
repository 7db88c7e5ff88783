"""`serve`: the web application."""

from __future__ import annotations

import json
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import flush, plain, write
from segapsith.errors import ConfigurationError, UsageError

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("serve")(serve)


@command()
def serve(
    context: Context,
    *,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port (0: any free one).")
    ] = 8787,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the address in a browser.")
    ] = False,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Allow renaming, merging, forgetting, undo.")
    ] = False,
    token_file: Annotated[
        str | None,
        typer.Option("--token-file", metavar="FILE", help="Read the token from this file."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Serve under this name (repeatable)."),
    ] = None,
    base_path: Annotated[
        str, typer.Option("--base-path", metavar="PATH", help="Path behind a proxy, such as /news.")
    ] = "",
    federation: Annotated[
        str | None,
        typer.Option("--federation", metavar="DIR", help="Show this view of `federate` too."),
    ] = None,
) -> None:
    """Show the store in a browser: look, search, steer and undo.

    The first line on standard error is the address with the token. With --json the address and the
    token are printed on standard output. Needs the extra `web`.

    Example: segapsith serve --store wire.db --open
    """
    try:
        from segapsith.web import serving
        from segapsith.web.federation import FederatedView
        from segapsith.web.security import WebOptions
    except ImportError as error:
        raise ConfigurationError(
            f"`serve` needs the extra `web` ({error.name} is missing): pip install 'segapsith[web]'"
        ) from error
    if token_file is None and not serving.is_loopback(host):
        raise UsageError(
            f"--host {host} can be reached by others: give a token of your own with --token-file"
        )
    context.require_store()
    token = serving.new_token() if token_file is None else serving.read_token(token_file)
    options = WebOptions(
        token=token,
        allow_changes=allow_changes,
        hosts=serving.served_hosts(host, allow_host or []),
        base_path=base_path.rstrip("/"),
        federation=federation or "",
    )
    if federation is not None:
        FederatedView(federation).read()

    def announce(address: str) -> None:
        if context.out.json:
            write(json.dumps({"url": address, "token": options.token}))
            flush()
        else:
            print(plain(address), file=sys.stderr, flush=True)  # not `say`: no token in a log file
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    listener = serving.bound(host, port)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    serving.serve(context.path, options, listener, settings=context.settings, announce=announce)


def _end(number: int, _: FrameType | None) -> None:
    """End without a message: the server has closed, and there is nothing to continue."""
    raise typer.Exit(128 + number)

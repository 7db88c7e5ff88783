"""`notify`: the targets of notifications: test them, and the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import ALLOW_HOSTS
from segapsith.cli.output import Output, say
from segapsith.errors import ConfigurationError, UsageError, did_you_mean, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segapsith.settings import NotifyTarget

__all__ = ["add_to"]

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME…]", help="Targets; by default all.")
]


def add_to(app: typer.Typer) -> None:
    notify = group(help="Notifications of the night: test the targets, list and send the queue.")
    notify.command("test")(test)
    notify.command("list")(list_targets)
    notify.command("send")(send)
    notify.command("drop")(drop)
    app.add_typer(notify, name="notify")


def _selected(context: Context, names: Sequence[str] | None) -> list[NotifyTarget]:
    """Return the targets of these names; raise an error if there is none."""
    targets = context.settings.notify
    if not targets:
        raise ConfigurationError(
            "no target is configured: add a table [[notify]] to segapsith.toml"
        )
    known = {target.name: target for target in targets}
    for name in names or ():
        if name not in known:
            listed = ", ".join(known)
            raise UsageError(
                f"there is no target {name!r} (targets: {listed}){did_you_mean(name, known)}"
            )
    return [known[name] for name in names or known]


@command(ALLOW_HOSTS)
def test(context: Context, names: Names = None) -> None:
    """Send a test message to every configured target.

    The store is not needed. The exit code is 69 if a target cannot be reached, or 78 if its settings
    are wrong.

    Example: segapsith notify test
    """
    from segapsith.api.wire import Wire
    from segapsith.operations.notifications import send_test
    from segapsith_store.queries.subscriptions import moment

    wire = Wire(context.path, context.settings, context.registry())
    outcomes = [(t, send_test(wire, t, moment())) for t in _selected(context, names)]
    for _, failure in outcomes:
        if failure is not None:
            say(f"segapsith: {failure}")

    def text(out: Output) -> None:
        for target, failure in outcomes:
            out.line(f"{target.name}: {'sent' if failure is None else 'FAILED'} ({target})")

    context.show(
        [
            {"name": t.name, "to": t.to, "sent": e is None, "error": "" if e is None else str(e)}
            for t, e in outcomes
        ],
        text,
    )
    raise typer.Exit(worst({e.exit_code for _, e in outcomes if e is not None}))


@command()
def list_targets(context: Context) -> None:
    """List the targets, and what was not sent to them.

    `waiting` is sent again the next time. `uncertain` may have arrived and is not sent again.

    Example: segapsith notify list --store wire.db
    """
    from segapsith_store.notifications import backlog

    targets = context.settings.notify
    entries = context.reader().read(backlog)
    left = {target.name: [e for e in entries if e.target == target.name] for target in targets}
    left |= {e.target: [x for x in entries if x.target == e.target] for e in entries}
    shown = {target.name: str(target) for target in targets}

    def text(out: Output) -> None:
        out.table(
            (
                (
                    name,
                    shown.get(name, "not configured any more"),
                    ", ".join(f"{e.notices} {e.status}" for e in of) or "nothing",
                    "; ".join(e.error for e in of if e.error),
                )
                for name, of in left.items()
            ),
            ("target", "gets", "not sent", "error"),
            cut=("error",),
        )

    context.show(
        [
            {"name": name, "gets": shown.get(name), "not_sent": [e.as_json() for e in of]}
            for name, of in left.items()
        ],
        text,
    )


@command(ALLOW_HOSTS)
def send(context: Context) -> None:
    """Send what waits in the queue, as the next night would.

    Example: segapsith notify send --store wire.db
    """
    from segapsith.operations.notifications import deliver
    from segapsith_store.queries.subscriptions import moment

    _selected(context, None)
    with context.wire() as wire:
        done = deliver(wire, moment)
    for failure in done.failures:
        say(f"segapsith: {failure}")
    total = sum(done.sent.values())
    context.show(
        {"sent": done.sent, "failures": [str(failure) for failure in done.failures]},
        lambda out: out.line(f"{total} notice{'' if total == 1 else 's'} sent"),
    )
    raise typer.Exit(worst({failure.exit_code for failure in done.failures}))


@command()
def drop(context: Context, names: Names = None) -> None:
    """Discard what was not sent to a target, or to all; it is not queued again.

    Example: segapsith notify drop desk --store wire.db
    """
    from segapsith_store import notifications

    with context.wire() as wire:
        given: list[str | None] = [*names] if names else [None]
        dropped = sum(notifications.drop(wire.writer, name) for name in given)
    context.show(
        {"dropped": dropped},
        lambda out: out.line(f"{dropped} notice{'' if dropped == 1 else 's'} discarded"),
    )

"""`doctor`: examine the installation and the store, and give advice."""

from __future__ import annotations

import typer

from segapsith.cli.context import Context, command

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


@command()
def doctor(context: Context) -> None:
    """Examine installation, store, disk, feeds and nights.

    Every finding that needs action comes with advice. The exit code is 1 if there is trouble; notes do not count.

    Example: segapsith doctor --store wire.db
    """
    from segapsith.api.wire import Wire
    from segapsith.operations.doctor import examine

    findings = examine(Wire(context.path, context.settings, context.load_plugins()))
    trouble = [finding for finding in findings if finding.state == "trouble"]
    out = context.out
    if out.json:
        out.show(
            {"well": not trouble, "findings": [finding.as_json() for finding in findings]},
            lambda _: None,
        )
    else:
        for finding in trouble if out.quiet else findings:
            advice = f" -> {finding.advice}" if finding.advice else ""
            out.line(f"{finding.state:8} {finding.what:12} {finding.text}{advice}", indent=" " * 22)
    raise typer.Exit(1 if trouble else 0)

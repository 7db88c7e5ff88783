"""`verify`: check the integrity of a store."""

from __future__ import annotations

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import say

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("verify")(verify)


@command()
def verify(context: Context) -> None:
    """Check that the store is sound.

    Checks the file and its references, and recomputes every sum and count. The exit code is 0 only if the store is sound, 1 otherwise.

    Example: segapsith verify --store wire.db
    """
    with context.out.progress() as progress:
        verdict = context.reader().verify(
            lambda done, total: progress.share("verifying", done, total)
        )
    if verdict.sound or context.out.json:
        counts = ", ".join(f"{n} {name}" for name, n in verdict.checked.items())
        context.show(
            {
                "sound": verdict.sound,
                "digest": verdict.digest,
                "checked": verdict.checked,
                "faults": verdict.faults,
                "n_faults": verdict.n_faults,
            },
            lambda out: out.line(f"sound: {counts}; digest {verdict.digest}"),
        )
    if not verdict.sound:
        for fault in verdict.faults:
            say(f"segapsith: {fault}")
        say(f"segapsith: {verdict.n_faults} faults; restore the last backup")
        raise typer.Exit(1)

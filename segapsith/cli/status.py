"""`status`, `verify`, `backup`, `runs`, `forget`: looking after the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context as wiring
from segapsith.cli.options import CommandJson, CommandQuiet, Config, StorePath, Wait
from segapsith.cli.output import say, show_json, table, write
from segapsith.errors import UsageError
from segapsith.model import Record

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith_store import Store

__all__ = ["add_to", "must_exist"]


def add_to(app: typer.Typer) -> None:
    app.command("status")(status)
    app.command("verify")(verify)
    app.command("backup")(backup)
    runs = typer.Typer(
        help="Every change to the store, and back.", rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    runs.callback(invoke_without_command=True)(list_runs)
    runs.command("undo")(undo)
    app.add_typer(runs, name="runs")
    app.command("forget")(forget)


def status(
    store: StorePath = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also sizes, feeds and nights, which are no knowledge.")
    ] = False,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Counts, the digest, the last runs, versions, when the next feed is asked.

    Example: segapsith status --json --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = wiring.settings(store=store, config=config)
    wire = Wire(str(chosen["store"]), chosen)
    with wire.reading():
        found = {**wire.status().as_json(), **_condition(wire, full)}
    if as_json:
        show_json(found)
    elif not quiet:
        history, _ = found.pop("history"), found.pop("last_run")
        for name, value in found.items():
            told = _pairs(value) if isinstance(value, dict) else value
            write(f"{name:16} {'' if told is None else told}")
        for last in history:
            when = last["finished_at"] or last["started_at"]
            write(f"{'run':16} {last['id']} {last['command']} {last['status']} {when}")


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _condition(wire: Wire, full: bool) -> dict[str, Any]:
    """What may differ between equal stores: versions, clocks and the run log; all of it if asked."""
    from segapsith.operations.doctor import versions
    from segapsith_store import health
    from segapsith_store.queries import nights, subscriptions

    def asked(store: Store) -> dict[str, Any]:
        feeds = health.checks(store, subscriptions.moment()).as_json()
        found = {
            "versions": versions(),
            "next_check_at": feeds.pop("next_check_at"),
            "history": health.history(store),
        }
        if full:
            last = next(iter(nights.listed(store, 1)), None)
            found |= {"sizes": health.sizes(store).as_json(), "feeds": feeds}
            found["last_night"] = None if last is None else last.line
        return found

    return wire.read(asked)


def verify(
    store: StorePath = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Check the file, the references, and compute every sum and count again.

    Exit code 0 only if the store is sound.

    Example: segapsith verify --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = wiring.settings(store=store, config=config)
    verdict = Wire(str(chosen["store"]), chosen).verify()
    if as_json:
        show_json(
            {
                "sound": verdict.sound,
                "digest": verdict.digest,
                "checked": verdict.checked,
                "faults": verdict.faults,
                "n_faults": verdict.n_faults,
            }
        )
    elif verdict.sound and not quiet:
        counts = ", ".join(f"{n} {name}" for name, n in verdict.checked.items())
        write(f"sound: {counts}; digest {verdict.digest}")
    if not verdict.sound:
        for fault in verdict.faults:
            say(f"segapsith: {fault}")
        say(f"segapsith: {verdict.n_faults} faults; restore the last backup")
        raise typer.Exit(1)


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; must not exist.")],
    store: StorePath = None,
    config: Config = None,
    quiet: CommandQuiet = False,
) -> None:
    """A consistent copy of the store while others write.

    Example: segapsith backup wire-monday.db --store wire.db
    """
    from segapsith_store import Store

    chosen = wiring.settings(store=store, config=config)
    with Store.reading(str(chosen["store"])) as kept:
        kept.backup(target)
    if not quiet:
        write(f"{chosen['store']} copied to {target}")


def list_runs(
    context: typer.Context,
    store: StorePath = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Show at most.")] = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Every run, newest first; `runs undo` takes the last one back.

    Example: segapsith runs --limit 5 --store wire.db
    """
    if context.invoked_subcommand is not None:
        return
    from segapsith.api.wire import Wire

    chosen = wiring.settings(store=store, config=config)
    found = Wire(str(chosen["store"]), chosen).runs(limit)
    if as_json:
        show_json(found)
    elif not quiet:
        table(
            (
                (r["id"], r["started_at"], r["command"], r["status"], r["name"], _counts(r))
                for r in found
            ),
            ("run", "started", "command", "status", "name", "what"),
        )


def _counts(run: Any) -> str:
    counts = {k: v for k, v in run["counts"].items() if k not in ("run", "seconds")}
    return ", ".join(f"{k} {v}" for k, v in counts.items() if v)


def undo(
    run: Annotated[int | None, typer.Argument(metavar="[RUN]", help="Default: the last.")] = None,
    store: StorePath = None,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Take the last run back, exactly.

    Example: segapsith runs undo --store wire.db
    """
    chosen = wiring.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with wiring.wire(chosen) as wire:
        result = wire.undo(run)
    if as_json:
        show_json(result)
    elif not quiet:
        write(
            f"run {result['run']} undone: {result['documents']} documents gone,"
            f" {result['restored']} brought back to what they were,"
            f" {result['moved']} units moved back"
        )


def forget(
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="DOCUMENT_ID…", help="Ids of documents.")
    ] = None,
    store: StorePath = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", metavar="WORDS", help="Forget every document that has all these words."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be forgotten; change nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before forgetting what --search selects.")
    ] = False,
    allow_again: Annotated[
        bool,
        typer.Option(
            "--allow-again", help="Accept these forgotten documents when they come again."
        ),
    ] = False,
    config: Config = None,
    wait: Wait = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Take documents out exactly; their texts are gone for good.

    Later deliveries of the same id or the same text are refused and counted as forgotten.

    Example: segapsith forget en-017 --store wire.db
    """
    uids = list(dict.fromkeys(documents or []))
    if bool(uids) == (search is not None):
        raise UsageError("name documents, or give --search WORDS, one of the two")
    if allow_again and (search is not None or dry_run):
        raise UsageError("--allow-again takes ids only: a forgotten text cannot be searched for")
    chosen = wiring.settings(store=store, config=config, wait=wait)
    must_exist(str(chosen["store"]))
    with wiring.wire(chosen) as wire:
        if allow_again:
            _allow_again(wire, uids, as_json=as_json, quiet=quiet)
            return
        selected = None
        if search is not None:
            selected = wire.matching(search)
            uids = [row["id"] for row in selected]
        if dry_run:
            _show_forgettable(wire.described(uids), as_json=as_json, quiet=quiet)
            return
        if selected is not None:
            if not selected:
                _show_forgotten({"run": None, "documents": [], "units": 0}, as_json, quiet)
                return
            if not yes:
                _confirm(selected)
        result = wire.forget(uids[0] if selected is None and len(uids) == 1 else uids)
    _show_forgotten(result, as_json, quiet)


def _confirm(selected: list[Any]) -> None:
    """Ask on a terminal whether these documents are to go; elsewhere ask for `--yes`."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"--search selects {len(selected)} documents: look at them with --dry-run, then"
            " forget them with --yes"
        )
    for row in selected:
        say(_described(row))
    if not typer.confirm(f"Forget these {len(selected)} documents for good?", err=True):
        say("nothing was forgotten")
        raise typer.Exit(1)


def _show_forgettable(rows: list[Any], *, as_json: bool, quiet: bool) -> None:
    if as_json:
        show_json({"run": None, "documents": rows, "units": sum(row["units"] for row in rows)})
    elif not quiet:
        for row in rows:
            write(_described(row))
        write(f"dry run: {len(rows)} documents would be forgotten")


def _described(row: Record) -> str:
    title = " ".join(row["title"].split())
    return f"{(row['date'] or '')[:10]:10}  {row['id']}  {row['units']} units  {title}".rstrip()


def _show_forgotten(result: Any, as_json: bool, quiet: bool) -> None:
    if as_json:
        show_json(result)
    elif not quiet:
        each = [result] if "document" in result else result["documents"]
        for one in each:
            heir = f"; {one['successor']} takes its place" if one["successor"] else ""
            write(f"{one['document']} forgotten: {one['units']} units{heir}")
        if not each:
            write("no document has these words; nothing was forgotten")


def _allow_again(wire: Wire, uids: list[str], *, as_json: bool, quiet: bool) -> None:
    result = wire.allow_again(uids)
    if as_json:
        show_json(result)
    elif not quiet:
        for uid in uids:
            write(f"{uid} is accepted again when it is next delivered")
        if result["held"]:
            write(
                f"{result['held']} of their texts stay refused: they were forgotten with other"
                " documents too"
            )


def must_exist(path: str) -> None:
    """Commands that change a store do not make one."""
    from segapsith_store import Store

    Store.reading(path).close()

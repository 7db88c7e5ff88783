"""A command is a function of a context; the shared options are added to it."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import pytest
import typer
import typer.testing

from segapsith.cli.context import Context, Invocation, command, plain_command, quick_options
from segapsith.cli.options import AS_UNITS, SEGMENTER, SETS, SHARED
from segapsith.errors import UsageError


def invoke(function: object, *arguments: str) -> Invocation:
    """Runs a function as the only command of a program."""
    app = typer.Typer()
    app.command()(function)  # type: ignore[type-var]  # any function
    invocation = Invocation()
    with invocation:
        typer.main.get_command(app).main(
            args=list(arguments), prog_name="test", obj=invocation, standalone_mode=False
        )
    return invocation


def test_options_that_set_settings_reach_the_settings_alone() -> None:
    contexts: list[Context] = []

    @command(SEGMENTER, SETS)
    def work(context: Context, word: Annotated[str, typer.Argument()], *, top: int = 3) -> None:
        """Work."""
        assert (word, top) == ("river", 5)
        contexts.append(context)

    invoke(work, "river", "--top", "5", "--segmenter", "none", "--set", "k=2", "--store", "a.db")
    (context,) = contexts
    assert context.settings.values["segmenter"] == "none"
    assert context.settings.origins["segmenter"] == "flag"
    assert dict(context.settings.plugins) == {"k": 2}
    assert context.path == "a.db"
    assert context.settings is context.settings
    assert set(SHARED) <= set(inspect.signature(work).parameters)


def test_two_options_for_one_setting_must_agree() -> None:
    @command(SEGMENTER, AS_UNITS)
    def work(context: Context) -> None:
        """Work."""
        assert context.settings.values["segmenter"] == "none"

    invoke(work, "--as-units")
    invoke(work, "--as-units", "--segmenter", "none")
    with pytest.raises(UsageError, match="contradict each other"):
        invoke(work, "--as-units", "--segmenter", "paragraphs")


def test_a_plain_command_of_a_plugin_takes_the_options_about_messages() -> None:
    words: list[str] = []

    def greet(ctx: typer.Context, word: str) -> None:
        words.append(f"{ctx.info_name} {word}")

    def wave(times: int = 1) -> None:
        words.append("wave" * times)

    assert invoke(plain_command(greet), "hello", "--debug").debug
    assert not invoke(plain_command(wave), "--times", "2").debug
    assert words == ["test hello", "wavewave"]


def test_a_command_made_here_is_left_as_it_is() -> None:
    @command()
    def work(context: Context) -> None:
        """Work."""

    assert plain_command(work) is work


VALUES = (
    (), ("river",), ("7", "--size", "3"), ("--size", "0"), ("--size", "9"), ("--size", "three"),
    ("--size", "-1"), ("--size", "٣"), ("--ratio", "0.5"), ("--ratio", "x"), ("--kind", "b"),
    ("--kind", "c"), ("--word", "a", "--word", "b"), ("--number", "4", "--number", "5"), ("--yes",),
    ("", "--name", ""), ("--least", "0"), ("--least", "2"), ("--upper", "abc"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", VALUES, ids=" ".join)
def test_values_that_typer_does_not_convert_are_those_that_it_would_return(
    arguments: tuple[str, ...],
) -> None:
    app, received = typer.Typer(), []

    @app.command()
    def work(
        first: Annotated[str | None, typer.Argument()] = None,
        *,
        name: str = "none",
        size: Annotated[int, typer.Option(min=1, max=8)] = 2,
        least: Annotated[int | None, typer.Option(min=0)] = None,
        ratio: float | None = None,
        kind: Literal["a", "b"] = "a",
        word: list[str] | None = None,
        number: list[int] | None = None,
        upper: Annotated[str | None, typer.Option(parser=str.upper)] = None,
        yes: bool = False,
    ) -> None:
        received.append((first, name, size, least, ratio, kind, word, number, upper, yes))

    def outcome(program: Any) -> object:
        try:
            program.main(args=list(arguments), prog_name="work", standalone_mode=False)
        except Exception as error:
            return type(error), str(error)
        return received.pop()

    whole, quick = typer.main.get_command(app), typer.main.get_command(app)
    assert outcome(quick_options(quick)) == outcome(whole)

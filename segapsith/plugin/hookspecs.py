"""How plugins are offered: each hook returns a mapping of name to factory.

A factory takes keyword-only settings with defaults and gives an object of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pluggy

from segapsith.languages import LanguagePack
from segapsith.plugin.contracts import (
    Annotator,
    Clusterer,
    Comparison,
    Executor,
    Exporter,
    Labeller,
    Notifier,
    Segmenter,
    Similarity,
    Source,
)

if TYPE_CHECKING:
    import typer

__all__ = ["HOOKS", "PROJECT", "CommandHooks", "PluginHooks", "hookimpl"]

PROJECT = "segapsith"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class PluginHooks:
    """What an entry point in the group `segapsith` may offer."""

    @hookspec
    def register_sources(self) -> Mapping[str, Callable[..., Source]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Formats that can be read."""

    @hookspec
    def register_annotators(self) -> Mapping[str, Callable[..., Annotator]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Ways from a text to lemmas."""

    @hookspec
    def register_segmenters(self) -> Mapping[str, Callable[..., Segmenter]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Ways from an annotated text to thematic units."""

    @hookspec
    def register_similarities(self) -> Mapping[str, Callable[..., Similarity]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Measures between rows."""

    @hookspec
    def register_clusterers(self) -> Mapping[str, Callable[..., Clusterer]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Ways to group rows."""

    @hookspec
    def register_comparisons(self) -> Mapping[str, Callable[..., Comparison]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Measures between two partitions."""

    @hookspec
    def register_exporters(self) -> Mapping[str, Callable[..., Exporter]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Formats that can be written."""

    @hookspec
    def register_languages(self) -> Mapping[str, Callable[[], LanguagePack]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Language packs by the code of the language."""

    @hookspec
    def register_labellers(self) -> Mapping[str, Callable[..., Labeller]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Ways to name domains, topics, sections and events."""

    @hookspec
    def register_executors(self) -> Mapping[str, Callable[..., Executor]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Ways to run tasks in other processes or on other machines."""

    @hookspec
    def register_notifiers(self) -> Mapping[str, Callable[..., Notifier]]:  # type: ignore[empty-body]  # a hookspec is a signature
        """Places where the notices of a night are sent."""


class CommandHooks:
    """What an entry point in the group `segapsith.commands` may offer."""

    @hookspec
    def register_commands(self, app: typer.Typer) -> None:
        """Adds commands to the command line; help on every command."""


HOOKS: dict[str, str] = {
    "source": "register_sources",
    "annotator": "register_annotators",
    "segmenter": "register_segmenters",
    "similarity": "register_similarities",
    "clusterer": "register_clusterers",
    "comparison": "register_comparisons",
    "exporter": "register_exporters",
    "labeller": "register_labellers",
    "notifier": "register_notifiers",
    "executor": "register_executors",
}
"""Kind of plugin and the hook that offers it."""

"""Prepare archives: do once, and in parallel, what depends on the texts alone.

`prepare` writes shards that `ingest` reads as a source. The store is then the same as after reading
the archive itself, because everything that is learned happens at ingest, in the order of arrival.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from segapsith import __version__, errors
from segapsith.api.factory import Factory
from segapsith.api.preparation.folder import ShardFile, ShardFolder
from segapsith.api.preparation.portions import STORIES, Portion, groups, large_portions, whole
from segapsith.api.preparation.tasks import Recipe
from segapsith.errors import SegapsithError, UsageError
from segapsith.intake.documents import texts_version
from segapsith.intake.language import language_version
from segapsith.model import Result
from segapsith.parallel.packing import Frozen
from segapsith.settings import Value, resolve

__all__ = ["Preparation", "prepare", "prepare_with"]


@dataclass(frozen=True, slots=True)
class Preparation(Result):
    """What a preparation did; `failures` are the inputs that could not be read to the end."""

    output: str
    shards: int
    written: int
    kept: int
    """Shards that were there already."""
    removed: int
    """Shards of inputs that have changed since, or that other settings made."""
    stories: int
    rejected: int
    bytes: int
    seconds: float
    failures: tuple[SegapsithError, ...] = ()

    def keys(self) -> list[str]:
        """Return the names of the fields without the failures, which are errors."""
        return [name for name in Result.keys(self) if name != "failures"]


def prepare(
    inputs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    replace: bool = False,
    **settings: Value,
) -> Preparation:
    """Prepare files and directories: write shards to the directory `output`.

    `settings` are those of the configuration file, such as `annotator`, `lang` and `workers`. The
    same call continues what was interrupted. With `replace`, shards of other inputs or settings are
    deleted; without, they are an error.
    """
    factory = Factory(resolve(settings, environment={}))
    try:
        return prepare_with(factory, [os.fspath(name) for name in inputs], output, format, replace)
    finally:
        factory.close()


def prepare_with(
    factory: Factory,
    names: Sequence[str],
    output: str | os.PathLike[str],
    format: str | None = None,
    replace: bool = False,
    on_shard: Callable[[ShardFile], None] | None = None,
) -> Preparation:
    """Prepare inputs with the plugins of a factory; `on_shard` is called after each shard."""
    began = time.monotonic()
    recipe = _recipe(factory, names, format)
    with ShardFolder(Path(output)) as folder:
        others = folder.others(recipe.name)
        if others and not replace:
            raise UsageError(
                f"{folder.path} has {len(others):,} shards of other inputs, settings or versions;"
                " use another directory, or --replace to delete them"
            )
        folder.remove(others)
        work = _Preparer(factory, folder, recipe)
        shards = []
        for shard, is_new in work.shards(names):
            shards.append((shard, is_new))
            if on_shard is not None:
                on_shard(shard)
        removed = len(others) + folder.remove_unused()
    n_new = sum(is_new for _, is_new in shards)
    return Preparation(
        output=str(output),
        shards=len(shards),
        written=n_new,
        kept=len(shards) - n_new,
        removed=removed,
        stories=sum(shard.header.n_stories for shard, _ in shards),
        rejected=sum(shard.header.n_rejects for shard, _ in shards),
        bytes=sum(shard.n_bytes for shard, _ in shards),
        seconds=round(time.monotonic() - began, 3),
        failures=tuple(work.failures),
    )


def _recipe(factory: Factory, names: Sequence[str], format: str | None) -> Recipe:
    """Return what decides the shards; its hash also covers the names of the inputs."""
    lang = factory.settings.reading.lang
    annotator = factory.annotator()
    values = {
        "names": list(names),
        "format": format,
        "stories": STORIES,
        "program": __version__,
        "texts": texts_version(),
        "language": language_version(lang),
        "annotator": [annotator.who.name, annotator.who.package],
        "versions": factory.versions(),
        "settings": dict(factory.reading_plugins().annotator_settings),
    }
    text = json.dumps(values, sort_keys=True)
    return Recipe(lang, format, hashlib.sha256(text.encode("utf-8")).hexdigest())


class _Preparer:
    """Sends portions to workers and writes what they return, in the order of the inputs."""

    def __init__(self, factory: Factory, folder: ShardFolder, recipe: Recipe) -> None:
        self._factory, self._folder, self._recipe = factory, folder, recipe
        self._plan: deque[tuple[int, list[ShardFile]]] = deque()
        """Group of each portion that was sent, with the shards before it that are there already."""
        self.failures: list[SegapsithError] = []

    def shards(self, names: Sequence[str]) -> Iterator[tuple[ShardFile, bool]]:
        """Yield all shards in order, and whether each was written now."""
        plugins = Frozen(self._factory.reading_plugins())
        plugins.derived["registry"] = self._factory.registry  # for work in this process
        shared = {"plugins": plugins, "recipe": Frozen(self._recipe)}
        self._kept: list[ShardFile] = []
        results = self._factory.executor.map("prepare", self._portions(names), shared)
        for shards in results:
            group, earlier = self._plan.popleft()
            yield from self._noted(earlier, is_new=False)
            yield from self._noted([self._folder.write(group, one) for one in shards], is_new=True)
        yield from self._noted(self._kept, is_new=False)

    def _noted(
        self, shards: Sequence[ShardFile], *, is_new: bool
    ) -> Iterator[tuple[ShardFile, bool]]:
        for shard in shards:
            for kind, text in shard.header.failures:
                self.failures.append(getattr(errors, kind, SegapsithError)(text))
            yield shard, is_new

    def _portions(self, names: Sequence[str]) -> Iterator[Portion]:
        """Yield the portions that are not in the folder yet."""
        inputs = self._factory.inputs([], format=self._recipe.format)
        for group in groups(names, self.failures):
            key = group.key(self._recipe.name)
            if there := self._folder.all_of(group.number, key):
                self._kept += there
            elif not group.is_large:
                yield self._sent(group.number, whole(group, key))
            else:
                for portion in large_portions(group, key, inputs):
                    shard = self._folder.find(group.number, portion.part, key)
                    if shard is not None and shard.header.is_last == portion.is_last:
                        self._kept.append(shard)
                    else:
                        yield self._sent(group.number, portion)

    def _sent(self, group: int, portion: Portion) -> Portion:
        self._plan.append((group, self._kept))
        self._kept = []
        return portion

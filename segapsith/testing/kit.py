"""What the checks of every kind share: the time limit, fresh plugins, rows of several shapes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.errors import PluginTimeoutError
from segapsith.plugin import guards
from segapsith.plugin.contracts import KINDS

__all__ = [
    "SECONDS",
    "Check",
    "Factory",
    "Frozen",
    "TooSlowError",
    "bounded",
    "check_settings",
    "halves",
    "of_kind",
    "taken",
    "wider",
    "with_empty",
]

Factory: TypeAlias = Callable[..., Any]
"""Gives a fresh plugin when it is called; takes its settings by name."""

Check: TypeAlias = Callable[..., None]
"""Takes a factory and, if its time limit is to be another one, `seconds`."""

SECONDS = 60.0
"""Time that one check may take; its rows and texts are small."""


class TooSlowError(AssertionError):
    """A check took more time than it may."""


def bounded(body: Callable[[Factory], None]) -> Check:
    """The check with its time limit; whatever goes wrong in it names the plugin."""

    @functools.wraps(body)
    def check(factory: Factory, seconds: float = SECONDS) -> None:
        name = getattr(factory, "__name__", None) or type(factory).__name__
        failure: BaseException | None = None
        now = guards.charged_seconds
        end = now() + seconds
        try:
            with guards.time_limit(
                guards.PluginName("plugin", name), body.__name__, seconds, clock=now
            ):
                body(factory)
        except (Exception, SystemExit) as error:
            failure = error
        if isinstance(failure, PluginTimeoutError) or now() >= end:
            message = f"{name}: {body.__name__} took more than {seconds:g} seconds"
            raise TooSlowError(message) from failure
        if failure is not None:
            broken = isinstance(failure, AssertionError)
            raised = f"{body.__name__}: raised {type(failure).__name__}: {failure}"
            message = f"{name}: {failure if broken else raised}"
            raise AssertionError(message) from (None if broken else failure)

    return check


def taken(factory: Factory, **settings: object) -> Any:
    """A plugin with those of the settings that it has."""
    parameters = inspect.signature(factory).parameters
    return factory(**{name: value for name, value in settings.items() if name in parameters})


def of_kind(kind: str, factory: Factory) -> None:
    plugin, contract = factory(), KINDS[kind]
    named = {*vars(contract), *getattr(contract, "__annotations__", {})}
    lacking = sorted(n for n in named if n[0] != "_" and not hasattr(plugin, n))
    assert not lacking, f"is not a {kind}: it lacks {', '.join(lacking)}"


@bounded
def check_settings(factory: Factory) -> None:
    """Every setting has a default, and an unknown one is refused with TypeError or ValueError."""
    without = [
        p.name
        for p in inspect.signature(factory).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    assert not without, f"settings without a default: {', '.join(without)}"
    try:
        factory(no_such_setting=1)
    except (TypeError, ValueError):
        return
    raise AssertionError("took the unknown setting no_such_setting=1; TypeError is wanted")


class Frozen:
    """Rows as they were, to see afterwards whether anything in them has changed."""

    def __init__(self, *rows: Rows) -> None:
        self._rows = rows
        self._before = [(r.data.copy(), r.indices.copy(), r.indptr.copy()) for r in rows]

    def assert_same(self, method: str) -> None:
        for rows, before in zip(self._rows, self._before, strict=True):
            now = (rows.data, rows.indices, rows.indptr)
            for name, old, new in zip(("data", "indices", "indptr"), before, now, strict=True):
                changed = f"{method} changed its input (rows.{name}); a copy is wanted"
                assert np.array_equal(old, new), changed


def halves(rows: Rows) -> tuple[Rows, Rows]:
    half = rows.shape[0] // 2
    return rows[:half], rows[half:]


def with_empty(rows: Rows, *places: int) -> Rows:
    """The rows with those at the places emptied."""
    factors = np.ones(rows.shape[0])
    factors[list(places)] = 0.0
    emptied = csr_array(rows.multiply(factors[:, None]))
    emptied.eliminate_zeros()
    return emptied


def wider(rows: Rows, n_words: int) -> Rows:
    """The rows in a vocabulary that has grown; the last word is in the last row."""
    wide = csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_words))
    corner = csr_array(([2.0], ([rows.shape[0] - 1], [n_words - 1])), shape=wide.shape)
    return csr_array(wide + corner)

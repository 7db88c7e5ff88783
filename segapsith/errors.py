"""What can go wrong, one class for each thing that a caller may want to tell apart.

Each class carries the exit code that the command line gives for it, so that the
codes stand in one place.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

__all__ = [
    "WORST_FIRST",
    "BusyError",
    "ConfigurationError",
    "FeedError",
    "ForeignStoreError",
    "InputError",
    "LearningChangeError",
    "MissingInputError",
    "PermissionDeniedError",
    "PluginError",
    "PluginLoadError",
    "PluginTimeoutError",
    "SegapsithError",
    "SettingError",
    "StorageError",
    "StoreCreationError",
    "UnfinishedStoreError",
    "UnknownNameError",
    "UsageError",
    "ValidationBelowError",
    "did_you_mean",
    "worst",
]

WORST_FIRST = (73, 74, 77, 70, 65, 66, 69, 76)
"""Of several exit codes, the one that is given."""


class SegapsithError(Exception):
    """The root of every error that this program raises on purpose."""

    exit_code = 1


class UsageError(SegapsithError):
    """The command was given in a way that makes no sense."""

    exit_code = 2


class InputError(SegapsithError):
    """A named input could not be read; the others were stored."""

    exit_code = 65


class MissingInputError(SegapsithError):
    """A named input does not exist."""

    exit_code = 66


class UnfinishedStoreError(MissingInputError):
    """The file of a store is there, but its creation was interrupted: it holds nothing yet."""


class FeedError(SegapsithError):
    """A feed could not be reached, or refused."""

    exit_code = 69


class PluginError(SegapsithError):
    """A plugin failed at its work, or returned what its contract forbids."""

    exit_code = 70


class PluginLoadError(PluginError):
    """A plugin that was asked for could not be loaded."""


class PluginTimeoutError(PluginError):
    """A plugin took more time than it may, and was stopped."""


class StoreCreationError(SegapsithError):
    """The store cannot be created where it was wanted."""

    exit_code = 73


class StorageError(SegapsithError):
    """Reading or writing failed: disk full, a damaged file, an I/O error."""

    exit_code = 74


class ForeignStoreError(SegapsithError):
    """The file is there, but it is not a store of this program; it is left untouched."""

    exit_code = 65


class BusyError(SegapsithError):
    """Another process is writing to the store."""

    exit_code = 75


class ValidationBelowError(SegapsithError):
    """A validation figure lies below the threshold that was asked for."""

    exit_code = 76


class PermissionDeniedError(SegapsithError):
    """The system forbids it."""

    exit_code = 77


class ConfigurationError(SegapsithError):
    """The configuration is wrong."""

    exit_code = 78


class LearningChangeError(ConfigurationError):
    """A setting is given that the store was not learned with, and no change was asked for."""


class SettingError(ConfigurationError):
    """A setting of a plugin is unknown, or the value of any setting is not allowed."""


class UnknownNameError(ConfigurationError):
    """Nothing of that kind has that name."""


def worst(codes: Collection[int]) -> int:
    """The exit code of several failures; 0 for none.

    >>> worst({69, 65}), worst({75}), worst(set())
    (65, 75, 0)
    """
    return next((code for code in WORST_FIRST if code in codes), max(codes, default=0))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing hint for a name that was not found, or nothing.

    >>> did_you_mean("domians", ["domains", "topics"])
    "; did you mean 'domains'?"
    """
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""

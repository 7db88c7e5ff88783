"""Define the errors: one class for each failure that a caller may want to distinguish.

Each class has the exit code of the command line. An error has a message for people and, where
they apply, attributes for programs: `uid`, `setting`, `plugin`, `path`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

__all__ = [
    "WORST_FIRST",
    "BusyError",
    "ConfigurationError",
    "DeliveryError",
    "FeedError",
    "ForeignStoreError",
    "InputError",
    "LearningChangeError",
    "MissingInputError",
    "OldSchemaError",
    "PermissionDeniedError",
    "PluginError",
    "PluginLoadError",
    "PluginTimeoutError",
    "QueryTimeoutError",
    "SegapsithError",
    "SettingError",
    "StorageError",
    "StoreCreationError",
    "UncertainDeliveryError",
    "UnfinishedStoreError",
    "UnknownNameError",
    "UsageError",
    "ValidationBelowError",
    "WorkerKilledError",
    "WorkersLostError",
    "did_you_mean",
    "worst",
]

WORST_FIRST = (73, 74, 77, 70, 65, 66, 69, 76)
"""Precedence of exit codes: of several failures, the first of these is returned."""


class SegapsithError(Exception):
    """The root of every error that this program raises on purpose.

    >>> SettingError("threshold=2 should be at most 1", setting="threshold").setting
    'threshold'
    """

    exit_code = 1

    def __init__(
        self,
        message: str = "",
        *,
        uid: str | None = None,
        setting: str | None = None,
        plugin: str | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.uid = uid
        """The document that it is about."""
        self.setting = setting
        """The setting that it is about."""
        self.plugin = plugin
        """The plugin that it is about."""
        self.path = path
        """The file that it is about."""


class UsageError(SegapsithError):
    """The arguments of a command contradict each other or are incomplete."""

    exit_code = 2


class InputError(SegapsithError):
    """A named input could not be read; the others were stored."""

    exit_code = 65


class MissingInputError(SegapsithError):
    """A named input does not exist."""

    exit_code = 66


class UnfinishedStoreError(MissingInputError):
    """The file of a store exists, but its creation was interrupted; it is empty."""


class FeedError(SegapsithError):
    """A feed could not be reached, or refused."""

    exit_code = 69


class DeliveryError(SegapsithError):
    """A notification could not be sent; it is sent again the next time."""

    exit_code = 69


class UncertainDeliveryError(DeliveryError):
    """A notification may have arrived although the sending failed; it is not sent again."""


class PluginError(SegapsithError):
    """A plugin failed, or returned a value that its contract forbids."""

    exit_code = 70


class PluginLoadError(PluginError):
    """A requested plugin could not be loaded."""


class PluginTimeoutError(PluginError):
    """A plugin exceeded its time limit and was stopped."""


class WorkerKilledError(PluginError):
    """A task ended its worker several times, so it is not tried again."""


class StoreCreationError(SegapsithError):
    """The store cannot be created at the given path."""

    exit_code = 73


class StorageError(SegapsithError):
    """Reading or writing failed: disk full, a damaged file, an I/O error."""

    exit_code = 74


class WorkersLostError(StorageError):
    """The workers cannot be reached, or the connection to them was lost."""


class QueryTimeoutError(StorageError):
    """A query exceeded the time limit of its reader and was stopped."""


class ForeignStoreError(SegapsithError):
    """The file exists but is not a store of this program; it is not changed."""

    exit_code = 65


class OldSchemaError(ForeignStoreError):
    """The store has an older schema; a command that writes brings it up to date."""


class BusyError(SegapsithError):
    """Another process is writing to the store."""

    exit_code = 75


class ValidationBelowError(SegapsithError):
    """A validation figure is below the requested minimum."""

    exit_code = 76


class PermissionDeniedError(SegapsithError):
    """The operating system denied access."""

    exit_code = 77


class ConfigurationError(SegapsithError):
    """The configuration is wrong."""

    exit_code = 78


class LearningChangeError(ConfigurationError):
    """A setting differs from the one that the store was learned with, and no change was requested."""


class SettingError(ConfigurationError):
    """A setting of a plugin is unknown, or the value of any setting is not allowed."""


class UnknownNameError(ConfigurationError):
    """No plugin of that kind has that name."""


def worst(codes: Collection[int]) -> int:
    """Return the exit code for several failures; 0 for none.

    >>> worst({69, 65}), worst({75}), worst(set())
    (65, 75, 0)
    """
    return next((code for code in WORST_FIRST if code in codes), max(codes, default=0))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at a similar name to append to a message, or an empty text.

    >>> did_you_mean("domians", ["domains", "topics"])
    "; did you mean 'domains'?"
    """
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""

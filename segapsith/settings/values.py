"""Declare one setting and check its values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from segapsith.errors import SettingError

__all__ = ["PluginValue", "Setting", "Value", "checked", "read_value"]

PREFIX = "SEGAPSITH_"

Value = str | int | float | bool
PluginValue = Value | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its flat name, default, meaning, range, section and environment variable."""

    name: str
    default: Value
    about: str
    choices: tuple[str, ...] = ()
    environment: str = ""
    least: float | None = None
    most: float | None = None
    excluded: float | None = None
    """An end of the range that is not allowed itself."""
    learned: bool = False
    """Whether it changes what is learned; the store records it (see learning_settings.py)."""
    before: Value | None = None
    """Value of stores that learned before it was recorded, if it differs from the default."""
    pattern: str = ""
    """What a text has to match as a whole; whole numbers are accepted as texts then."""
    example: str = ""
    """The pattern in words."""
    section: str = ""
    key: str = ""
    """The name inside its section."""

    @property
    def variable(self) -> str:
        """Return the name of its environment variable."""
        return self.environment or PREFIX + self.name.upper()

    @property
    def expected(self) -> str:
        """Return the type and the range in words.

        >>> Setting("share", 0.5, "", least=0, most=1, excluded=0).expected
        'a number from 0 to 1 (not 0)'
        >>> Setting("size", 3, "", least=1).expected
        'a whole number of at least 1'
        """
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return self.example or "a text"
        text = "a whole number" if isinstance(self.default, int) else "a number"
        if self.most is not None:
            text += f" from {self.least or 0:g} to {self.most:g}"
        elif self.least is not None and self.least != self.excluded:
            text += f" of at least {self.least:g}"
        elif self.least is not None:
            return f"{text} above {self.least:g}"
        return text if self.excluded is None else f"{text} (not {self.excluded:g})"

    def allows(self, value: float) -> bool:
        """Return whether a number is in the range; infinity and NaN never are."""
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and value != self.excluded
        )


def checked(setting: Setting, value: Any, origin: str) -> Value:
    """Return the value as the type of its default, or raise an error that names type and range.

    >>> share = Setting("share", 0.5, "", least=0, most=1)
    >>> checked(share, "0.3", "flag")
    0.3
    >>> checked(share, "abc", "flag")
    Traceback (most recent call last):
    segapsith.errors.SettingError: share='abc' (flag) should be a number from 0 to 1
    """
    kind = type(setting.default)
    result: Value
    try:
        if kind is bool:
            result = value if isinstance(value, bool) else _BOOLEANS[str(value).lower()]
        elif kind is str:
            result = ", ".join(value) if isinstance(value, list) else value
            if setting.pattern and type(result) is int:
                result = str(result)
            if not isinstance(result, str):
                raise TypeError
            if setting.pattern and not re.fullmatch(setting.pattern, result):
                raise ValueError
        else:
            if isinstance(value, bool):
                raise TypeError
            result = float(value) if kind is float else _whole(value)
            if not setting.allows(result):
                raise ValueError
        if setting.choices and result not in setting.choices:
            raise ValueError
    except (KeyError, OverflowError, TypeError, ValueError):
        raise SettingError(
            f"{setting.name}={value!r} ({origin}) should be {setting.expected}",
            setting=setting.name,
        ) from None
    return result


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else int(str(value))


def read_value(text: str) -> PluginValue:
    """Return a typed value: a number, true, false, none, or the text itself.

    >>> [read_value(t) for t in ("3", "0.5", "true", "ward", "none")]
    [3, 0.5, True, 'ward', None]
    """
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("none", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

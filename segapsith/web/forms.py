"""Forms that browsers send: names with one value each, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from segapsith.errors import UsageError

__all__ = ["read_form"]

MOST_FIELDS = 200
MOST_NAME = 100


def read_form(body: bytes, content_type: str) -> Mapping[str, str]:
    """Return the fields of a form; of several values of a name, all of them separated by commas.

    >>> read_form(b"run=3&label=Oil+prices", "application/x-www-form-urlencoded")
    {'run': '3', 'label': 'Oil prices'}
    """
    kind = content_type.partition(";")[0].strip().lower()
    if body and kind != "application/x-www-form-urlencoded":
        raise UsageError("a form should be sent as application/x-www-form-urlencoded")
    try:
        text = body.decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise UsageError(f"the form cannot be read: {error}") from error
    form: dict[str, str] = {}
    for name, value in pairs:
        if len(name) > MOST_NAME or "\x00" in value:
            raise UsageError("the form has a field that is not allowed")
        form[name] = f"{form[name]},{value}" if name in form else value
    return form

"""Single values as the store writes them."""

from __future__ import annotations

import json
from typing import Any

from segapsith.errors import SegapsithError

__all__ = ["as_json"]


def as_json(value: Any) -> str:
    """JSON in one form only; what is not finite is refused."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise SegapsithError(f"a value that is not a number must not be kept: {error}") from error

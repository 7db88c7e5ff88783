"""Notices to a program of your own, as JSON on its standard input."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence

from segapsith.errors import DeliveryError, UncertainDeliveryError
from segapsith.model import Notice
from segapsith.plugin.contracts import Notifier
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.notifiers._texts import delivery_id, heading, required

__all__ = ["Command"]

MAX_REASON_CHARS = 300


class Command:
    """Runs a program without a shell; exit code 0 means that the notices arrived.

    `run` is the program with its arguments, quoted as in a shell. The JSON on its standard input
    has the form that a webhook gets.
    """

    def __init__(self, *, run: str = "", timeout: float = 60.0) -> None:
        if timeout <= 0:
            raise ValueError(f"timeout={timeout} should be above 0")
        self._words, self._timeout = shlex.split(run), timeout

    def send(self, notices: Sequence[Notice]) -> None:
        """Run the program and wait for its end."""
        if not notices:
            return
        required("command", run=" ".join(self._words))
        value = {
            "delivery": delivery_id(notices),
            "heading": heading(notices),
            "notices": [notice.as_json() for notice in notices],
        }
        try:
            answer = subprocess.run(
                self._words,
                input=json.dumps(value, ensure_ascii=False).encode(),
                capture_output=True,
                timeout=self._timeout,
                check=False,
            )
        except OSError as error:
            raise DeliveryError(f"{self._words[0]}: {error.strerror or error}") from error
        except subprocess.TimeoutExpired as error:
            raise UncertainDeliveryError(
                f"{self._words[0]}: took more than {self._timeout:g} s and was stopped"
            ) from error
        if answer.returncode:
            lines = answer.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = f": {lines[-1][:MAX_REASON_CHARS]}" if lines else ""
            raise DeliveryError(f"{self._words[0]}: exit code {answer.returncode}{reason}")


@hookimpl
def register_notifiers() -> Mapping[str, Callable[..., Notifier]]:
    return {"command": Command}

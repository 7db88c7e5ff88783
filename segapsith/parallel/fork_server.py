"""One process that imports what workers need: the workers of this machine are copies of it.

A worker of a cluster spends two to three seconds of processor time on imports. With a fork server
this is done once, while the process that asks does its own part, and workers share the memory of
what was imported.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from multiprocessing import forkserver
from typing import Any, ClassVar

from segapsith.parallel.tasks import GROUP

__all__ = ["ForkServer"]

OWN = ("segapsith.", "segapsith_plugins.", "segapsith_reproduce.")
"""Beginnings of modules that are imported in advance: nothing happens at their import."""

WARM = "segapsith.parallel.warm"
"""The module that imports what every worker needs."""


class ForkServer:
    """The use of the fork server of this process; the last user that stops ends it.

    A server that the program has started itself is used as it is, and not ended.
    """

    _users: ClassVar[set[ForkServer]] = set()
    _is_ours: ClassVar[bool] = False

    def start(self, task: str, environment: Mapping[str, str]) -> bool:
        """Start the server, which imports the module of a task, too, unless it runs already.

        Return whether there is a server: some systems have none. The environment is that of the
        server and of the workers; that of this process stays.
        """
        if "forkserver" not in multiprocessing.get_all_start_methods():
            return False
        # the standard library has no public way to see that a server runs, and to end it
        if getattr(_server(), "_forkserver_pid", None) is None:
            ForkServer._is_ours = True
            modules = [point.module for point in entry_points(group=GROUP, name=task)]
            own = [module for module in modules if module.startswith(OWN)]
            forkserver.set_forkserver_preload([WARM, *own])
        self._users.add(self)
        with _environment(environment):
            forkserver.ensure_running()
        return True

    def stop(self) -> None:
        """End the server if nobody else uses it; the workers of this user have ended."""
        self._users.discard(self)
        if ForkServer._is_ours and not self._users:
            with contextlib.suppress(AttributeError):  # then it ends with this process
                _server()._stop()
            forkserver.set_forkserver_preload(["__main__"])  # as the library has it
            ForkServer._is_ours = False


def _server() -> Any:
    return getattr(forkserver, "_forkserver", None)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

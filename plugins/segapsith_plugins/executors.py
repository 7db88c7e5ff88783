"""The executors of this package: in this process, in several, on a Dask cluster.

What they need is imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from segapsith.plugin.contracts import Executor
from segapsith.plugin.hookspecs import hookimpl

__all__ = ["register_executors"]


def serial() -> Executor:
    """Return the executor that runs tasks in this process."""
    from segapsith.parallel.serial import Serial

    return Serial()


def processes(*, workers: str = "") -> Executor:
    """Return the executor that runs tasks in processes of this machine."""
    from segapsith.parallel.processes import Processes

    return Processes(workers=workers)


def dask(*, workers: str = "") -> Executor:
    """Return the executor that runs tasks on a Dask cluster."""
    from segapsith.parallel.dask_cluster import DaskCluster

    return DaskCluster(workers=workers)


@hookimpl
def register_executors() -> Mapping[str, Callable[..., Executor]]:
    return {"serial": serial, "processes": processes, "dask": dask}

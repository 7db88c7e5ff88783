"""Tasks of this process use the loaded plugins; workers load their own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from segapsith.errors import ConfigurationError
from segapsith.parallel.packing import Frozen, pack, unpack
from segapsith.parallel.plugins import PLUGINS, check_installed, registry_of, share_plugins
from segapsith.parallel.tasks import Shared
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.registry import load_plugins


class Given:
    """A plugin that no worker can import."""

    @hookimpl
    def register_clusterers(self) -> Mapping[str, object]:
        return {"given": Given}


def test_tasks_of_this_process_use_the_loaded_plugins() -> None:
    registry = load_plugins(Given(), only_own=True)
    assert registry_of(Shared(share_plugins(registry))) is registry


def test_a_worker_loads_the_same_kinds_of_plugins_once() -> None:
    (value,) = share_plugins(load_plugins(Given(), only_own=True)).values()
    shared = Shared({PLUGINS: Frozen(unpack(pack(value.value)))})
    registry = registry_of(shared)
    assert registry.only_own and "given" not in registry.names("clusterer")
    assert registry_of(shared) is registry


def test_a_plugin_that_was_given_as_an_object_is_refused_by_name() -> None:
    registry = load_plugins(Given(), only_own=True)
    check_installed(registry, [("clusterer", "ahc")])
    with pytest.raises(ConfigurationError, match="clusterer 'given' was given as an object"):
        check_installed(registry, [("clusterer", "ahc"), ("clusterer", "given")])

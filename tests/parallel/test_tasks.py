"""Tasks are found by name; what they share is unpacked once; their errors keep their class."""

from __future__ import annotations

import pytest

from segapsith.errors import ConfigurationError, PluginError, SegapsithError
from segapsith.parallel.packing import Frozen, pack, unpack
from segapsith.parallel.tasks import (
    Recent,
    Shared,
    SharedValues,
    TaskError,
    find_task,
    perform,
    result_of,
)
from segapsith.testing.executors import checked_item


def test_a_task_is_found_by_its_registered_name() -> None:
    assert find_task("check") is checked_item
    with pytest.raises(ConfigurationError, match=r"no task is called 'chek'.*did you mean 'check'"):
        find_task("chek")


def test_an_item_is_done_from_bytes_to_bytes() -> None:
    shared = Shared({"offset": Frozen(2)})
    assert result_of(perform("check", pack(5), shared)) == [5, 2]


def test_an_error_keeps_its_class_its_message_and_its_worker() -> None:
    with pytest.raises(SegapsithError, match=r"item -1 is negative \(in a worker: .*process"):
        result_of(perform("check", pack(-1), Shared({})))
    with pytest.raises(TaskError, match="KeyError: 'offset'"):
        result_of(perform("check", pack(1), Shared({})))


def test_an_error_of_a_plugin_keeps_its_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(item: object, shared: Shared) -> None:
        raise PluginError("annotator 'x': annotate failed", plugin="x", uid="a1")

    monkeypatch.setattr("segapsith.parallel.tasks.find_task", lambda name: failing)
    with pytest.raises(PluginError) as caught:
        result_of(perform("any", pack(0), Shared({})))
    assert (caught.value.plugin, caught.value.uid) == ("x", "a1")
    assert caught.value.exit_code == 70


def test_shared_values_are_unpacked_once_and_old_sets_are_dropped() -> None:
    values, sender = SharedValues(), Recent()
    fixed = Frozen([1])
    first = None
    for number in range(8):
        changing = Frozen(number)
        names = {"fixed": fixed.digest, "changing": changing.digest}
        new = {one.digest: one.data for one in (fixed, changing) if one.digest not in sender}
        sender.use(names.values())
        shared = values.load(names, new)  # the sender knows what the worker has
        assert shared["changing"] == number and unpack(fixed.data) == shared["fixed"]
        first = first if first is not None else shared["fixed"]
        assert shared["fixed"] is first
        assert values.load(names, {}) is shared
    assert Frozen(0).digest not in sender and fixed.digest in sender


def test_what_is_derived_lives_as_long_as_its_value() -> None:
    values, fixed = SharedValues(), Frozen("settings")
    made = []
    for number in range(6):
        changing = Frozen(number)
        data = {one.digest: one.data for one in (fixed, changing)}
        shared = values.load({"fixed": fixed.digest, "changing": changing.digest}, data)
        shared.once("plugin", lambda: made.append("plugin"), of="fixed")
        shared.once("network", lambda: made.append("network"))
    assert made.count("plugin") == 1 and made.count("network") == 6

"""Checks of notifiers; nothing is sent."""

from __future__ import annotations

from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["notifier_checks"]


@bounded
def check_it_is_a_notifier(factory: Factory) -> None:
    """It has the method."""
    of_kind("notifier", factory)


@bounded
def check_nothing_to_send(factory: Factory) -> None:
    """Without notices there is nothing to do, and no setting is needed for it."""
    assert factory().send([]) is None, "send returned a value; None is wanted"


notifier_checks: tuple[Check, ...] = (
    check_it_is_a_notifier,
    check_settings,
    check_nothing_to_send,
)

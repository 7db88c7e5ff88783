"""Notifiers: where the notices of a night are sent."""

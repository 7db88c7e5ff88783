"""What to do about each alarm, for a reader of the page of today."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ADVICE", "Advice"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about an alarm, and the page that shows its cause."""

    text: str
    path: str


ADVICE = {
    "kappa": Advice(
        "One bad night needs nothing. If it is a trend, look at the verdicts and at the threshold.",
        "/validation",
    ),
    "new-domains": Advice(
        "Look at what is new. If it is one kind of text or a broken page, look at its feed; a real"
        " event needs nothing.",
        "/domains?sort=newest",
    ),
    "copies": Advice(
        "A feed delivers old stories under new ids, or is subscribed to twice. Domains are not"
        " affected.",
        "/feeds",
    ),
    "languages": Advice(
        "If a feed changed its language, nothing is to be done. If short texts are recognised"
        " wrongly, declare the language of the feed.",
        "/feeds",
    ),
    "silent-feed": Advice(
        "Open the address of the feed. If it moved or ended, remove it and subscribe to the new one.",
        "/feeds",
    ),
}
"""In short what docs/operations/alarms.md has at length."""

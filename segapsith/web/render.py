"""What a page shows, and its HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.history import history_sentence
from segapsith.web.templating import asset, environment
from segapsith.web.verdicts import verdict_sentence

__all__ = ["Page", "render"]

NAVIGATION = (
    ("/", "Today"),
    ("/sections", "Sections"),
    ("/topics", "Topics"),
    ("/domains", "Domains"),
    ("/events", "Events"),
    ("/timeline", "Timeline"),
    ("/map", "Map"),
    ("/validation", "Validation"),
    ("/compare", "Compare"),
    ("/runs", "Runs"),
    ("/feeds", "Feeds"),
    ("/watch", "Watch"),
    ("/cite", "Cite"),
)
FEDERATION = ("/federation", "Federation")
"""In the navigation if a federated view is shown."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows: a template, its values, and its charts by name."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    charts: Sequence[Chart | None] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    """Path and name of the pages above this one."""
    status: int = 200

    def chart(self, name: str) -> Chart | None:
        """Return the chart with a name, if the page has it."""
        return next((one for one in self.charts if one is not None and one.name == name), None)


def render(page: Page, ask: Ask) -> str:
    """Return the HTML of a page."""
    template = environment().get_template(page.template)
    texts = ask.texts
    return template.render(
        **page.values,
        page=page,
        ask=ask,
        t=texts.text,
        n=texts.number,
        count=texts.count,
        date=texts.date,
        url=ask.url,
        here=ask.here,
        texts=texts,
        verdict_sentence=verdict_sentence,
        history_sentence=history_sentence,
        charts={chart.name: chart for chart in page.charts if chart is not None},
        navigation=NAVIGATION if ask.desk.federation is None else (*NAVIGATION, FEDERATION),
        changes=ask.desk.options.allow_changes,
        asset=asset,
    )

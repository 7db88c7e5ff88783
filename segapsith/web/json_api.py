"""The JSON form of the application: `/api/v1/…`, in the shape of `--json`, paged, with a description."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from segapsith.errors import UsageError
from segapsith.model import Result
from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import MOST_PAGE, Ask, Span
from segapsith_store.queries.browsing.story_search import MARKS, StoryQuery

__all__ = ["PREFIX", "ROUTES", "JsonRoute", "Parameter", "description"]

PREFIX = "/api/v1"
MOST_TEXT = 200_000
"""Characters of a text to classify."""

_classifying = threading.Lock()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a route."""

    name: str
    meaning: str
    type: str = "string"
    least: int | None = None
    most: int | None = None
    choices: Sequence[str] = ()
    repeated: bool = False
    required: bool = False

    def described(self) -> dict[str, Any]:
        """Return the parameter in the form of OpenAPI."""
        schema: dict[str, Any] = {"type": self.type}
        if self.least is not None:
            schema["minimum"] = self.least
        if self.most is not None:
            schema["maximum" if self.type == "integer" else "maxLength"] = self.most
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.name in ("since", "until"):
            schema["format"] = "date"
        if self.repeated:
            schema = {"type": "array", "items": schema, "maxItems": 20}
        return {
            "name": self.name,
            "in": "query",
            "required": self.required,
            "description": self.meaning,
            "schema": schema,
        }


@dataclass(frozen=True, slots=True)
class JsonRoute:
    """A route with its description."""

    path: str
    summary: str
    work: Callable[[Ask, bytes], Response]
    parameters: Sequence[Parameter] = ()
    returns: str = "object"
    method: str = "GET"
    body: dict[str, Any] | None = None

    @property
    def public_path(self) -> str:
        """The path as the description names it.

        >>> JsonRoute("/stories/{uid:path}", "", lambda ask, body: Response()).public_path
        '/api/v1/stories/{uid}'
        """
        return f"{PREFIX}{self.path}".replace(":path}", "}")


def _answer(value: object, status: int = 200) -> Response:
    def plain(other: Any) -> Any:
        return other.as_json() if isinstance(other, Result) else str(other)

    text = json.dumps(value, ensure_ascii=False, default=plain, allow_nan=False)
    return Response(text, status, media_type="application/json")


def _paged(ask: Ask, rows: Sequence[object], total: int | None = None) -> Response:
    """Return a page of a list; headers have the number of all rows and the next page."""
    span = ask.span(50)
    shown = rows[span.offset : span.offset + span.limit] if total is None else rows
    return _counted(ask, _answer(list(shown)), span, len(rows) if total is None else total)


def _counted(ask: Ask, response: Response, span: Span, total: int) -> Response:
    """Return an answer with the number of all rows and the address of the next page."""
    response.headers["x-total-count"] = str(total)
    if span.offset + span.limit < total:
        following = ask.here(offset=span.offset + span.limit, limit=span.limit, page=None)
        response.headers["link"] = f'<{following}>; rel="next"'
    return response


# -- routes --------------------------------------------------------------------------------------


def status(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.status())


def topics(ask: Ask, _: bytes) -> Response:
    span = ask.span(50)
    listed = ask.wire.browse.topics(span.limit, span.offset)
    return _paged(ask, listed, ask.wire.browse.n_topics())


def sections(ask: Ask, _: bytes) -> Response:
    return _paged(ask, ask.wire.browse.sections())


def events(ask: Ask, _: bytes) -> Response:
    span = ask.span(50)
    listed = ask.wire.events.list(
        since=ask.day("since"),
        until=ask.day("until"),
        domain=ask.number("domain", 0) or None,
        min_stories=ask.number("min_stories", 1, 1),
        limit=span.limit + 1,
        offset=span.offset,
    )
    return _paged(ask, listed[: span.limit], span.offset + len(listed))


def today(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.browse.today(ask.moment("since")))


def domains(ask: Ask, _: bytes) -> Response:
    span = ask.span(50)
    as_of = ask.moment("as_of")
    least = ask.number("min_units", 1, 1)
    lang = ask.text("lang", most=20) or None
    activity = ask.wire.browse.activity(as_of)
    total = sum(
        row.units >= least and lang in (None, row.lang) for row in activity.described.values()
    )
    since = ask.moment("since")
    listed = ask.wire.domains.list(
        min_units=least,
        top=ask.number("top", 10, 1, 200),
        since=since,
        limit=None if since is not None else span.offset + span.limit,
        lang=lang,
        as_of=as_of,
        days=ask.text("days") in ("1", "true"),
    )
    shown = listed[span.offset : span.offset + span.limit]
    return _paged(ask, shown, total if since is None else len(listed))


def domain(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.domains.show(ask.number_part("id"), top=ask.number("top", 40, 1, 500)))


def search(ask: Ask, _: bytes) -> Response:
    words = ask.text("q") or ask.text("words")
    query = story_query(ask)
    span = ask.span(20)
    hits = ask.wire.browse.search(
        query, domains=domains_asked(ask) or None, limit=span.limit, offset=span.offset
    )
    domains = ask.wire.search(words, span.limit).domains if words else []
    documents = [
        {**hit.as_json(), "snippet": hit.snippet.replace(MARKS[0], "[").replace(MARKS[1], "]")}
        for hit in hits.stories
    ]
    response = _answer(
        {"documents": documents, "domains": list(domains), "total": hits.total, "days": hits.days}
    )
    return _counted(ask, response, span, hits.total)


def domains_asked(ask: Ask) -> list[int]:
    """Return the domains to which a search is limited: by number, by topic and by section."""
    browse = ask.wire.browse
    of_topics = [d for number in ask.numbers("topic") for d in browse.topic(number).domains]
    of_sections = browse.domains_of_sections(ask.numbers("section"))
    return [*ask.numbers("domain"), *of_topics, *of_sections]


def story_query(ask: Ask) -> StoryQuery:
    """Return what a search asks for."""
    return StoryQuery(
        words=ask.text("q") or ask.text("words"),
        since=ask.day("since"),
        until=ask.day("until"),
        lang=ask.text("lang", most=20) or None,
        source=ask.text("source", most=300) or None,
        newest=ask.choice("sort", ("best", "newest"), "best") == "newest",
    )


def story(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.browse.story(ask.part("uid")))


def explain(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.explain(ask.number_part("id")))


def timeline(ask: Ask, _: bytes) -> Response:
    return _answer(
        ask.wire.browse.timeline(
            domains=ask.numbers("domain"),
            topics=ask.numbers("topic"),
            by=ask.choice("by", BUCKETS, "week"),
            since=ask.day("since"),
            until=ask.day("until"),
        )
    )


def runs(ask: Ask, _: bytes) -> Response:
    return _paged(ask, ask.wire.runs())


def validations(ask: Ask, _: bytes) -> Response:
    lang = ask.text("lang", most=20) or None
    return _paged(ask, ask.wire.validation.history(lang)[::-1])


def compare(ask: Ask, _: bytes) -> Response:
    left, right = ask.moment("left"), ask.moment("right")
    if left is None or right is None:
        raise UsageError("compare needs left and right: runs or dates")
    with ask.wire.reading():
        compared = ask.wire.compare(left, right)
        changed = ask.wire.browse.differences(left, right)
    return _answer({**compared.as_json(), "differences": changed.as_json()})


def differences(ask: Ask, _: bytes) -> Response:
    left = ask.moment("left")
    if left is None:
        raise UsageError("differences needs left: a run or a date")
    return _answer(ask.wire.browse.differences(left, ask.moment("right")))


def word(ask: Ask, _: bytes) -> Response:
    return _answer(ask.wire.browse.word(ask.part("lang"), ask.part("word")))


def classify(ask: Ask, body: bytes) -> Response:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError("the body should be JSON") from error
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise UsageError('the body should be {"text": "…"}')
    text, title, lang = given["text"], given.get("title", ""), given.get("lang")
    top = given.get("top", 3)
    if not isinstance(title, str) or not isinstance(lang, str | None):
        raise UsageError("title and lang should be texts")
    if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= 20:
        raise UsageError("top should be a whole number from 1 to 20")
    if len(text) + len(title) > MOST_TEXT:
        raise UsageError(f"a text should have at most {MOST_TEXT} characters")
    with _classifying:
        return _answer(ask.wire.classify(text, title=title, top=top, lang=lang))


def describe(ask: Ask, _: bytes) -> Response:
    return _answer(description(ask.desk.options.base_path))


_LIMIT = (
    Parameter("limit", "rows of a page", "integer", 1, MOST_PAGE),
    Parameter("offset", "rows before the page", "integer", 0, 10**12),
)
_LANG = Parameter("lang", "language, such as en", most=20)
_PERIOD = (Parameter("since", "first day"), Parameter("until", "last day"))
_AS_OF = Parameter("as_of", "run or date: the state at that time", most=40)
_SIDES = (
    Parameter("left", "run or date", most=40, required=True),
    Parameter("right", "run or date", most=40, required=True),
)

ROUTES: tuple[JsonRoute, ...] = (
    JsonRoute("/openapi.json", "This description", describe),
    JsonRoute("/status", "Counts, digest and last run", status),
    JsonRoute(
        "/today",
        "What is new, rising and falling, by section",
        today,
        (Parameter("since", "run or date (default: the last night)", most=40),),
    ),
    JsonRoute("/sections", "Sections, largest first", sections, _LIMIT, "array"),
    JsonRoute(
        "/events",
        "Events, the latest first",
        events,
        (
            *_PERIOD,
            Parameter("domain", "only events of this domain", "integer", 0),
            Parameter("min_stories", "least number of stories", "integer", 1),
            *_LIMIT,
        ),
        "array",
    ),
    JsonRoute("/topics", "Topics, largest first", topics, _LIMIT, "array"),
    JsonRoute(
        "/domains",
        "Domains, largest first",
        domains,
        (
            *_LIMIT,
            Parameter("min_units", "least number of units", "integer", 1),
            Parameter("top", "words of each domain", "integer", 1, 200),
            Parameter("since", "run or date: only domains that grew after it", most=40),
            _LANG,
            _AS_OF,
            Parameter("days", "1: with units by day", choices=("0", "1")),
        ),
        "array",
    ),
    JsonRoute(
        "/domains/{id}",
        "One domain",
        domain,
        (Parameter("top", "words of the domain", "integer", 1, 500),),
    ),
    JsonRoute(
        "/search",
        "Stories and domains that have all the words",
        search,
        (
            Parameter("q", "words", most=500),
            *_PERIOD,
            _LANG,
            Parameter("source", "source of the stories", most=300),
            Parameter("domain", "only stories of these domains", "integer", 0, repeated=True),
            Parameter("topic", "only stories of these topics", "integer", 0, repeated=True),
            Parameter("section", "only stories of these sections", "integer", 0, repeated=True),
            Parameter("sort", "order of the stories", choices=("best", "newest")),
            *_LIMIT,
        ),
    ),
    JsonRoute("/stories/{uid:path}", "One story with its units, versions and copies", story),
    JsonRoute("/units/{id}/explain", "Why a unit is in its domain", explain),
    JsonRoute(
        "/timeline",
        "Units of domains and topics over time",
        timeline,
        (
            Parameter("domain", "domains", "integer", 0, repeated=True),
            Parameter("topic", "topics", "integer", 0, repeated=True),
            Parameter("by", "size of a step", choices=BUCKETS),
            *_PERIOD,
        ),
    ),
    JsonRoute("/runs", "The run log, newest first", runs, _LIMIT, "array"),
    JsonRoute("/validations", "Validations, newest first", validations, (*_LIMIT, _LANG), "array"),
    JsonRoute("/compare", "How far two runs or dates agree", compare, _SIDES),
    JsonRoute(
        "/differences",
        "Domains that appeared, went, merged, split and grew",
        differences,
        (_SIDES[0], Parameter("right", "run or date (default: now)", most=40)),
    ),
    JsonRoute("/words/{lang}/{word}", "A word and the domains that have it", word),
    JsonRoute(
        "/classify",
        "The domains that a text belongs to; nothing is learned",
        classify,
        method="POST",
        body={
            "type": "object",
            "required": ["text"],
            "properties": {
                "text": {"type": "string", "maxLength": MOST_TEXT},
                "title": {"type": "string", "maxLength": 1000},
                "lang": {"type": "string", "maxLength": 20, "examples": ["en", "fr", "de"]},
                "top": {"type": "integer", "minimum": 1, "maximum": 20},
            },
        },
    ),
)


# -- description ---------------------------------------------------------------------------------


def description(base_path: str = "") -> dict[str, Any]:
    """Return every route in the form of OpenAPI 3.1."""
    from segapsith import __version__

    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        operation: dict[str, Any] = {
            "summary": route.summary,
            "operationId": route.work.__name__,
            "parameters": [*_path_parameters(route), *(p.described() for p in route.parameters)],
            "responses": {
                "200": {
                    "description": "done",
                    "content": {"application/json": {"schema": {"type": route.returns}}},
                },
                **{
                    code: {"description": text, "content": {"application/json": {}}}
                    for code, text in _FAILURES.items()
                },
            },
        }
        if route.body is not None:
            operation["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": route.body}},
            }
        paths.setdefault(route.public_path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "SEGAPSITH", "version": __version__},
        "servers": [{"url": base_path or "/"}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


_FAILURES = {
    "400": "a parameter is wrong",
    "401": "no token, or a wrong one",
    "403": "a foreign Host or Origin",
    "404": "there is no such thing",
    "503": "busy, or the query took too long",
}


def _path_parameters(route: JsonRoute) -> list[dict[str, Any]]:
    names = [part.strip("{}") for part in route.public_path.split("/") if part.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0} if name == "id" else {"type": "string"},
        }
        for name in names
    ]

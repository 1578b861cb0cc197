"""Calls the verb of a route, and describes and encodes what it returns."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.core.messages import ENGLISH
from fabula.server.access import make_store_principal
from fabula.server.pages import cut_page
from fabula.server.requests import JSON, PageQuery
from fabula.server.routes.route import Call, Route
from fabula.server.security import Receive, Scope, Send

_TAG = re.compile(r'"[^"]*"')


class Reply(Struct, frozen=True):
    """An answer in JSON, which sends itself as an ASGI application."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; one without a body says nothing of it."""
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status not in (204, 304):
            headers += [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def call_verb(route: Route, call: Call) -> Any:
    """Call the verb of a route; a coroutine is returned as it is."""
    if route.call is not None:
        return route.call(call)
    verb = getattr(find_target(route, call), route.verb.partition(".")[2])
    arguments, parameters = dict(call.arguments), inspect.signature(verb).parameters
    if "principal" in parameters:
        arguments["principal"] = make_principal(call)
    if "own_rights" in parameters:
        place = None if call.project is None else call.project.id
        arguments["own_rights"] = call.access.list_rights(place, verb=route.verb)
    if "own_session" in parameters:
        arguments["own_session"] = call.session
    if route.takes_model:
        arguments["model"] = call.model
    first = (call.handle.id,) if route.takes_project else ()
    return verb(*first, *call.path, **arguments)


def find_target(route: Route, call: Call) -> Any:
    """Return the object whose verb a route calls."""
    match route.subject:
        case "workspace":
            return call.workspace
        case "project":
            return call.handle
        case "settings":
            project_id = None if call.project is None else call.project.id
            verbs = call.workspace.settings(project_id, principal=make_principal(call))
            verbs.language = call.language  # of whoever reads the sentences, not of the book
            return verbs
        case "people":
            people = call.workspace.people
            people.caller = call.access.user
            return people
        case "account":
            return call.workspace.account(principal=make_store_principal(call.access))
        case subject:
            return getattr(call.handle, subject)


def make_principal(call: Call) -> Any:
    """Return the principal of a call."""
    return call.project.principal if call.project is not None else make_store_principal(call.access)


def make_reply(
    route: Route, value: Any, call: Call, page: PageQuery | None = None, *, reader: Route | None = None
) -> Reply:
    """Describe and encode the value of a verb; what can be edited has the version of its content as `ETag`.

    The answer to a change has one where `reader`, the GET of the same address, would return the same.
    """
    if route.answer.kind is None:
        return Reply(204)
    body = _encode(route, value, call, page)
    headers: Mapping[str, str] = {}
    if route.has_version or (reader is not None and reader.answer.kind == route.answer.kind):
        named = body if call.language == ENGLISH else _encode(route, value, replace(call, language=ENGLISH), page)
        headers = make_version_headers(f'"{hashlib.sha256(named).hexdigest()[:24]}"')
    return Reply(route.status, body, headers)


def make_version_headers(tag: str) -> dict[str, str]:
    """Return the headers of an answer that has a version."""
    return {"etag": tag, "cache-control": "private, no-cache"}


def has_tag(header: str, tag: str) -> bool:
    """Whether an `If-Match` or `If-None-Match` names a version: alone, in a list, or by `*`.

    A proxy that compresses an answer marks its tag as weak (`W/"…"`), which does not make it another one.
    """
    return header.strip() == "*" or tag in _TAG.findall(header)


def _encode(route: Route, value: Any, call: Call, page: PageQuery | None) -> bytes:
    if route.answer.encode is not None:
        return route.answer.encode(value)
    if route.answer.item_key is None:
        return msgspec.json.encode(route.answer.make(value, call))
    asked = page or PageQuery()
    items, following = cut_page(value, route.answer.item_key, asked.cursor, asked.page_size)
    return msgspec.json.encode({"items": route.answer.make(items, call), "next": following})

"""Reads what a request says: its arguments from the query or the body.

A value that cannot be read is refused with the field, and with the nearest right name.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
from litestar import Request as Connection
from msgspec import UNSET, Struct, ValidationError

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.pages import DEFAULT_LIMIT
from fabula.server.problems import MAX_BODY, refuse_size
from fabula.server.routes.route import Route
from fabula.server.security import get_headers
from fabula.workspace.grants import has_limits, refuse_request
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.schema import decode, refuse_data
from fabula.workspace.writing_options import ModelChoice

JSON = "application/json"
EVENTS = "text/event-stream"
FILE_FIELD = "fileName"
_FILE_NAME = re.compile(r"[^/\\\x00-\x1f:]{1,120}\.[A-Za-z0-9]{1,10}")


class PageQuery(Struct, frozen=True):
    """Which page of a list is asked for."""

    cursor: str = ""
    page_size: int = DEFAULT_LIMIT


def choose_provider(project: ProjectHandle, name: str) -> ModelChoice:
    """Choose who answers by the name of a provider; who has limits does not choose."""
    if has_limits(project.principal):
        raise refuse_request()
    return project.choose_model(provider=name)


def read_path(route: Route, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Read the parameters of a path behind the project as the first arguments of the verb."""
    names = route.path_type.__struct_fields__
    if not names:
        return ()
    read = _convert({name: str(values[name]) for name in names}, route.path_type)
    return tuple(getattr(read, name) for name in names)


def read_query(route: Route, query: bytes) -> tuple[dict[str, Any], PageQuery]:
    """Read the arguments in an address, and which page of a list is asked for."""
    lists = find_list_fields(route.request_type)
    values: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("`{name}` stands in the address twice. Nothing was changed.", name=name),
            )
        else:
            values[name] = value
    if route.file == "upload":
        values.pop(FILE_FIELD, None)
    given = select_given(_convert(values, route.query_type))
    if route.answer.item_key is None:
        return given, PageQuery()
    return given, PageQuery(given.pop("cursor"), given.pop("page_size"))


def read_file_name(query: bytes) -> str:
    """Return the name of an uploaded file, which must be a plain name with an ending."""
    name = dict(parse_qsl(query.decode("latin-1"))).get(FILE_FIELD, "")
    if not _FILE_NAME.fullmatch(name):
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("Name the file with its ending, as in `?fileName=book.md`, and without a folder."),
        )
    return name


def read_size(request: Connection[Any, Any, Any], most: int) -> int | None:
    """Return how long the body of a request says that it is, if it does; one that is too long is refused."""
    announced = get_headers(request.scope).get("content-length", "")
    size = int(announced) if announced.isascii() and announced.isdecimal() else None
    if size is not None and size > most:
        raise refuse_size(most)
    return size


async def receive_body(request: Connection[Any, Any, Any], most: int = MAX_BODY) -> bytes:
    """Return the whole body of a request; one that is larger than so many bytes is refused."""
    return b"".join([part async for part in receive_parts(request, most)])


async def receive_parts(request: Connection[Any, Any, Any], most: int) -> AsyncIterator[bytes]:
    """Yield the body of a request as it comes in; one that is larger than so many bytes is refused."""
    read_size(request, most)
    size, event = 0, dict[str, Any](more_body=True)
    while event.get("more_body", False):
        event = cast("dict[str, Any]", await request.receive())
        size += len(event["body"])
        if size > most:
            raise refuse_size(most)
        yield event["body"]


def read_body(route: Route, body: bytes, content_type: str) -> Struct:
    """Read the JSON of a body; one that is empty has no fields."""
    check_content_type(body, content_type)
    return decode(body or b"{}", route.request_type, what=message("request"))


def check_content_type(body: bytes, content_type: str) -> None:
    """Refuse a body that is not said to be JSON: a page of another site can send such a one without being asked."""
    if body and content_type.partition(";")[0].strip().lower() != JSON:
        raise FabulaError(
            Code.HTTP_CONTENT_TYPE,
            message("The body must be JSON. Send it with `Content-Type: application/json`. Nothing was changed."),
        )


def select_given(request: Struct) -> dict[str, Any]:
    """Return the fields of a request that were given or have a default."""
    values = {name: getattr(request, name) for name in request.__struct_fields__}
    return {name: value for name, value in values.items() if value is not UNSET}


@cache
def find_list_fields(kind: type[Struct]) -> frozenset[str]:
    """Return the fields of a type that hold several values, by their names on the wire."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    return frozenset(field.encode_name for field in info.fields if _is_list(field.type))


def _is_list(info: msgspec.inspect.Type) -> bool:
    if isinstance(info, msgspec.inspect.UnionType):
        return any(map(_is_list, info.types))
    return isinstance(info, msgspec.inspect.CollectionType | msgspec.inspect.VarTupleType)


def _convert(values: Mapping[str, Any], kind: Any) -> Any:
    try:
        return msgspec.convert(values, kind, strict=False)
    except ValidationError as error:
        raise refuse_data(error, kind, what=message("request")) from None

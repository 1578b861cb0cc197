"""OpenAI's API: a client that changes its base URL gets the context of the story into its requests (ppl-2).

The model's name says the project, and perhaps the character who answers: `fabula/PROJECT/CHARACTER`. Headers that
begin with `Fabula-`, or names in the metadata that begin with `fabula_`, say the rest. What the client sends as
history is the history; it is recorded only where the client asks for that with `store`.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from struct import pack
from typing import Any, Literal

import msgspec
from litestar import Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream
from msgspec import Struct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import join_names, message
from fabula.manuscript.projects import ProjectSummary
from fabula.server.access import Access
from fabula.server.named_projects import open_project
from fabula.server.problems import V1, choose_language, describe_exception, describe_openai_error
from fabula.server.requests import EVENTS, JSON, check_content_type
from fabula.server.security import get_access, get_headers
from fabula.server.streams import StreamHub
from fabula.workspace.client_paths import KnownPaths
from fabula.workspace.completions import (
    MODEL_PREFIX,
    PreparedCompletion,
    prepare_completion,
    read_options,
    split_model_name,
    stream_completion,
)
from fabula.workspace.schemas.completions import (
    AnswerChoice,
    AnswerMessage,
    ChunkChoice,
    Completion,
    CompletionChunk,
    CompletionDelta,
    describe_usage,
    join_tool_calls,
    name_finish_reason,
    read_completion,
)
from fabula.workspace.schemas.schema import refuse_data
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing import Completed, Failed, TextDelta, WritingEvent

HEADER_PREFIX = "fabula-"
COMPLETION_VERB, EMBEDDING_VERB = "project.write", "project.embed"  # as which they count for a key that names verbs
_MAX_TEXTS = 2048  # of one request for embeddings


class ModelInfo(Struct):
    """A model as OpenAI lists it: a project that a client can ask."""

    id: str
    name: str
    created: int = 0
    object: str = "model"
    owned_by: str = MODEL_PREFIX


class ModelList(Struct):
    """All models that a caller can ask."""

    data: Sequence[ModelInfo]
    object: str = "list"


class EmbeddingRequest(Struct, kw_only=True):
    """Texts that are to become vectors."""

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: str = ""


class Embedding(Struct):
    """The vector of one text: its numbers, or base64 of them as 32-bit floats in little-endian order."""

    index: int
    embedding: list[float] | str
    object: str = "embedding"


class EmbeddingUsage(Struct, frozen=True):
    """The tokens of texts that became vectors, which are not counted."""

    prompt_tokens: int = 0
    total_tokens: int = 0


class EmbeddingList(Struct, kw_only=True):
    """The vectors of all texts."""

    data: Sequence[Embedding]
    model: str
    usage: EmbeddingUsage = EmbeddingUsage()
    object: str = "list"


def make_completion_handlers(workspace: Workspace, streams: StreamHub) -> list[HTTPRouteHandler]:
    """Make the handlers of OpenAI's API for a workspace; `streams` says to clients that the server stops."""

    known = KnownPaths()

    @post(f"{V1}/chat/completions", status_code=200)
    async def complete(request: Request[Any, Any, Any]) -> Response[Any]:
        """Answer a client's conversation, at once or as a stream."""
        body = await _receive_json(request)
        access, headers = get_access(request.scope), _read_headers(request)
        prepared = await workspace.call(_prepare, workspace, access, body, headers, known)
        events = streams.follow_unkept(stream_completion(prepared))
        if prepared.asked.stream:
            first = await streams.await_for_client(request.receive, _read_first(events))
            answer = _stream(prepared, first, events, choose_language(request.headers.get("accept-language", "")))
            return Stream(answer, media_type=EVENTS, headers={"cache-control": "no-cache"})
        return _respond(await streams.await_for_client(request.receive, _collect(prepared, events)))

    @get(f"{V1}/models")
    async def list_all(request: Request[Any, Any, Any]) -> Response[Any]:
        """List the projects of a caller as models."""
        return _respond(ModelList(await workspace.call(list_models, workspace, get_access(request.scope))))

    @get(f"{V1}/models/{{name:path}}")
    async def show_model(request: Request[Any, Any, Any]) -> Response[Any]:
        """Show a project, or a character of one, as a model."""
        name = str(request.path_params["name"]).lstrip("/")
        return _respond(await workspace.call(find_model, workspace, get_access(request.scope), name))

    @post(f"{V1}/embeddings", status_code=200)
    async def embed(request: Request[Any, Any, Any]) -> Response[Any]:
        """Turn texts into vectors, where a project has an embedder."""
        body = await _receive_json(request)
        access = get_access(request.scope)
        return await workspace.call(lambda: _respond(_embed(workspace, access, body)))  # vectors are long

    return [complete, list_all, show_model, embed]


async def _receive_json(request: Request[Any, Any, Any]) -> bytes:
    body = await request.body()
    check_content_type(body, get_headers(request.scope).get("content-type", ""))
    return body


def list_models(workspace: Workspace, access: Access) -> list[ModelInfo]:
    """List the projects of a caller as models, by their titles where these are names."""
    known = _list_answering(workspace, access)
    titles = [one.title for one in known]
    return [_describe_model(one.id, one.title, titles) for one in known]


def _list_answering(workspace: Workspace, access: Access) -> list[ProjectSummary]:
    """List the projects in which a caller may ask a model."""
    return [one for one in workspace.projects() if access.has_right(Right.GENERATE, one.id, verb=COMPLETION_VERB)]


def find_model(workspace: Workspace, access: Access, name: str) -> ModelInfo:
    """Return the model of a name, as a completion would ask it: a project of the caller, or a character of one."""
    project_name, character = split_model_name(name)
    if not project_name:
        raise _refuse_model(list_models(workspace, access), Code.PROJECT_NOT_FOUND)
    project = open_project(workspace, access, project_name)
    access.require(Right.GENERATE, project.id, verb=COMPLETION_VERB)
    titles = [one.title for one in _list_answering(workspace, access)]
    found = _describe_model(project.id, project.view.project.title, titles)
    if not character:
        return found
    speaker = project.participants.resolve(character)
    return replace(found, id=f"{found.id}/{speaker.id if '/' in speaker.name else speaker.name}", name=speaker.name)


def _describe_model(project_id: str, title: str, titles: Sequence[str]) -> ModelInfo:
    return ModelInfo(f"{MODEL_PREFIX}/{title if _is_name(title, titles) else project_id}", title)


def _is_name(title: str, titles: Sequence[str]) -> bool:
    return "/" not in title and title == title.strip() and titles.count(title) == 1


def _prepare(
    workspace: Workspace, access: Access, body: bytes, headers: Mapping[str, str], known: KnownPaths
) -> PreparedCompletion:
    """Read a request and make its prompt; what the caller may not ask for is refused."""
    asked = read_completion(body)
    options = read_options(asked, headers)
    if not options.project:
        raise _refuse_model(list_models(workspace, access))
    project = open_project(workspace, access, options.project)
    access.require(Right.GENERATE, project.id, verb=COMPLETION_VERB)
    return prepare_completion(project, asked, options, known)


def _embed(workspace: Workspace, access: Access, body: bytes) -> EmbeddingList:
    try:
        asked = msgspec.json.decode(body, type=EmbeddingRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise refuse_data(error, EmbeddingRequest, what=message("request")) from None
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if asked.dimensions is not None or not 0 < len(texts) <= _MAX_TEXTS:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "Vectors have the size that the model makes, and a request has 1 to {count:,} texts: "
                "leave out `dimensions`.",
                count=_MAX_TEXTS,
            ),
        )
    name, _ = split_model_name(asked.model)
    if not name:
        raise _refuse_model(list_models(workspace, access))
    project = open_project(workspace, access, name)
    access.require(Right.GENERATE, project.id, verb=EMBEDDING_VERB)
    made = project.embed(texts)
    encode = _encode_vector if asked.encoding_format == "base64" else list[float]
    return EmbeddingList(
        data=[Embedding(number, encode(vector)) for number, vector in enumerate(made.vectors)], model=made.model
    )


def _encode_vector(vector: Sequence[float]) -> str:
    return b64encode(pack(f"<{len(vector)}f", *vector)).decode()


def _refuse_model(known: Sequence[ModelInfo], code: Code = Code.CHAT_PROJECT_MISSING) -> FabulaError:
    if not known:
        return FabulaError(code, message("There is no project that you may ask. Ask the owner of the server."))
    return FabulaError(
        code,
        message(
            "Name the project as the model, such as {example}. There are: {known}.",
            example=f"{MODEL_PREFIX}/PROJECT",
            known=join_names([one.id for one in known]),
        ),
    )


def _read_headers(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The headers that say something about the context, by the names of the options."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return {
        name.removeprefix(HEADER_PREFIX).replace("-", "_"): _decode_header(value)
        for name, value in headers.items()
        if name.startswith(HEADER_PREFIX)
    }


def _decode_header(value: str) -> str:
    """Read a header as UTF-8, as programs send names of any script, where it is; else as it came."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


async def _read_first(events: AsyncGenerator[WritingEvent, None]) -> WritingEvent:
    """Wait for the first event, so that what fails before any text is an error with its status."""
    first = await anext(events)
    if isinstance(first, Failed):
        await events.aclose()
        raise first.error
    return first


async def _follow(first: WritingEvent, events: AsyncGenerator[WritingEvent, None]) -> AsyncIterator[WritingEvent]:
    """Yield all events of an answer; a failure is raised."""
    async with aclosing(events):
        yield first
        async for event in events:
            if isinstance(event, Failed):
                raise event.error
            yield event


async def _collect(prepared: PreparedCompletion, events: AsyncGenerator[WritingEvent, None]) -> Completion:
    """Wait for the whole answer; what fails in the middle is an error."""
    calls: list[Mapping[str, Any]] = []
    end: Completed | None = None
    async for event in _follow(await _read_first(events), events):
        if isinstance(event, TextDelta):
            calls += event.tool_calls
        elif isinstance(event, Completed):
            end = event
    assert end is not None
    said = AnswerMessage(content=end.text or None, tool_calls=join_tool_calls(calls) or msgspec.UNSET)
    return Completion(
        id=f"chatcmpl-{new_id()}",
        created=int(time.time()),
        model=prepared.asked.model,
        choices=[AnswerChoice(said, name_finish_reason(end.finish_reason))],
        usage=describe_usage(end.usage),
    )


async def _stream(
    prepared: PreparedCompletion, first: WritingEvent, events: AsyncGenerator[WritingEvent, None], language: str
) -> AsyncIterator[bytes]:
    """Yield an answer as server-sent events, as OpenAI does; what fails in the middle ends it with an error."""
    chunk = CompletionChunk(id=f"chatcmpl-{new_id()}", created=int(time.time()), model=prepared.asked.model, choices=[])
    yield _encode_event(replace(chunk, choices=[ChunkChoice(CompletionDelta(role="assistant", content=""))]))
    try:
        async for event in _follow(first, events):
            if isinstance(event, TextDelta):
                text, calls = event.text or msgspec.UNSET, event.tool_calls or msgspec.UNSET
                yield _encode_event(
                    replace(chunk, choices=[ChunkChoice(CompletionDelta(content=text, tool_calls=calls))])
                )
            elif isinstance(event, Completed):
                end = ChunkChoice(CompletionDelta(), name_finish_reason(event.finish_reason))
                yield _encode_event(replace(chunk, choices=[end]))
                if prepared.asked.include_usage:
                    yield _encode_event(replace(chunk, usage=describe_usage(event.usage)))
    except Exception as error:
        yield _encode_event(describe_openai_error(describe_exception(error, language))[1])
        return
    yield b"data: [DONE]\n\n"


def _encode_event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _respond(value: object) -> Response[Any]:
    return Response(msgspec.json.encode(value), media_type=JSON)

"""Completions: a client's own conversation, answered with the context of the story (ppl-2).

    read the request → find the project, the character and the place → the client's messages become the history →
    assemble → ask the model → hand on what it says → record the conversation, if the client asks for that

What a client sends as history is the history: nothing that is stored is put in its place. A request continues the one
before it wherever the client branches off or leaves out old messages (`client_paths`), and a recorded conversation is
recorded once. Messages with images, tool calls or results reach the model as the client sent them.

With a character the conversation is one between two, the player and the character: the persona is the identity, and
what is recorded has both as speakers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from copy import copy
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.context.options import AssemblyOptions
from fabula.context.recipes import CHAT
from fabula.context.recipes.preset import InjectionStrategy, Node, Preset
from fabula.context.request import Request
from fabula.conversation import edits
from fabula.conversation.model import (
    MAX_SNAPSHOT_MESSAGES,
    Conversations,
    ConversationState,
    Message,
    MessageKind,
    make_history_fragments,
)
from fabula.conversation.participants import (
    Participant,
    Participants,
    get_participant,
    list_participants,
    save_participant,
    strip_revision,
)
from fabula.conversation.presence import Attendance, PresenceChange
from fabula.conversation.tables import conversations as conversation_table
from fabula.conversation.tables import messages as message_table
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.messages import advise, message
from fabula.core.view import View
from fabula.llm.local_model import find_counted_model, load_tokenizer
from fabula.llm.model import ModelCall
from fabula.store.transaction import WriteTransaction
from fabula.text.offsets import normalise
from fabula.workspace.client_paths import KnownPaths, find_path, hash_message
from fabula.workspace.grants import check_unlimited
from fabula.workspace.participants import (
    AccountNames,
    ensure_player,
    find_player,
    load_account_names,
    resolve_participant,
)
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.completions import ClientMessage, CompletionRequest, join_tool_calls, refuse_completion
from fabula.workspace.verbs import require_store
from fabula.workspace.writing import Completed, Failed, TextDelta, Writer, WritingEvent
from fabula.workspace.writing_options import ModelChoice, size_request

MODEL_PREFIX = "fabula"
OPTION_PREFIX = "fabula_"  # of names in the metadata of a request
_IMAGE_TOKENS = 1100  # of an image of ordinary size
_ALL_HISTORY = 10**9  # tokens: the window is the only bound
_NO_TEXT = "…"  # in place of the words of a message that has none
_CLIENT_MARK = "client"  # among the extras of a message: its original, without images


class CompletionOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may say about the context of its request; the model's name says the project and the character."""

    project: str = ""
    character: str = ""
    document: str = ""
    recipe: str = ""
    perspective: str = ""
    model: str = ""  # that answers, in place of the one in the settings
    provider: str = ""
    window: int | None = None


class PreparedCompletion(Struct, frozen=True, kw_only=True):
    """A completion that can be asked for: the project as the prompt sees it, the request, and who answers."""

    project: ProjectHandle
    request: Request
    choice: ModelChoice
    asked: CompletionRequest
    path: tuple[Message, ...]
    originals: Mapping[str, Mapping[str, Any]]
    speaker: Participant | None = None  # who answers; a character of the codex as the participant that it becomes


def split_model_name(name: str) -> tuple[str, str]:
    """Return the project and the character that a model's name says; empty where it says none."""
    prefix, _, named = name.partition("/")
    project, _, character = named.partition("/") if prefix == MODEL_PREFIX else ("", "", "")
    return project, character


def read_options(asked: CompletionRequest, headers: Mapping[str, str] | None = None) -> CompletionOptions:
    """Return the options of a request: of its model's name, its metadata, and the headers, the last of which count.

    A name that begins like an option and is none is refused with the nearest one.
    """
    given: dict[str, str] = {}
    given["project"], given["character"] = split_model_name(asked.model)
    for name, value in asked.metadata.items():
        if name.startswith(OPTION_PREFIX):
            given[name.removeprefix(OPTION_PREFIX)] = value
    given.update(headers or {})
    try:
        return msgspec.convert({name: value for name, value in given.items() if value}, CompletionOptions, strict=False)
    except msgspec.ValidationError as error:
        raise refuse_completion(explain_decode_error(error, CompletionOptions)) from error


def prepare_completion(
    project: ProjectHandle, asked: CompletionRequest, options: CompletionOptions, known: KnownPaths | None = None
) -> PreparedCompletion:
    """Prepare a completion; an unknown character, document or recipe is refused, and nothing is recorded.

    `known` has the paths of earlier requests that were not recorded.
    """
    check_unlimited(project.principal)  # who plays a character does not ask a model on behalf of the project
    choice = project.choose_model(provider=options.provider or None, model=options.model or None)
    _check_answers(choice)
    system, first = _split_system(asked.messages)
    ident, path = _find_path(project, asked, first, options.character, known or KnownPaths())
    is_input = bool(path) and asked.messages[-1].role == "user" and asked.messages[-1].is_plain
    view = _with_history(project.view_with(ident), ident, path[:-1] if is_input else path)
    project = project.with_view(view)
    request = project.request(
        document_id=options.document or None,
        recipe=options.recipe or CHAT.name,
        perspective=options.perspective or None,
        conversation_id=ident,
        speaker_id=options.character,
        additional_input=path[-1].content if is_input else "",
        preset=_add_system(project.view.snapshot(Preset), system),
        window=options.window,
        reply_tokens=asked.max_tokens,
    )
    speaker = None
    if request.speaker_id:
        store = require_store(project)
        with store.read(project=project.id) as reading:
            speaker = resolve_participant(view, reading, request.speaker_id)
            player = find_player(reading, load_account_names(store, project.principal.user))
        present = [*([] if player is None else [player]), replace(speaker, id=strip_revision(request.speaker_id))]
        project = project.with_view(_with_participants(view, ident, present), project.principal)
    originals = {
        f"history:{one.id}": original
        for one, client, original in zip(path, asked.messages[first:], asked.originals[first:], strict=True)
        if not client.is_plain
    }
    _check_abilities(asked, originals, choice)
    sized = size_request(request, choice)
    added = sum(one.image_count for one in asked.messages) * _IMAGE_TOKENS + _count_parameters(asked, sized)
    return PreparedCompletion(
        project=project,
        request=replace(sized, added_tokens=sized.added_tokens + added),
        choice=choice,
        asked=asked,
        path=path,
        originals=originals,
        speaker=speaker,
    )


async def stream_completion(prepared: PreparedCompletion) -> AsyncGenerator[WritingEvent, None]:
    """Ask the model and yield what it says as it comes; a client that wants it recorded finds it in the store."""
    from fabula.llm.providers import make_provider

    options = replace(prepared.choice.options, judge=replace(prepared.choice.options.judge, policy="off"))
    provider = make_provider(prepared.choice.provider)
    writer = Writer(
        prepared.project, provider, options=options, run_state="used", adapt_call=lambda call: _adapt(call, prepared)
    )
    calls: list[Mapping[str, Any]] = []
    try:
        async with aclosing(writer.write(prepared.request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    calls += event.tool_calls
                elif isinstance(event, Completed) and prepared.asked.store:
                    event = await asyncio.to_thread(_record, prepared, event, join_tool_calls(calls))
                yield event
    finally:
        await provider.aclose()


def _record(prepared: PreparedCompletion, end: Completed, tool_calls: Sequence[Mapping[str, Any]]) -> WritingEvent:
    """Record an answer; one that cannot be recorded has failed, since the client asked for both."""
    try:
        record_completion(prepared, end.text, tool_calls)
    except FabulaError as error:
        return Failed(variant=end.variant, text=end.text, run_id=end.run_id, error=error, cost=end.cost)
    return end


def record_completion(prepared: PreparedCompletion, answer: str, tool_calls: Sequence[Mapping[str, Any]] = ()) -> str:
    """Record the client's messages and the answer, as far as they are not yet; return the conversation's id."""
    ident = prepared.request.conversation_id
    path = tuple(one for one in prepared.path if one.role != "system")
    if answer.strip() or tool_calls:
        original = {"role": "assistant", "content": answer, "tool_calls": list(tool_calls)}
        said = ClientMessage(role="assistant", content=answer, tool_calls=list(map(dict, tool_calls)) or None)
        path = (*path, _make_message(said, original, hash_message(said, path[-1].id if path else ident)))
    store, project = require_store(prepared.project), prepared.project
    accounts = load_account_names(store, project.principal.user)
    with store.write(project=project.id, user=project.principal.user) as tx:
        player, character = _ensure_participants(tx, prepared, accounts)
        if tx.row(conversation_table, id=ident) is None:
            present = [one for one in (player, character) if one]
            edits.start_conversation(tx, ident, participants=present, title=_make_title(path))
        speakers = {"user": player, "assistant": get_participant(tx, character).speaker if character else ""}
        path = tuple(replace(one, speaker=speakers.get(one.role, "")) if one.kind is None else one for one in path)
        known = {row.id for row in tx.rows(message_table, message_table.c.conversation_id == ident, only=("id",))}
        start = max((at for at, one in enumerate(path, start=1) if one.id in known), default=0)
        parents = (None, *(one.id for one in path))
        new = [replace(one, parent_id=parent) for one, parent in zip(path, parents, strict=False)][start:]
        for one in new:
            edits.check_length(one.content)
        if new:
            edits.add_messages(tx, ident, new, as_first=new[0].parent_id is None)
        else:
            edits.select_branch(tx, ident, path[-1].id if path else None)
    return ident


def _ensure_participants(tx: WriteTransaction, prepared: PreparedCompletion, accounts: AccountNames) -> tuple[str, str]:
    """Return the ids of the player and of the character who answers, which are added; empty without a character.

    Whoever has limits plays a character, and is not the player of the project.
    """
    project, speaker = prepared.project, prepared.speaker
    if speaker is None:
        return "", ""
    if all(one.id != speaker.id for one in list_participants(tx)):
        save_participant(tx, speaker)
    return ensure_player(project.view, tx, accounts), speaker.id


def _with_participants(view: View, ident: str, present: Sequence[Participant]) -> View:
    """Return the view with the client's conversation as one of these participants."""
    conversations = copy(view.snapshots[Conversations])
    conversations.attendances = {ident: Attendance(PresenceChange(participant_id=one.id) for one in present)}
    people = view.snapshot(Participants) or Participants()
    known = Participants({**people.by_id, **{one.id: one for one in present}})
    return View(view.project, view.timeline, {**view.snapshots, Conversations: conversations, Participants: known})


def _split_system(messages: Sequence[ClientMessage]) -> tuple[str, int]:
    """Return the text of the system messages at the beginning, and how many there are."""
    others = (index for index, one in enumerate(messages) if one.role not in ("system", "developer"))
    count = next(others, len(messages))
    return "\n\n".join(one.text.strip() for one in messages[:count] if one.text.strip()), count


def _add_system(preset: Preset | None, system: str) -> Preset | None:
    """Return the project's preset with the client's system prompt behind the identity, where it is the same always."""
    if not system:
        return preset
    place = InjectionStrategy(anchor_target="user_profile", anchor_position="before")
    node = Node(id="client", role="system", content=system, injection_strategy=place)
    own = preset or Preset(nodes=())
    return replace(own, nodes=(*own.nodes, node))


def _find_path(
    project: ProjectHandle, asked: CompletionRequest, first: int, character: str, known: KnownPaths
) -> tuple[str, tuple[Message, ...]]:
    """Return the conversation of a client and its messages behind the system prompt.

    The id of each is the hash of its path; a system message has that of its place in the request.
    """
    sent = list(zip(asked.messages[first:], asked.originals[first:], strict=True))
    path = [_make_message(client, original, "") for client, original in sent]
    spoken = [(client, one) for (client, _), one in zip(sent, path, strict=True) if one.role != "system"]
    user, store = project.principal.user, project.store
    with nullcontext() if store is None else store.read(project=project.id) as reading:
        found = find_path(reading, known, project.id, user, character, spoken)
    ids, before, named = iter(found.ids), found.conversation_id, list[Message]()
    for (client, _), one in zip(sent, path, strict=True):
        before = hash_message(client, before) if one.role == "system" else next(ids)
        named.append(replace(one, id=before))
    return found.conversation_id, tuple(named)


_KINDS: Mapping[str, MessageKind] = {"tool": MessageKind.OBSERVATION, "function": MessageKind.OBSERVATION}
_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}


def _make_message(client: ClientMessage, original: Mapping[str, Any], ident: str) -> Message:
    kind = _KINDS.get(client.role)
    if kind is None and client.tool_calls:
        kind = MessageKind.ACTION
    text = client.text.strip() or _NO_TEXT
    text = f"{client.name}: {text}" if client.name else text
    return Message(
        id=ident,
        role=_ROLES.get(client.role, "user"),
        content=normalise(text),
        kind=kind,
        final=kind is None,
        extra={} if client.is_plain else {_CLIENT_MARK: _without_images(original)},
    )


def _without_images(original: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without the bytes of its images and files, which are not kept."""
    content = original.get("content")
    if not isinstance(content, list):
        return dict(original)
    texts = ("text", "refusal")
    kept = [one if isinstance(one, dict) and one.get("type") in texts else {"type": "omitted"} for one in content]
    return {**original, "content": kept}


def _with_history(view: View, ident: str, path: Sequence[Message]) -> View:
    """Return a view in which a conversation is what the client says it is, with no other bound than the window."""
    shown = [replace(one, final=True, number=number) for number, one in enumerate(path)][-MAX_SNAPSHOT_MESSAGES:]
    history = Conversations(view.project.id, {})
    history.messages = {ident: tuple(shown)}
    fragments = make_history_fragments(view.project.id, shown)
    history.fragments = {
        ident: tuple(
            one if shown[index].kind is None and not shown[index].extra else replace(one, is_own_message=True)
            for index, one in enumerate(fragments)
        )
    }
    leaf = shown[-1].id if shown else None
    history.states = {ident: ConversationState(created_at="", version=1, message_count=len(path), leaf_id=leaf)}
    options = view.snapshot(AssemblyOptions) or AssemblyOptions()
    if options.max_history_tokens is None:
        options = replace(options, max_history_tokens=_ALL_HISTORY)
    snapshots = {**view.snapshots, Conversations: history, AssemblyOptions: options}
    return View(view.project, view.timeline, snapshots)


def _check_answers(choice: ModelChoice) -> None:
    """Refuse the clipboard: a client would take the prompt for the answer of a model."""
    if choice.provider.api_style == "clipboard":
        raise FabulaError(
            Code.LLM_NO_KEY,
            message(
                "There is no model to ask: the provider is the clipboard. {advice} Nothing was sent.",
                advice=advise(
                    message("Set another one: fabula setting set PROJECT llm.provider NAME."),
                    message("Set another one: the setting `llm.provider`."),
                ),
            ),
        )


def _check_abilities(asked: CompletionRequest, originals: Mapping[str, object], choice: ModelChoice) -> None:
    """Refuse tools and images where the provider speaks another protocol than the client."""
    if choice.provider.api_style != "openai" and (originals or "tools" in asked.parameters):
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{provider} takes no tools and no images from a client. Choose a provider that speaks OpenAI's API. "
                "Nothing was sent.",
                provider=choice.provider.name,
            ),
        )


def _count_parameters(asked: CompletionRequest, request: Request) -> int:
    """Count the tokens that a server makes of the client's tools and of the schema of the answer."""
    given = {name: asked.parameters[name] for name in ("tools", "response_format") if name in asked.parameters}
    if not given:
        return 0
    model = find_counted_model(request.model, window=request.window, encoding_name=request.encoding)
    return load_tokenizer(model).count(msgspec.json.encode(given).decode()) + 32


def _adapt(call: ModelCall, prepared: PreparedCompletion) -> ModelCall:
    """Return a call with the parameters of the client in place of the skill's."""
    asked = prepared.asked
    is_openai = prepared.choice.provider.api_style == "openai"
    schema = None if is_openai else _find_schema(asked.parameters.get("response_format"))
    return replace(
        call,
        temperature=asked.temperature if asked.temperature is not None else call.temperature,
        top_p=asked.top_p if asked.top_p is not None else call.top_p,
        stop=asked.stop or call.stop,
        schema=schema,
        originals=prepared.originals,
        parameters=asked.parameters if is_openai else {},
    )


def _find_schema(response_format: Any) -> Mapping[str, Any] | None:
    """Return the JSON schema that a client gives for the answer; None where it gives none."""
    for name in ("json_schema", "schema"):
        response_format = response_format.get(name) if isinstance(response_format, dict) else None
    return response_format if isinstance(response_format, dict) else None


def _make_title(path: Sequence[Message]) -> str:
    """Return the title of a recorded conversation: how its first message of the user begins."""
    first = next((one.content for one in path if one.role == "user"), "")
    return " ".join(first.split())[:60]

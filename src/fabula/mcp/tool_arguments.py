"""Arguments and answers of tools as JSON schemas, and how what a client sends is handed to a tool.

Names are camelCase on the wire, as in every schema. An unknown name is refused with the nearest right one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from inspect import unwrap
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.mcp.access import McpAccess
from fabula.mcp.tools import ToolInfo
from fabula.workspace.arguments import VerbArgument, list_arguments, to_camel

MAX_ARGUMENT_CHARACTERS = 1_000_000  # in all arguments of a call
PROJECT = "project"

_PLACE = message("CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")
_NAMES = message("Names of characters; `reader`, `everybody` and `nobody` are words for it.")
DESCRIPTIONS: Mapping[str, Sentence] = {
    PROJECT: message("The project: its title, number or id."),
    "words": message("What to look for: a few words, or a question."),
    "until": message("Find only what comes before the end of this chapter."),
    "everything": message("Find also what the reader may not know yet."),
    "limit": message("How many at most: items of a list, or characters of a text."),
    "start": message("Where to start, as `next` of the last answer says."),
    "chapter": message("A chapter: its title, number or id."),
    "chapters": message("Chapters, each by its title, number or id."),
    "conversation": message("A conversation by its title or id."),
    "entry": message("A codex entry: any of its names, or its id."),
    "name": message("A name."),
    "kind": message(
        "The kind: of an entry character, location, item, lore and so on; of a memory preference or episode."
    ),
    "level": message("When it is told to a model: always, when_detected, manual or never."),
    "aliases": message("Other names."),
    "description": message("What is true of it from the beginning."),
    "details": message("Further details by name, such as age; an empty value takes one away."),
    "tags": message("Words to sort it by."),
    "known_to": _NAMES,
    "since": message("From where in the story on: {place}", place=_PLACE),
    "without": message("Phrases in which its name means something else."),
    "case": message("How capitals in its name matter: smart, exact or any."),
    "text": message("The text."),
    "knower": message("A character by any name, or `reader`."),
    "progression": message("The number of a progression; without it, the entry itself is meant."),
    "undo": message("Take it back."),
    "document_id": message("The chapter where the text stands: its title, number or id. By default the last one."),
    "place": message("A place in the chapter: an offset, after 'words', or before 'words'. By default its end."),
    "skill_id": message("What is asked for: a skill such as continue, rewrite, critique or brainstorm."),
    "additional_input": message("What the writer says in addition."),
    "conversation_id": message("A conversation to go on with, by its title or id."),
    "model": message("The model that the tokens are counted for."),
    "window": message("How many tokens the context may have, with the answer."),
    "perspective": message("Whose knowledge the context may hold: author, reader or character."),
    "character": message("Through whose eyes, by any name."),
    "include": message("Entries that must be in it, by name."),
    "exclude": message("Entries, chapters or rules that must not be in it, by name."),
    "replaces": message("The words of the chapter that the text replaces; they stand there once."),
    "reason": message("Why, in a sentence for the writer."),
    "fact": message("A fact, by its number in the list of facts, its id or its first words."),
    "dismissed": message("List the facts that were dismissed or used instead."),
    "use": message("What becomes of the fact: description, progression, knowledge or constraint."),
}


def read_arguments(tool: ToolInfo, access: McpAccess, sent: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the project that a client names, and the arguments of the tool by the names of its signature."""
    if sum(map(_measure, sent.items())) > MAX_ARGUMENT_CHARACTERS:
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            message(
                "The arguments have more than {limit:,} characters. Send less at a time. Nothing was changed.",
                limit=MAX_ARGUMENT_CHARACTERS,
            ),
        )
    known = {to_camel(one.name): one for one in _list_arguments(tool, access)}
    names = [*([PROJECT] if tool.needs_project else []), *known]
    for name in sent:
        if name not in names:
            raise _refuse(tool, _explain_unknown(name, names))
    for name, argument in known.items():
        if argument.is_required and name not in sent:
            raise _refuse(tool, message("`{name}` is missing", name=name))
    project = sent.get(PROJECT)
    if project is not None and not isinstance(project, str | int):
        raise _refuse(tool, message("{field} must be {expected}", field=f"`{PROJECT}`", expected=message("a text")))
    values = {one.name: sent[name] for name, one in known.items() if name in sent}
    return None if project is None else str(project), values


def describe_input(tool: ToolInfo, access: McpAccess, language: str) -> dict[str, Any]:
    """Return the JSON schema of the arguments that a client may use."""
    arguments = [*_list_arguments(tool, access)]
    schema = _make_schema(
        msgspec.defstruct("Arguments", [_make_field(one) for one in arguments], kw_only=True, rename="camel")
    )
    properties = {to_camel(one.name): schema["properties"][to_camel(one.name)] for one in arguments}
    required = list(schema.get("required", ()))
    if tool.needs_project:
        properties = {PROJECT: {"type": "string"}, **properties}
        required += [PROJECT] if access.project_id is None else []
    for one in [PROJECT] * tool.needs_project + [argument.name for argument in arguments]:
        properties[to_camel(one)]["description"] = DESCRIPTIONS[one].render(language)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


@cache
def describe_output(tool: ToolInfo) -> dict[str, Any]:
    """Return the JSON schema of the answer of a tool."""
    run = unwrap(tool.run)
    kind = run.__annotations__["return"]
    return _make_schema(getattr(sys.modules[run.__module__], kind))


def _make_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a struct with what it refers to; its root is the object itself, as clients expect."""
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema = definitions.pop(root["$ref"].rpartition("/")[2]) if "$ref" in root else root
    return {**schema, "$defs": definitions} if definitions else dict(schema)


def _list_arguments(tool: ToolInfo, access: McpAccess) -> Iterator[VerbArgument]:
    return (one for one in list_arguments(tool.run) if tool.has_argument(one.name, access))


def _make_field(argument: VerbArgument) -> Any:
    if argument.is_required:
        return argument.name, argument.hint
    if argument.default is UNSET:
        return argument.name, argument.hint | UnsetType, UNSET
    return argument.name, argument.hint, argument.default


def _measure(value: Any) -> int:
    """Count the characters in all texts of a value, and each other value as one."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_measure, value.items()))
    return sum(map(_measure, value)) if isinstance(value, list | tuple) else 1


def _explain_unknown(name: str, names: list[str]) -> Sentence:
    near = get_close_matches(name, names, n=1)
    if near:
        return message("there is no {name!r}; the nearest is {near!r}", name=name[:100], near=near[0])
    return message("there is no {name!r}; there are {known}", name=name[:100], known=join_names(names))


def _refuse(tool: ToolInfo, reason: Sentence) -> FabulaError:
    return FabulaError(
        Code.REQUEST_INVALID,
        message("`{verb}` cannot do that: {reason}. Nothing was changed.", verb=tool.name, reason=reason),
    )

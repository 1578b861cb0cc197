"""Messages, and a conversation as a path of them.

Messages of a conversation form a tree; the path from the first to the active leaf is its history. What is
said has a stable id; the hash of a path covers its content and its parent's hash, so that forks and equal
beginnings are seen at once. It is derived, never kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer, Part, Role

MOST = 1000  # messages of one conversation that a snapshot holds: the newest


class Kind(StrEnum):
    """What a message is: said to somebody, or a step on the way to an answer."""

    USER = "user"
    PLAN = "plan"
    ACTION = "action"
    OBSERVATION = "observation"
    KNOWLEDGE = "knowledge"
    REPLY = "reply"


class Message(Struct, frozen=True, kw_only=True):
    """One thing said. What the store adds has defaults: who says something need not know it."""

    id: str
    role: Role
    content: str
    speaker: str = ""
    timestamp: str = ""
    kind: Kind | None = None  # None: what its role suggests
    final: bool = True  # only final ones are history
    parent_id: str | None = None
    number: int | None = None
    audience: tuple[str, ...] | None = None  # None: everybody present
    skill_id: str = ""
    extra: Mapping[str, Any] = {}
    before: str | None = None  # what it said before it was corrected
    version: int = 1


class Mark(Struct, frozen=True):
    """How a conversation stood when its messages were read."""

    made: str
    version: int  # moves with every change other than something being said
    said: int
    leaf: str | None
    mode: str = ""


class Conversations:
    """A snapshot of a project's conversations: the newest messages of each, oldest first, and their fragments."""

    def __init__(self, project_id: str, conversations: Mapping[str, Sequence[Message]]) -> None:
        self.messages = {name: tuple(messages) for name, messages in conversations.items()}
        self.fragments = {name: fragments_of(project_id, said) for name, said in self.messages.items()}
        self.marks: dict[str, Mark] = {}


def fragments_of(project_id: str, messages: Iterable[Message]) -> tuple[Fragment, ...]:
    """The history that messages make: the final ones among them."""
    return tuple(
        Fragment(
            source=f"history:{message.id}",
            layer=Layer.IMMEDIATE,
            text=message.content,
            project_id=project_id,
            title=message.speaker,
            part=Part.HISTORY,
            role=message.role,
            score=1.0,
        )
        for message in messages
        if message.final
    )


def kind_of(message: Message) -> Kind:
    """What a message is, where it does not say so itself."""
    return message.kind or (Kind.USER if message.role == "user" else Kind.REPLY)


def content_hash(content: str) -> str:
    """By which a message's content is known again."""
    return sha256(content.encode()).hexdigest()


def path_hashes(messages: Iterable[Message], parent: str = "") -> list[str]:
    """The hash of the path up to each message; `parent` is that of the message before the first of them."""
    hashes = []
    for message in messages:
        parent = sha256(f"{parent}{content_hash(message.content)}".encode()).hexdigest()
        hashes.append(parent)
    return hashes

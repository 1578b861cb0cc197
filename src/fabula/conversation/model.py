"""Messages, and a conversation as a path of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.core.fragments import Fragment, Layer, Part, Role


class Message(Struct, frozen=True, kw_only=True):
    """One thing said."""

    id: str
    role: Role
    content: str
    speaker: str = ""
    timestamp: str = ""


class Conversations:
    """A snapshot of a project's conversations, each with its fragments, oldest first."""

    def __init__(self, project_id: str, conversations: dict[str, Sequence[Message]]) -> None:
        self.fragments = {
            name: tuple(
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
            )
            for name, messages in conversations.items()
        }

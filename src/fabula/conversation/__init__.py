"""Conversations: messages in a tree, participants, recent conversations and recaps (cnv-1…7)."""

from fabula.conversation.model import Conversations, Message, MessageKind

__all__ = ["Conversations", "Message", "MessageKind"]

"""Chats as files: sessions of other programs (cht-5) and SillyTavern's chat files, read and written."""

from fabula.formats.chats.files import read_chats
from fabula.formats.chats.model import Chat, ChatCollection, ChatFormat, ChatMessage, StoredChat

__all__ = ["Chat", "ChatCollection", "ChatFormat", "ChatMessage", "StoredChat", "read_chats"]

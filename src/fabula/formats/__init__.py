"""Readers and writers of other programs' files.

`manuscripts` reads and writes books, `lore` lorebooks and character cards, `chats` chat files, and `safe`
holds the bounded readers under all of them. No reader trusts its file, and none writes to the store.
"""

__all__ = ["chats", "lore", "manuscripts", "safe"]

"""Readers and writers of other programs' files.

`manuscripts` reads and writes books, `lore` reads and writes lorebooks and character cards, `safe`
holds the bounded readers under both. No reader trusts its file, and none writes to the store.
"""

__all__ = ["lore", "manuscripts", "safe"]

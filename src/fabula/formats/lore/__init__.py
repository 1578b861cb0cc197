"""Lorebooks and character cards, read and written in the formats of other programs (inj-7)."""

"""Manuscripts, read and written in the formats of other programs (man-6)."""

"""Manuscripts in the formats of other programs (man-6)."""

from fabula.formats.manuscripts.files import read_manuscript, write_manuscript
from fabula.formats.manuscripts.model import ImportedManuscript

__all__ = ["ImportedManuscript", "read_manuscript", "write_manuscript"]

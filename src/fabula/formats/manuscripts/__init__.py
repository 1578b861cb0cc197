"""Manuscripts in the formats of other programs (man-6)."""

from fabula.formats.manuscripts.files import WRITABLE_FORMATS, ManuscriptFormat, read_manuscript, write_manuscript
from fabula.formats.manuscripts.model import ImportedManuscript

__all__ = ["WRITABLE_FORMATS", "ImportedManuscript", "ManuscriptFormat", "read_manuscript", "write_manuscript"]

"""Bounded readers for untrusted files: encodings, JSON, XML, TOML, folders; and atomic writing."""

from fabula.formats.safe.toml_reader import CheckedTable, check_inside, read_text_file, read_toml, refuse_project

__all__ = ["CheckedTable", "check_inside", "read_text_file", "read_toml", "refuse_project"]

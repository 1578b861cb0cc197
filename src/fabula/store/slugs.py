"""Slugs: titles as parts of file names and addresses, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import count

_MAX_SLUG = 40  # characters
_UNTITLED = "project"


def make_slug(title: str) -> str:
    """Make a part of a file name of a title; empty where it has neither letters nor digits."""
    plain = unicodedata.normalize("NFC", title).lower()
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:_MAX_SLUG].rstrip("-")


def list_project_slugs(title: str) -> Iterator[str]:
    """List the slugs that a project of a title may have, the best first: one may belong to another project."""
    slug = make_slug(title) or _UNTITLED
    yield slug
    for number in count(2):
        yield f"{slug}-{number}"


def mark_slug(title: str, project_id: str) -> str:
    """Make a slug that no other project has, and that does not tell whether one has the same title."""
    return f"{make_slug(title) or _UNTITLED}-{project_id[:8]}"

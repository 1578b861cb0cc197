"""XML that somebody else wrote: no entities, no outside references, no bottomless nesting."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.imported import unreadable

_DEEPEST = 200
_BLANKS = re.compile(r"[ \t\r\n]+")


def parse_xml(data: bytes, what: str) -> Element:
    """The root element of a small or large XML file."""
    try:
        root = fromstring(data)
    except DefusedXmlException:
        raise FabulaError(
            Code.IMPORT_UNSAFE,
            f"{what}: it defines entities or points outside itself, which no manuscript needs. "
            "Nothing was imported. Do not trust this file; ask where it came from.",
        ) from None
    except (ParseError, ValueError, LookupError):
        unreadable(what, "it is not well-formed XML", "Save the manuscript again with the program that made it.")
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise FabulaError(
                Code.IMPORT_TOO_LARGE,
                f"{what}: it is nested more than {_DEEPEST} deep. Nothing was imported. Flatten the manuscript.",
            )
        level = [child for element in level for child in element]
    return root


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rsplit("}", 1)[-1]


def attribute(element: Element, name: str) -> str:
    """An attribute by its name without namespace; empty when absent."""
    for key, value in element.attrib.items():
        if key.rsplit("}", 1)[-1] == name:
            return value
    return ""


def children(element: Element, name: str) -> list[Element]:
    """The children of that name, in any namespace."""
    return [child for child in element if local(child) == name]


def first(element: Element, *path: str) -> Element | None:
    """What stands at the end of a path of names, if it is there."""
    found: Element | None = element
    for name in path:
        found = next(iter(children(found, name)), None) if found is not None else None
    return found


def words(element: Element | None) -> str:
    """All text inside, white space made one blank; full-width blanks are meant and stay."""
    return _BLANKS.sub(" ", "".join(element.itertext())).strip() if element is not None else ""

"""Parse untrusted XML: no entities, no external references, bounded depth."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from fabula.formats.safe.import_errors import refuse_too_large, refuse_unreadable, refuse_unsafe

NEVER_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_MAX_DEPTH = 200
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")


def parse_xml(data: bytes, label: str) -> Element:
    """Parse an XML file and return its root element."""
    try:
        root = fromstring(data)
    except DefusedXmlException:
        refuse_unsafe(label, "it defines entities or points outside itself, which no manuscript needs")
    except (ParseError, ValueError, LookupError):
        refuse_unreadable(
            label, "it is not well-formed XML", "Save the manuscript again with the program that made it."
        )
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            refuse_too_large(label, f"it is nested more than {_MAX_DEPTH} deep", "Flatten the manuscript.")
        level = [child for element in level for child in element]
    return root


def local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rsplit("}", 1)[-1]


def get_attribute(element: Element | None, name: str) -> str:
    """The value of an attribute in any namespace; empty when the attribute or the element is missing."""
    attributes = element.attrib.items() if element is not None else ()
    return next((value for key, value in attributes if key.rsplit("}", 1)[-1] == name), "")


def find_children(element: Element | None, name: str) -> list[Element]:
    """The children of that name in any namespace; none when the element is missing."""
    return [child for child in element if local_name(child) == name] if element is not None else []


def find_path(element: Element | None, *path: str) -> Element | None:
    """Follow a path of child names; None where it ends too early."""
    for name in path:
        element = next(iter(find_children(element, name)), None)
    return element


def read_text(element: Element | None) -> str:
    """All text inside an element, runs of ASCII white space as one blank; full-width blanks stay."""
    return _WHITE_SPACE.sub(" ", "".join(element.itertext())).strip() if element is not None else ""

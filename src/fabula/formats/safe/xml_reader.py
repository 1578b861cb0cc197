"""Parse untrusted XML: no entities, no external references, bounded depth and tags."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from fabula.core.messages import message
from fabula.formats.safe.import_errors import SAVE_AGAIN, refuse_too_large, refuse_unreadable, refuse_unsafe
from fabula.formats.safe.nesting import is_deeper

NEVER_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_MAX_DEPTH = 200
_MAX_TAGS = 600_000  # a novel has a few hundred thousand; an element takes much more memory than its bytes
_MAX_TAG = 250_000  # bytes; the longest of Word, the outline of a drawing, takes tens of thousands
_LONG_STRETCH = re.compile(rb"<[^<!?][^<]{%d}" % _MAX_TAG)  # a tag, and perhaps the text behind it
_TAG = re.compile(rb"""<(?:[^"'>]++|"[^"]*+"|'[^']*+')*+""")
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")


def check_tag_count(count: int, label: str) -> None:
    """Refuse a file with more tags than any manuscript has."""
    if count > _MAX_TAGS:
        refuse_too_large(label, message("it has more elements than any manuscript"))


def parse_xml(data: bytes, label: str) -> Element:
    """Parse an XML file and return its root element."""
    check_tag_count(data.count(b"<"), label)
    stretches = [stretch.start() for stretch in _LONG_STRETCH.finditer(data)]
    if any(tag.end() - tag.start() > _MAX_TAG for start in stretches if (tag := _TAG.match(data, start))):
        refuse_too_large(label, message("it has a tag of more than {size:,} bytes", size=_MAX_TAG))
    try:
        root = fromstring(data)
    except DefusedXmlException:
        problem = message("it defines entities or points to other files, which no manuscript needs")
        refuse_unsafe(label, problem)
    except (ParseError, ValueError, LookupError):
        refuse_unreadable(label, message("it is not well-formed XML"), SAVE_AGAIN)
    if is_deeper(root, _MAX_DEPTH, iter):
        refuse_too_large(label, message("it is nested more than {depth} levels deep", depth=_MAX_DEPTH), SAVE_AGAIN)
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
        if element is None:
            break
        element = next((child for child in element if local_name(child) == name), None)
    return element


def read_text(element: Element | None) -> str:
    """All text inside an element, runs of ASCII white space as one blank; full-width blanks stay."""
    return _WHITE_SPACE.sub(" ", "".join(element.itertext())).strip() if element is not None else ""

"""XML: entities, external references, deep nesting and endless tags are refused."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.xml_reader import parse_xml

LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


OUTSIDE = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (LAUGHS, Code.IMPORT_UNSAFE),
        (OUTSIDE, Code.IMPORT_UNSAFE),
        (b"<a>" * 100_000 + b"</a>" * 100_000, Code.IMPORT_TOO_LARGE),
        (b'<a b="' + b"x" * 300_000 + b'"/>', Code.IMPORT_TOO_LARGE),
        (b"<a b='" + b">" * 300_000 + b"'/>", Code.IMPORT_TOO_LARGE),
        (b"<a " + b" ".join(b'a%d=""' % number for number in range(40_000)) + b"/>", Code.IMPORT_TOO_LARGE),
        (b"<a><b></a>", Code.IMPORT_UNREADABLE),
        (b"", Code.IMPORT_UNREADABLE),
        (b'<?xml version="1.0" encoding="nonsense"?><a/>', Code.IMPORT_UNREADABLE),
    ],
)
def test_hostile_xml_is_refused(data: bytes, code: Code) -> None:
    with pytest.raises(FabulaError) as raised:
        parse_xml(data, "x.xml")
    assert raised.value.code is code


def test_a_long_text_or_comment_is_no_long_tag() -> None:
    text = "it's > " * 100_000
    assert parse_xml(f'<a b="1">{text}<!-- {text} --></a>'.encode(), "x.xml").text == text

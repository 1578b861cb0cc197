"""RTF: italics, bold, code pages and Unicode escapes come out as Markdown."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.rtf import convert_rtf
from tests.formats.manuscripts.books import make_rtf

CHINESE_BYTES = (
    rb"{\rtf1\ansi\ansicpg936{\fonttbl\f0\fnil\fcharset134 PingFangSC-Regular;\f1\fswiss\fcharset0 Helvetica;}"
    rb"\f0 \'c4\'e3\'ba\'c3\'a3\'ac\i \'ca\'c0\'bd\'e7\i0\'a1\'a3\'81N" + b"\\\n" + rb"\f1 caf\'e9s\par}"
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (CHINESE_BYTES, "你好，*世界*。丯\n\ncafés"),
        (make_rtf(r"\uc0\u20320 \u22909 \uc1\u19990?\u30028?"), "你好世界"),
        (make_rtf(r"\uc1 it\u8217's a long run of plain words here"), "it’s a long run of plain words here"),
        (make_rtf(r"\u-10179?\u-8704?"), "😀"),
        (make_rtf(r"\ldblquote Yes,\rdblquote  she said\emdash so.\line Next"), "“Yes,” she said—so.\nNext"),
        (make_rtf(r"{\i all {\b of} it} plain"), "*all **of** it* plain"),
        (make_rtf(r"a {\*\unknown hidden}{\footnote note}{\pict\bin5 }}}{{}b"), "a b"),
        (make_rtf(r"see {\field{\*\fldinst{HYPERLINK scrivcmt://X}}{\fldrslt this}} now"), "see this now"),
        (make_rtf(r"<$Scr_Ps::0>styled<!$Scr_Ps::0> text"), "styled text"),
        (
            make_rtf(r"# no heading\par > no quotation\par 2 * 3 *stars*"),
            "\\# no heading\n\n\\> no quotation\n\n2 * 3 \\*stars\\*",
        ),
        (make_rtf(r"broken \u \uc \u99999999 escapes"), "broken escapes"),
        ("{\\rtf1\\ansi 你好}".encode(), "你好"),
        ("{\\rtf1\\ansi\\ansicpg936 你好}".encode("gbk"), "你好"),
    ],
)
def test_rtf_comes_out_right(data: bytes, text: str) -> None:
    assert convert_rtf(data, "x.rtf") == text


@pytest.mark.parametrize("data", [b"plain", b"{\\rtf1 " + b"{" * 5_000])
def test_what_is_no_rtf_is_refused(data: bytes) -> None:
    with pytest.raises(FabulaError) as raised:
        convert_rtf(data, "x.rtf")
    assert raised.value.code is Code.IMPORT_UNREADABLE


def test_an_endless_font_table_takes_no_time() -> None:
    fonts = b"{\\fonttbl" + b"\\f1 x" * 200_000 + b"}"
    assert convert_rtf(b"{\\rtf1\\ansi" + fonts + b"text}", "x.rtf") == "text"

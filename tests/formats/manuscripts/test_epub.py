"""EPUB: what other programs make is read, what we make comes back as it was."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from hypothesis import given, settings

from fabula.core.archives import open_zip
from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.epub_reader import read_epub
from fabula.formats.manuscripts.epub_writer import write_epub
from fabula.formats.manuscripts.model import ImportedManuscript
from fabula.formats.safe.xml_reader import parse_xml
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from tests.formats.manuscripts.books import CHINESE, ENGLISH, books, make_zip

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def read(data: bytes) -> ImportedManuscript:
    with open_zip(data) as archive:
        return read_epub(archive)


def page(body: str, attributes: str = "") -> str:
    return (
        '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/x.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title>'
        f"</head><body{attributes}>{body}</body></html>"
    )


def epub(
    pages: dict[str, str], *, ncx: str = "", nav: str = "", guide: str = "", more: dict[str, str] | None = None
) -> bytes:
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages)
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' if ncx else ""
    items += '<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if nav else ""
    items += '<item id="css" href="style.css" media-type="text/css"/>' if more and "OEBPS/style.css" in more else ""
    spine = "".join(f'<itemref idref="{name}"/>' for name in pages)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="2.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">'
        '<dc:title>The Lamp</dc:title><dc:creator opf:role="aut">Ada Quill</dc:creator>'
        '<dc:creator opf:role="trl">Someone Else</dc:creator><dc:language>en-GB</dc:language></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine>{guide}</package>"
    )
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/content.opf": opf}
    files |= {f"OEBPS/{name}": text for name, text in pages.items()}
    files |= {"OEBPS/toc.ncx": ncx} if ncx else {}
    files |= {"OEBPS/nav.xhtml": page(nav)} if nav else {}
    return make_zip(files | (more or {}))


@pytest.mark.parametrize(
    "book",
    [ENGLISH, CHINESE, ManuscriptDraft(title="Nothing"), ManuscriptDraft(title="X", drafts=(DocumentDraft(title=""),))],
)
def test_a_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read(write_epub(book)).book == book


@settings(max_examples=100, deadline=None)
@given(books())
def test_any_sane_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read(write_epub(book)).book == book


def test_what_is_written_is_well_formed_with_the_mimetype_first_and_plain() -> None:
    data = write_epub(ENGLISH)
    with zipfile.ZipFile(BytesIO(data)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        for name in archive.namelist():
            if name.endswith((".xhtml", ".opf", ".xml")):
                parse_xml(archive.read(name), name)
        assert b"dcterms:modified" in archive.read("book/package.opf")


def test_notes_are_not_written() -> None:
    book = ManuscriptDraft(
        title="T",
        drafts=(DocumentDraft(title="a", text="x"), DocumentDraft(title="secret", kind=DocumentKind.NOTE, text="y")),
    )
    with zipfile.ZipFile(BytesIO(write_epub(book))) as archive:
        assert not any(b"secret" in archive.read(name) for name in archive.namelist())


NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>
<navPoint><navLabel><text>Cover</text></navLabel><content src="cover.xhtml"/></navPoint>
<navPoint><navLabel><text>Part One</text></navLabel><content src="one.xhtml"/>
 <navPoint><navLabel><text>Chapter 1: Oil</text></navLabel><content src="one.xhtml#c1"/></navPoint>
 <navPoint><navLabel><text>Chapter 2: Wick</text></navLabel><content src="one.xhtml#c2"/></navPoint></navPoint>
<navPoint><navLabel><text>Part Two</text></navLabel><content src="two.xhtml"/>
 <navPoint><navLabel><text>Chapter 3</text></navLabel><content src="two.xhtml"/></navPoint></navPoint>
</navMap></ncx>"""


def test_an_epub_2_is_cut_by_its_nested_contents_within_pages_and_across_them() -> None:
    data = epub(
        {
            "cover.xhtml": page("<p>A picture</p>"),
            "one.xhtml": page(
                "<h1>Part One</h1><div id='c1'><h2>Chapter 1</h2><h3>Oil</h3><p>a</p></div>"
                "<h2 id='c2'>Chapter 2: Wick</h2><p>b</p>"
            ),
            "one_b.xhtml": page("<p>still b</p>"),
            "two.xhtml": page("<h2>Chapter 3</h2><p>c</p>"),
        },
        ncx=NCX,
    )
    imported = read(data)
    book = imported.book
    assert (book.title, book.authors, book.language) == ("The Lamp", ("Ada Quill",), "en-GB")
    assert book.drafts == (
        DocumentDraft(
            title="Part One",
            kind=DocumentKind.PART,
            children=(
                DocumentDraft(title="Chapter 1: Oil", text="a"),
                DocumentDraft(title="Chapter 2: Wick", text="b\n\nstill b"),
            ),
        ),
        DocumentDraft(title="Part Two", kind=DocumentKind.PART, children=(DocumentDraft(title="Chapter 3", text="c"),)),
    )
    assert "left out" in str(imported.warnings[0])


def test_an_epub_3_leaves_front_matter_and_notes_out() -> None:
    nav = (
        '<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="t.xhtml">Titlepage</a></li>'
        '<li><span>Book <i>One</i></span><ol><li><a href="a.xhtml">I</a></li>'
        '<li><a href="b.xhtml">II</a></li></ol></li>'
        '<li><a href="notes.xhtml">Endnotes</a></li></ol></nav><nav epub:type="landmarks"><ol><li><a href="a.xhtml">'
        "Start</a></li></ol></nav>"
    )
    data = epub(
        {
            "t.xhtml": page("<h1>The Lamp</h1>", ' epub:type="frontmatter titlepage"'),
            "a.xhtml": page(
                '<section epub:type="chapter"><h2>I</h2><p>a<a epub:type="noteref" href="#n">1</a></p></section>'
            ),
            "b.xhtml": page("<h2>II</h2><p>b</p>"),
            "notes.xhtml": page('<section epub:type="endnotes"><p>1. note</p></section>'),
        },
        nav=nav,
    )
    book = read(data).book
    assert [draft.title for draft in book.drafts] == ["Book One"]
    assert book.drafts[0].kind is DocumentKind.PART
    assert [(child.title, child.text) for child in book.drafts[0].children] == [("I", "a"), ("II", "b")]


QUIRKS = """<h1>One</h1>
<p>Mr.&nbsp;Smith &amp; &ldquo;Co&rdquo;&hellip; <i>caf&eacute;</i><br/>next
   line</p><!-- a comment <p>no</p> -->
<blockquote><p>quoted <b>strongly</b></p></blockquote>
<p class="x"><span class="it">styled</span> and <span style="font-style: italic">so</span></p>
<p>&#160;</p><p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字</p>
<hr/><p>* * *</p><ul><li>first</li><li><p>second</p></li></ul>
<div>loose text</div><p>unclosed <em>tail</p><p>after</p><script>alert("x")</script>"""


def test_the_quirks_of_real_pages() -> None:
    data = epub({"a.xhtml": page(QUIRKS)}, more={"OEBPS/style.css": ".it, .other { font-style: italic; }"})
    assert read(data).book.drafts[0].text.split("\n\n") == [
        "Mr.\xa0Smith & “Co”… *café*\nnext line",
        "> quoted **strongly**",
        "*styled* and *so*",
        "漢字",
        "***",
        "* * *",
        "- first",
        "- second",
        "loose text",
        "unclosed *tail*",
        "after",
    ]


def test_a_book_without_contents_is_cut_at_its_headings() -> None:
    data = epub(
        {"a.xhtml": page("<h1>One</h1><p>a</p><h1>Two</h1><p>b</p>"), "b.xhtml": page("<h1>Three</h1><p>c</p>")}
    )
    assert [(d.title, d.text) for d in read(data).book.drafts] == [("One", "a"), ("Two", "b"), ("Three", "c")]


def test_a_book_without_headings_is_cut_at_lines_that_look_like_them() -> None:
    data = epub({"a.xhtml": page("<p>第一章 初见</p><p>　　海。</p><p>第二章 再见</p><p>　　灯。</p>")})
    assert [(d.title, d.text) for d in read(data).book.drafts] == [
        ("第一章 初见", "　　海。"),
        ("第二章 再见", "　　灯。"),
    ]


def test_an_in_text_heading_becomes_a_bold_line() -> None:
    nav = '<nav epub:type="toc"><ol><li><a href="a.xhtml">One</a></li><li><a href="b.xhtml">Two</a></li></ol></nav>'
    data = epub({"a.xhtml": page("<h1>One</h1><p>a</p><h3>Letter</h3>"), "b.xhtml": page("<h1>Two</h1>")}, nav=nav)
    assert read(data).book.drafts[0].text == "a\n\n**Letter**"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"OEBPS/a.xhtml": '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><p>&b;</p>'}, Code.IMPORT_UNSAFE),
        ({"META-INF/container.xml": '<!DOCTYPE c [<!ENTITY a SYSTEM "file:///x">]><c>&a;</c>'}, Code.IMPORT_UNSAFE),
        ({"OEBPS/content.opf": "<package/>"}, Code.IMPORT_UNREADABLE),
        ({"OEBPS/content.opf": "<package>"}, Code.IMPORT_UNREADABLE),
        ({"META-INF/container.xml": "<container/>", "OEBPS/content.opf": "<x/>"}, Code.IMPORT_UNREADABLE),
        (
            {"META-INF/encryption.xml": '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'},
            Code.IMPORT_UNREADABLE,
        ),
    ],
)
def test_hostile_and_broken_books_are_refused(more: dict[str, str], code: Code) -> None:
    with zipfile.ZipFile(BytesIO(epub({"a.xhtml": page("<p>a</p>")}))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    with pytest.raises(FabulaError) as raised:
        read(make_zip(files | more))
    assert raised.value.code is code


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000,
        "<" * 100_000,
        "<!--" * 50_000,
        "<i>" * 50_000 + "x" + "</b>" * 50_000,
        '<a b="' * 50_000,
        "<?" * 50_000,
    ],
)
def test_hostile_markup_takes_neither_time_nor_stack(body: str) -> None:
    assert read(epub({"a.xhtml": page(f"<p>fine</p>{body}")})).book.drafts

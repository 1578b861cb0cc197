"""Word documents: headings in any language, and the words of every editor."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import docx
import pytest
from hypothesis import given, settings

from fabula.core.archives import open_zip
from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.docx import read_docx, write_docx
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from tests.formats.manuscripts.books import CHINESE, ENGLISH, books, make_zip

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def read(data: bytes) -> ManuscriptDraft:
    with open_zip(data) as archive:
        return read_docx(archive).book


def raw(body: str, styles: str = "") -> bytes:
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
        }
    )


def p(text: str, style: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


@pytest.mark.parametrize(
    "book",
    [ENGLISH, CHINESE, ManuscriptDraft(title="Nothing"), ManuscriptDraft(title="X", drafts=(DocumentDraft(title=""),))],
)
def test_a_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read(write_docx(book)) == book


@settings(max_examples=25, deadline=None)
@given(books())
def test_any_sane_book_comes_back_as_it_was(book: ManuscriptDraft) -> None:
    assert read(write_docx(book)) == book


def test_word_and_its_kin_can_open_what_we_write() -> None:
    document = docx.Document(BytesIO(write_docx(ENGLISH)))
    headings = [
        p.text for p in document.paragraphs if p.style is not None and (p.style.name or "").startswith("Heading")
    ]
    assert "Part One: Oil" in headings
    assert document.core_properties.title == ENGLISH.title


GERMAN = (
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Meine"><w:name w:val="Meine"/><w:basedOn w:val="berschrift2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>'
    '<w:style w:type="character" w:styleId="Hervor"><w:name w:val="Emphasis"/><w:rPr><w:i/></w:rPr></w:style>'
)


def test_headings_are_known_in_any_language_and_through_styles_based_on_them() -> None:
    body = p("Eins ... 3", "TOC1") + p("Teil 1", "berschrift1") + p("Eins", "Meine") + p("Text.") + p("Mehr.", "Loop")
    assert read(raw(body, GERMAN)).drafts == (
        DocumentDraft(
            title="Teil 1", kind=DocumentKind.PART, children=(DocumentDraft(title="Eins", text="Text.\n\nMehr."),)
        ),
    )


def test_an_outline_level_makes_a_heading_too() -> None:
    body = '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p>' + p("a")
    assert read(raw(body)).drafts == (DocumentDraft(title="One", text="a"),)


def test_insertions_are_read_and_deletions_are_not() -> None:
    body = (
        p("One", "berschrift1")
        + '<w:p><w:r><w:t xml:space="preserve">He </w:t></w:r><w:ins><w:r><w:t>came</w:t></w:r></w:ins>'
        + "<w:del><w:r><w:delText>went</w:delText></w:r></w:del><w:r><w:br/><w:t>home</w:t></w:r>"
        + '<w:hyperlink><w:r><w:rPr><w:rStyle w:val="Hervor"/></w:rPr><w:t> again</w:t></w:r></w:hyperlink>'
        + '<w:r><w:rPr><w:i w:val="0"/><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>'
        + "<w:sdt><w:sdtContent>"
        + p("In a control.")
        + "</w:sdtContent></w:sdt>"
        + "<w:tbl><w:tr><w:tc>"
        + p("In a cell.")
        + "</w:tc></w:tr></w:tbl>"
    )
    assert read(raw(body, GERMAN)).drafts[0].text == "He came\nhome *again*\n\nIn a control.\n\nIn a cell."


def test_a_document_without_headings_is_read_like_plain_text() -> None:
    body = p("The Lamp") + p("by Ada") + p("Chapter 1") + p("a") + p("Chapter 2") + p("***") + p("b")
    book = read(raw(body))
    assert (book.title, book.authors) == ("The Lamp", ("Ada",))
    assert [(draft.title, draft.text) for draft in book.drafts] == [("Chapter 1", "a"), ("Chapter 2", "***\n\nb")]


def test_a_document_without_anything_to_go_by_is_one_chapter() -> None:
    assert read(raw(p("a") + p("b"))).drafts == (DocumentDraft(title="", text="a\n\nb"),)


def test_an_empty_document_has_no_drafts() -> None:
    assert read(raw("")).drafts == ()


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ('<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w>&b;</w>', Code.IMPORT_UNSAFE),
        ('<!DOCTYPE w [<!ENTITY a SYSTEM "file:///etc/passwd">]><w>&a;</w>', Code.IMPORT_UNSAFE),
        ("<w>", Code.IMPORT_UNREADABLE),
        ("<a>" * 1_000 + "</a>" * 1_000, Code.IMPORT_TOO_LARGE),
    ],
)
def test_hostile_documents_are_refused(document: str, code: Code) -> None:
    with pytest.raises(FabulaError) as raised:
        read(make_zip({"word/document.xml": document}))
    assert raised.value.code is code


def test_control_characters_do_not_break_a_document(tmp_path: Path) -> None:
    book = ManuscriptDraft(title="a\x00b", drafts=(DocumentDraft(title="c\x01", text="d\x02e"),))
    assert read(write_docx(book)).drafts == (DocumentDraft(title="c", text="de"),)


def b(text: str) -> str:
    return f'<w:p><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


@pytest.mark.parametrize(
    "titles",
    [("Chapter 1", "Chapter 2"), ("第一章 雾", "第二章 灯"), ("The Lamp", "The Fog")],
)
def test_bold_chapter_lines_become_chapters(titles: tuple[str, str]) -> None:
    book = read(raw(b(titles[0]) + p("She came.") + p("He left.") + b(titles[1]) + p("The end.")))
    assert [draft.title for draft in book.drafts] == list(titles)
    assert [draft.text for draft in book.drafts] == ["She came.\n\nHe left.", "The end."]


def test_bold_words_in_prose_are_no_chapters() -> None:
    book = read(raw(p("She came.") + b("He left at once.") + p("The end.")))
    assert len(book.drafts) == 1
    book = read(raw(b("Chapter 1") + p("She came.") + b("A sign on the door") + p("The end.")))
    assert [draft.title for draft in book.drafts] == ["Chapter 1"]

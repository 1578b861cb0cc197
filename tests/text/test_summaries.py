"""A text in its own sentences: nothing invented, in order, within its length, always the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.manuscript.model import Document, Manuscript
from fabula.text.keywords import is_unspaced
from fabula.text.statements import split_into_statements
from fabula.text.summaries import (
    SYNOPSIS_CHARACTERS,
    SYNOPSIS_WORDS,
    choose_synopsis_length,
    condense_texts,
    extract_summary,
)
from fabula.workspace.read_only import open_read_only, sample_names

TALK = (
    "“Who goes there?” Mara said.\n\n“A friend! I have walked all night. I have nothing left,” said Mr. Tarn, and he "
    "put the lantern on the wall of the harbour.\n\nMara took the lantern from the harbour wall and let Mr. Tarn in. "
    "The lantern burned until morning, and Mara slept beside it.\n\n“No!” he cried. “Never again!”"
)


def chapters() -> list[Document]:
    found: list[Document] = []
    for name in sample_names():
        story = open_read_only(f"sample:{name}").view.snapshot(Manuscript)
        assert story is not None
        found += story.documents
    return found


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: f"{chapter.id}-{chapter.title}")
def test_a_chapter_is_told_in_its_own_sentences_in_order_and_in_short(chapter: Document) -> None:
    told = extract_summary(chapter.text)
    plain = chapter.text.replace("*", "").replace("_", "")
    place = 0
    for sentence in (one.text for one in split_into_statements(told)):
        found = plain.find(sentence.rstrip("…"), place)
        assert found >= place, sentence
        place = found
    size = len(told) if is_unspaced(chapter.text) else len(told.split())
    low, high = SYNOPSIS_CHARACTERS if is_unspaced(chapter.text) else SYNOPSIS_WORDS
    assert low * 0.6 <= size <= high * 1.2
    assert size <= choose_synopsis_length(chapter.text) * 1.2


def test_what_is_spoken_stays_with_who_spoke_and_titles_with_their_names() -> None:
    said = [one.text for one in split_into_statements(TALK)]
    assert "“Who goes there?” Mara said." in said
    assert any(one.startswith("“A friend!") and "said Mr. Tarn, and he put" in one for one in said)
    assert "Mara took the lantern from the harbour wall and let Mr. Tarn in." in said
    chinese = [one.text for one in split_into_statements("　　“去吧！”林远说。“我等你。天亮再走。”她关上门。")]
    assert chinese == ["“去吧！”林远说。", "“我等你。天亮再走。”", "她关上门。"]


def test_what_happens_is_told_rather_than_what_is_said() -> None:
    told = extract_summary(TALK, length=30)
    assert "Mara took the lantern" in told
    assert "Never again" not in told


def test_names_that_are_wanted_are_told_where_the_text_has_them() -> None:
    text = " ".join(f"The tide came over stone number {n} and went out over stone and sand again." for n in range(60))
    text += " The sand lay under the tide. He told Odell of the stone. It was Odell again. Then Odell slept."
    assert "Odell" not in extract_summary(text, length=30)
    assert "Odell" in extract_summary(text, length=30, names=["Odell"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        (" \n\n　", ""),
        ("* * *", ""),
        ("# A heading\n\nOne.", "One."),
        ("One.", "One."),
        ("他走了。", "他走了。"),
        ("> *She* went out.", "She went out."),
    ],
)
def test_short_texts(text: str, told: str) -> None:
    assert extract_summary(text) == told


@pytest.mark.parametrize("piece", ["a", "word ", "字", "他说，", "“", "A. ", "\n", "x\n", "?! "])
def test_five_million_characters_without_a_paragraph_are_told_in_short(piece: str) -> None:
    told = extract_summary(piece * (5_000_000 // len(piece)))
    assert len(told) <= 2000


def test_a_long_text_is_told_from_all_of_it() -> None:
    parts = [f"In hour {n} the watch{n} rang the bell{n} and the watch{n} slept. " * 400 for n in range(10)]
    told = extract_summary("\n".join(parts), length=200)
    assert "hour 0 " in told
    assert "hour 9 " in told


def test_a_sentence_that_goes_on_and_on_is_cut_where_a_clause_ends() -> None:
    told = extract_summary("Mara went down, " + ", ".join(f"past door {n}" for n in range(60)) + ".")
    assert told.endswith("…")
    assert len(told.split()) <= 50
    assert told.removesuffix("…").endswith(tuple("0123456789"))


def test_several_short_texts_become_one_with_something_of_each() -> None:
    texts = [f"Captain {name} sailed for {name} Island with the mail." for name in ("Orme", "Pell", "Quill", "Rudd")]
    told = condense_texts(texts)
    assert [name in told for name in ("Orme", "Pell", "Quill", "Rudd")] == [True] * 4
    assert condense_texts([]) == condense_texts([""]) == ""
    many = condense_texts([f"{text} It rained on day {n} of the voyage." for n, text in enumerate(texts * 40)], 0.5)
    assert len(many.split()) <= 80


@settings(deadline=None)
@given(st.text(st.sampled_from("ab AB.!?“”\"'\n，。！他林,…"), max_size=400))
def test_nothing_is_ever_invented(text: str) -> None:
    told = extract_summary(text)
    assert set(told) <= {*text, "…", " "}
    assert extract_summary(text) == told


def test_the_same_sentences_come_whatever_the_process() -> None:
    program = (
        "from fabula.workspace.read_only import open_read_only; from fabula.manuscript.model import Manuscript\n"
        "from fabula.text.summaries import condense_texts, extract_summary\n"
        "import hashlib\n"
        "s = [d.text for n in ('lantern_coast', 'wugang')"
        " for d in open_read_only('sample:' + n).view.snapshot(Manuscript).documents]\n"
        "t = [extract_summary(x) for x in s]\n"
        "print(hashlib.sha256('|'.join([*t, condense_texts(t[:7]), condense_texts(t[7:])]).encode()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(runs) == 1

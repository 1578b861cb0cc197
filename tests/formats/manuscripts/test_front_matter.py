"""Front matter: YAML as people write it, within limits."""

from __future__ import annotations

import time

import pytest
import yaml

from fabula.formats.manuscripts import front_matter
from fabula.formats.manuscripts.front_matter import split_front_matter


def read(head: str) -> dict[str, front_matter.Value]:
    values, rest = split_front_matter(f"---\n{head}\n---\nbody")
    assert rest == "body"
    return values


def test_text_without_front_matter_is_left_alone() -> None:
    for text in ("---\nno key here\n---\nx", "---\nkey: never closed", "---\n- a: b\n---\nx", "text\n---\na: b\n---"):
        assert split_front_matter(text) == ({}, text)


def test_values_stay_as_they_are_typed() -> None:
    head = "date: 2024-01-01\nversion: 1.10\nanswer: yes\ntime: 12:30\nname: Null\nnothing: null\ntilde: ~\nempty:"
    assert read(head) == {
        "date": "2024-01-01",
        "version": "1.10",
        "answer": "yes",
        "time": "12:30",
        "name": "Null",
        "nothing": "",
        "tilde": "",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("a: {b: c, d: 'e'}\nf: null", {"a": {"b": "c", "d": "e"}, "f": ""}),
        ("a: [Mara, 'the keeper', \"Venn, M.\"]", {"a": ["Mara", "the keeper", "Venn, M."]}),
        ("a:\n- b\n- c: d", {"a": ["b", "c: d"]}),
        ("a:\n  - b: c\n    d: e", {"a": ["b: c; d: e"]}),
        ("a: >\n  one\n  two\nb: |\n  One: 1\n  Two", {"a": "one two", "b": "One: 1\nTwo"}),
        ("a: one\n  two", {"a": "one two"}),
        ("# comment\na: b # comment\n'quoted key': \"c: d\" # comment", {"a": "b", "quoted key": "c: d"}),
        ("a: 1\na: 2", {"a": "2"}),
        ("标题: 第一章：海", {"标题": "第一章：海"}),
    ],
)
def test_yaml_is_read(head: str, values: dict[str, front_matter.Value]) -> None:
    assert read(head) == values


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("title: Chapter 1: The Sea", {"title": "Chapter 1: The Sea"}),
        ("title: Chapter 1: The Sea # draft", {"title": "Chapter 1: The Sea"}),
        ('title: "A" and "B"', {"title": '"A" and "B"'}),
        ('title: "unclosed', {"title": '"unclosed'}),
        ("title: [Draft] The Sea", {"title": "[Draft] The Sea"}),
        ("title: {{name}}", {"title": "{{name}}"}),
        ("title: *Star*", {"title": "*Star*"}),
        ("title: @home, 100%, `code`, - dash", {"title": "@home, 100%, `code`, - dash"}),
        ("title: - dash", {"title": "- dash"}),
        ("title: > not folded", {"title": "> not folded"}),
        ("title: a\x07b", {"title": "a\x07b"}),
        ("tags:\n\t- a\n\t- b", {"tags": ["a", "b"]}),
        ("tags:\n  - 'the keeper'\n  - Keeper: of: lamps", {"tags": ["the keeper", "Keeper: of: lamps"]}),
        ("fields:\n  role: Keeper: of lamps\n  age: 34", {"fields": {"role": "Keeper: of lamps", "age": "34"}}),
        ("summary: A long one\ngoes on", {"summary": "A long one goes on"}),
        ("notes: see: this\n  and: that", {"notes": "see: this and: that"}),
    ],
)
def test_what_people_write_is_read_and_does_no_harm_to_other_keys(
    head: str, values: dict[str, front_matter.Value]
) -> None:
    assert read(f"author: [A, 'B']\n{head}\nlang: en") == {"author": ["A", "B"], **values, "lang": "en"}


@pytest.mark.parametrize("loader", ["CBaseLoader", "BaseLoader"])
@pytest.mark.parametrize(
    "head",
    [
        "a: &a [x, x]\n" + "\n".join(f"b{n}: &b{n} [*a, *a]" for n in range(99)),
        "a: " + "[" * 40_000,
        "a: " + "{" * 40_000,
        "a: " + "? " * 20_000,
        "a" + ": a" * 20_000,
        "a: b: c" + " " * 80_000 + "d",
        "a: b: c\n" + " " * 80_000 + "d: e",
        "\n".join(" " * depth + f"a{depth}:" for depth in range(300)),
        "a: b: c\n" * 1_500,
        "a: !!python/object/apply:os.system [ls]",
    ],
    ids=["bomb", "brackets", "braces", "questions", "colons", "blanks", "indent", "nesting", "many", "tag"],
)
def test_hostile_front_matter_takes_no_time(head: str, loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_matter, "_Loader", getattr(yaml, loader))
    start = time.perf_counter()
    assert len(str(read(head))) < 3 * len(head) + 100
    assert time.perf_counter() - start < 10  # a few milliseconds; machines of the check are slow and shared


def test_a_head_without_end_is_text() -> None:
    text = "---\na: " + "b" * 200_000 + "\n---\nbody"
    assert split_front_matter(text) == ({}, text)

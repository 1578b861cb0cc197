"""Constraints from the command line, as a person types them."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


def test_the_numbers_after_a_removed_rule_move_up_and_the_help_says_so(room: Room) -> None:
    before = room.run("constraint", "list", "Coast").splitlines()[1:]
    room.run("constraint", "remove", "Coast", "1")
    after = room.run("constraint", "list", "Coast").splitlines()[1:]
    assert [row.split()[1:] for row in after] == [row.split()[1:] for row in before[1:]]
    assert [row.split()[0] for row in after] == [row.split()[0] for row in before[:-1]]
    assert "move up by one number" in " ".join(room.run("constraint", "remove", "--help").split())


def test_constraints_are_listed_with_what_a_program_can_check(room: Room) -> None:
    found = room.read("constraint", "list", "Coast")
    assert [one["id"] for one in room.read("constraint", "list", "sample:lantern_coast")] == [
        one["id"] for one in found
    ]
    room.run("constraint", "add", "Coast", "No exclamation marks.", "--id", "calm", "--priority", "99")
    first = room.read("constraint", "list", "Coast", "--origin", "user")[0]
    assert (first["id"], first["check"], first["checks"]["kind"]) == ("calm", None, "banned")
    last = len(found) + 1
    assert re.search(rf"^ +{last}  No exclamation marks\. +✓ ", room.run("constraint", "list", "Coast"), re.MULTILINE)
    assert " calm " in room.run("constraint", "list", "Coast", "--ids")


def test_a_constraint_is_added_edited_and_removed(room: Room) -> None:
    said = room.run("constraint", "add", "Coast", "She limps.", "--id", "limp", "--kind", "character")
    number = len(room.read("constraint", "list", "Coast"))
    why = "left to the judge model, because only a reader can tell whether it is kept"
    assert said == f"Constraint {number} is in force: “She limps.” It is {why}.\n"
    made = room.read(
        *("constraint", "edit", "Coast", "limp", "--text", "No limping.", "--until", "ch-05", "--priority", "7"),
        *("--check", '{"kind": "banned", "words": ["limp", "limps"]}'),
    )
    assert (made["text"], made["until"], made["priority"]) == ("No limping.", {"document": "ch-05", "offset": 0}, 7)
    assert made["check"] == {"kind": "banned", "words": ["limp", "limps"]}
    assert room.read("constraint", "edit", "Coast", "limp", "--check", "none", "--until", "end")["check"] is None
    assert room.run("constraint", "remove", "Coast", "limp") == f"Constraint {number} is gone: “No limping.”\n"
    assert "CONSTRAINT_NOT_FOUND" in room.run("constraint", "remove", "Coast", "limp", code=2)


def test_a_text_is_held_against_them(room: Room) -> None:
    room.run("new", "Plain")
    room.run("constraint", "add", "Plain", "Never use the word 'suddenly'.", "--id", "calm")
    (room.folder / "draft.md").write_text("He came.\nSuddenly it rained.\n", "utf-8")
    assert room.run("constraint", "check", "Plain", "draft.md", code=1) == (
        "draft.md:2: “Suddenly” is not to be used. (constraint 1)\n1 violation.\n"
    )
    (found,) = room.read("constraint", "check", "Plain", "-", stdin="It was suddenly dark.", code=1)["violations"]
    assert (found["constraint"], found["start"], found["end"], found["words"]) == ("calm", 7, 15, "suddenly")
    assert room.run("constraint", "check", "Plain", "-", stdin="It was dark.") == "0 violations.\n"


def test_a_constraint_holds_for_its_span_and_names_wait_for_their_chapter(room: Room) -> None:
    room.run("codex", "add", "Coast", "Brass Whistle", "--id", "whistle", "--since", "ch-04")
    words = "She heard the Brass Whistle."
    early = room.read("constraint", "check", "Coast", "-", "-d", "ch-03", stdin=words, code=1)["violations"]
    assert [one["words"] for one in early if one["constraint"] == "name:Brass Whistle"] == ["Brass Whistle"]
    late = room.run("constraint", "check", "Coast", "-", "-d", "ch-06", stdin=words)
    assert late.startswith("0 violations.\n")
    assert "CONTEXT_DOCUMENT_UNKNOWN" in room.run("constraint", "check", "Coast", "-", "-d", "ch-99", code=2)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (
            "Do not mention Ephraim before the wedding.",
            "left to the judge model, because it has a condition, “before the wedding”",
        ),
        ("Do not mention Ephraim until part two.", "left to the judge model, because the book has no part 2"),
        ("Do not mention Ephraim before chapter 2.", "checked by a program before chapter 2 (now “The Weight”)"),
        ("Hope is tired.", "left to the judge model, because only a reader can tell whether it is kept"),
    ],
)
def test_add_and_list_agree_on_who_checks_a_rule(room: Room, text: str, how: str) -> None:
    assert f": “{text}” It is {how}.\n" in room.run("constraint", "add", "Coast", text, "--id", "new")
    (listed,) = [one for one in room.read("constraint", "list", "Coast") if one["id"] == "new"]
    assert listed["how"] == how
    assert (listed["checks"] is None) is not how.startswith("checked by a program")
    assert "because" not in how or how in room.run("constraint", "list", "Coast")


def test_a_chapter_or_the_whole_book_is_checked_with_quotations(room: Room) -> None:
    (room.folder / "book.md").write_text(
        "# Prologue\n\nIt began with Dave.\n\n# Chapter 1\n\nShe met Dave.\n\nIt was suddenly dark, she said.\n\n"
        "# Chapter 2\n\nDave came.\n",
        "utf-8",
    )
    room.run("new", "Small", "--from", "book.md")
    room.run("constraint", "add", "Small", "Do not mention Dave before chapter 2.", "--id", "dave")
    room.run("constraint", "add", "Small", "Never use the word 'suddenly'.", "--id", "calm")
    room.run("constraint", "add", "Small", "Nobody is cruel.", "--id", "kind")
    assert room.run("constraint", "check", "Small", code=1) == (
        "Prologue\n  1: It began with Dave.\n     “Dave” is not to be named here. (constraint 1)\n"
        "Chapter 1 · chapter 1\n  1: She met Dave.\n     “Dave” is not to be named here. (constraint 1)\n"
        "  3: It was suddenly dark, she said.\n     “suddenly” is not to be used. (constraint 2)\n"
        "3 violations.\n1 constraint was not checked: only the judge model can. It checks what a model writes, "
        "if you say: fabula setting set PROJECT judge.withModel true\n"
    )
    one = room.read("constraint", "check", "Small", "--chapter", "1", code=1)
    first = one["violations"][0]
    assert (first["title"], first["chapterName"], first["quotation"]) == ("Chapter 1", "chapter 1", "She met Dave.")
    assert room.run("constraint", "check", "Small", "-c", "2").startswith("0 violations.")
    assert "CONTEXT_DOCUMENT_UNKNOWN" in room.run("constraint", "check", "Small", "-c", "9", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("constraint", "check", "Small", "-d", "ch-1", code=2)


def test_a_check_of_a_file_says_how_many_rules_it_left_out(room: Room) -> None:
    room.run("new", "Plain")
    room.run("constraint", "add", "Plain", "Nobody is cruel.")
    room.run("constraint", "add", "Plain", "Everybody is tired.")
    said = room.run("constraint", "check", "Plain", "-", stdin="It was dark.")
    assert said.startswith("0 violations.\n2 constraints were not checked: only the judge model can.")
    assert room.read("constraint", "check", "Plain", "-", stdin="It was dark.")["unchecked"] == 2


def test_a_new_rule_gets_the_next_number(room: Room) -> None:
    room.run("new", "Plain")
    for text in ("No 'very'.", "No 'really'.", "No semicolons."):
        room.run("constraint", "add", "Plain", text, "--priority", "60")
    assert room.run("constraint", "add", "Plain", "No dashes.", "--priority", "99").startswith("Constraint 4 ")
    numbers = {one["text"]: one["number"] for one in room.read("constraint", "list", "Plain")}
    assert numbers == {"No 'very'.": 1, "No 'really'.": 2, "No semicolons.": 3, "No dashes.": 4}
    assert room.run("constraint", "remove", "Plain", "2") == "Constraint 2 is gone: “No 'really'.”\n"


def test_the_list_shows_where_a_rule_begins_and_ends(room: Room) -> None:
    room.run("constraint", "add", "Coast", "Hope is tired.", "--since", "ch-02", "--until", "ch-05")
    (line,) = [one for one in room.run("constraint", "list", "Coast").splitlines() if "Hope is tired." in one]
    assert re.search(r"chapter 2 “.+” +chapter 5 “.+”", line)


def test_a_rule_with_a_chapter_number_shows_which_chapter_that_is_now(room: Room) -> None:
    (room.folder / "book.md").write_text(
        "# The Ship\n\nOne.\n\n# The Storm\n\nTwo.\n\n# The Shore\n\nThree.\n", "utf-8"
    )
    room.run("new", "Small", "--from", "book.md")
    said = room.run("constraint", "add", "Small", "Do not mention Dave before chapter 3.")
    assert "checked by a program before chapter 3 (now “The Shore”)" in said
    room.run("chapter", "new", "Small", "The Calm", "--after", "The Ship")
    assert "before chapter 3 (now “The Storm”)" in room.run("constraint", "list", "Small")
    room.run("constraint", "add", "Small", "从第九章起不要用“忽然”。")
    assert "chapter 9, which is not written yet" in room.run("constraint", "list", "Small")


def test_a_memory_confirmed_as_a_constraint_is_not_a_second_rule_in_other_words(room: Room) -> None:
    room.run("new", "Plain")
    room.run("constraint", "add", "Plain", "No exclamation marks.", "--id", "calm")
    memory = room.read("memory", "remember", "Plain", "Exclamation marks are banned.")
    room.run("memory", "confirm", "Plain", memory["id"], "--rule")
    assert [one["id"] for one in room.read("constraint", "list", "Plain")] == ["calm"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "Coast", " "),
        ("add", "Coast", "X", "--kind", "mood"),
        ("add", "Coast", "X", "--priority", "101"),
        ("add", "Coast", "X", "--check", "{"),
        ("add", "Coast", "X", "--check", '{"kind": "telepathy"}'),
        ("add", "Coast", "X", "--check", '{"kind": "banned", "words": []}'),
        ("add", "Coast", "X", "--check", '{"kind": "length", "most": 0}'),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(room: Room, words: tuple[str, ...]) -> None:
    before = room.read("constraint", "list", "Coast")
    said = room.run("constraint", *words, code=2)
    assert said.startswith("CONSTRAINT_VALIDATION_ERROR: ")
    assert said.count("\n") == 1
    assert "$" not in said
    assert room.read("constraint", "list", "Coast") == before


def test_a_wrong_kind_is_answered_with_the_nearest_one(room: Room) -> None:
    assert "`kind` cannot be 'sytle'; the nearest is 'style'" in room.run(
        "constraint", "add", "Coast", "X", "--kind", "sytle", code=2
    )


def test_a_file_that_cannot_be_read_says_so(room: Room) -> None:
    assert "FILE_NOT_FOUND" in room.run("constraint", "check", "Coast", "nowhere.md", code=2)
    (room.folder / "odd.md").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in room.run("constraint", "check", "Coast", "odd.md", code=2)


def test_the_same_rule_twice_is_refused_with_its_number(room: Room) -> None:
    room.run("constraint", "add", "Coast", "No cats.")
    said = room.run("constraint", "add", "Coast", "No  cats.", code=2)
    assert re.search(r"Constraint \d+ says the same already: “No cats.”", said)
    room.run("constraint", "add", "Coast", "No cats.", "--until", "3")


def test_a_rule_for_a_judge_model_that_is_off_is_said_to_be_checked_by_nobody(room: Room) -> None:
    room.run("constraint", "add", "Coast", "She limps.")
    assert "nobody checks 1 rule" in room.aside
    assert "fabula setting set Coast judge.withModel true" in room.aside
    room.run("setting", "set", "Coast", "judge.withModel", "true")
    room.run("constraint", "list", "Coast")
    assert "nobody checks" not in room.aside

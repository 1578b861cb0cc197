"""The codex from the command line, as a person types it."""

from __future__ import annotations

import json
import os
import re
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from fabula.cli.main import main
from fabula.core.messages import message
from tests.blank import lay

_SAMPLES: dict[str, dict[str, bytes]] = {}  # the files of a store with the sample in it, by language


class Room:
    """A store of one's own with a sample in it, and the command line before it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._patch = monkeypatch
        self._heard = capsys
        self.aside = ""  # what the last command said beside its answer
        monkeypatch.chdir(folder)
        monkeypatch.setenv("FABULA_STORE", str(folder / "data"))
        monkeypatch.setenv("FABULA_DATA", str(folder / "data"))
        self._lay_sample(folder / "data")

    def _lay_sample(self, data: Path) -> None:
        """The command runs once in each language, and what it wrote is copied."""
        files = _SAMPLES.setdefault(os.environ.get("FABULA_LANGUAGE", ""), {})
        if files:
            data.mkdir()
            for name, content in files.items():
                (data / name).write_bytes(content)
            return
        lay(data)
        self.run("new", "Coast", "--from", "sample:lantern_coast")
        files.update({one.name: one.read_bytes() for one in data.iterdir()})

    def run(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """What a command says, on whichever stream it says it."""
        self._patch.setattr(sys, "argv", ["fabula", *words])
        self._patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode(errors="surrogateescape"))))
        with pytest.raises(SystemExit) as left:
            main()
        said = self._heard.readouterr()
        self.aside = said.err
        assert (left.value.code or 0) == code, said.out + said.err
        return said.out if code in (0, 1) else said.err

    def read(self, *words: str, code: int = 0, stdin: str = "") -> Any:
        """What a command says as JSON."""
        return json.loads(self.run(*words, "--json", code=code, stdin=stdin))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Room:
    return Room(tmp_path, monkeypatch, capsys)


def test_entries_are_listed_as_they_stand_in_a_prompt(room: Room) -> None:
    found = room.read("codex", "list", "Coast")
    order = [(one["aiContextLevel"] != "always", one["type"], one["name"]) for one in found]
    assert order == sorted(order)
    assert room.read("codex", "list", "sample:lantern_coast") == found
    some = room.read("codex", "list", "Coast", "--type", "character", "--level", "always")
    assert 0 < len(some) < len(found)
    assert len(room.run("codex", "list", "Coast").splitlines()) == 1 + len(found)


def test_an_entry_is_added_shown_edited_and_removed(room: Room) -> None:
    said = room.run("codex", "add", "Coast", "Brass Whistle", "--id", "whistle", "--type", "item", "--alias", "whistle")
    assert said == "Brass Whistle is in the codex (item, when_detected).\n"
    made = room.read(
        *("codex", "edit", "Coast", "Brass Whistle", "-D", "It calls no one.", "--level", "manual"),
        *("--detail", "weight=light", "--tag", "brass", "--known-to", "mara", "--since", "ch-02"),
    )
    assert (made["aiContextLevel"], made["knownTo"], made["details"]) == ("manual", ["mara"], {"weight": "light"})
    assert made["since"] == {"document": "ch-02", "offset": 0}
    room.run("codex", "edit", "Coast", "whistle", "--detail", "weight=", "--detail", "sound=thin", "--since", "start")
    shown = room.read("codex", "show", "Coast", "whistle")
    assert (shown["details"], shown["since"], shown["aliases"]) == ({"sound": "thin"}, None, ["whistle"])
    assert "It calls no one." in room.run("codex", "show", "Coast", "whistle")
    room.run("codex", "remove", "Coast", "whistle")
    assert "STORE_NOT_FOUND" in room.run("codex", "show", "Coast", "whistle", code=2)


def test_what_becomes_of_an_entry_is_told_and_taken_away(room: Room) -> None:
    room.run("codex", "add", "Coast", "Whistle", "--id", "whistle")
    room.run("codex", "progress", "Coast", "whistle", "It broke.", "--since", "ch-03@10")
    assert "2 progressions" in room.run(
        "codex", "progress", "Coast", "whistle", "--since", "ch-04", "--alias", "the Shard"
    )
    steps = room.read("codex", "show", "Coast", "the Shard")["progressions"]
    assert [(one["text"], one["since"]["offset"], one["aliases"]) for one in steps] == [
        ("It broke.", 10, []),
        ("", 0, ["the Shard"]),
    ]
    assert "It cracked." in room.run("codex", "progress", "Coast", "whistle", "It cracked.", "--change", "1")
    step = room.read("codex", "show", "Coast", "whistle")["progressions"][0]
    assert (step["text"], step["since"]["offset"]) == ("It cracked.", 10)
    room.run("codex", "progress", "Coast", "whistle", "--change", "1", "--since", "ch-02", "--known-to", "Mara Venn")
    step = room.read("codex", "show", "Coast", "whistle")["progressions"][0]
    assert (step["text"], step["since"]["document"], step["knownTo"]) == ("It cracked.", "ch-02", ["mara"])
    assert "STORE_NOT_FOUND" in room.run("codex", "progress", "Coast", "whistle", "No.", "--change", "5", code=2)
    assert "1 progression." in room.run("codex", "progress", "Coast", "whistle", "--remove", "1")
    assert "STORE_NOT_FOUND" in room.run("codex", "progress", "Coast", "whistle", "--remove", "5", code=2)
    assert "CODEX_INVALID" in room.run("codex", "progress", "Coast", "whistle", "It sank.", code=2)


def test_relations_knowledge_and_pins_are_said_and_taken_back(room: Room) -> None:
    room.run("codex", "add", "Coast", "Whistle", "--id", "whistle", "--level", "manual", "-D", "It calls no one.")
    room.run("codex", "relate", "Coast", "whistle", "mara", "--kind", "belongs to")
    assert room.read("codex", "show", "Coast", "whistle")["relations"] == [
        {"to": "mara", "kind": "belongs to", "since": None, "until": None, "knownTo": None}
    ]
    room.run("codex", "relate", "Coast", "whistle", "mara", "--undo")
    assert room.read("codex", "show", "Coast", "whistle")["relations"] == []
    room.run("codex", "pin", "Coast", "whistle", "ch-01")
    why = ("why", "Whistle", "Coast", "-d", "ch-01", "-w", "8192")
    assert "pinned to this document" in room.run(*why)
    room.run("codex", "pin", "Coast", "whistle", "ch-01", "--out")
    assert "PINNED_OUT" in room.run(*why)
    room.run("codex", "pin", "Coast", "whistle", "ch-01", "--undo")
    assert "LEVEL_MANUAL" in room.run(*why)
    room.run("codex", "edit", "Coast", "whistle", "--known-to", "nobody", "--level", "always")
    room.run("codex", "know", "Coast", "whistle", "mara", "--since", "ch-02")
    for chapter, reason in (("ch-01", "NOT_KNOWN"), ("ch-02", "KEPT")):
        assert reason in room.run("why", "Whistle", "Coast", "-d", chapter, "-w", "8192", "--character", "mara")
    room.run("codex", "know", "Coast", "whistle", "mara", "--undo")


def test_a_place_may_be_named_by_its_words(room: Room) -> None:
    room.run("codex", "add", "Coast", "Whistle", "--id", "whistle")
    assert "TREE_INVALID" in room.run("codex", "edit", "Coast", "whistle", "--since", "ch-99", code=2)
    assert "TREE_INVALID" in room.run("codex", "edit", "Coast", "whistle", "--since", "ch-01:zzz", code=2)
    assert "TREE_INVALID" in room.run("codex", "edit", "Coast", "whistle", "--since", "ch-01@999999", code=2)


def test_a_rename_is_seen_done_and_taken_back(room: Room) -> None:
    seen = room.run("codex", "rename", "Coast", "Mara Venn", "Nora Venn")
    assert "Add --apply" in seen
    assert "[Mara Venn → Nora Venn]" in seen
    done = room.read("codex", "rename", "Coast", "Mara Venn", "Nora Venn", "--apply")
    assert len(done["places"]) == len(seen.splitlines()) - 4  # one has the headers, one the count, two offer Mara
    assert room.read("codex", "show", "Coast", "mara")["name"] == "Nora Venn"
    assert "again" in room.run("codex", "undo-rename", "Coast", done["rename"])
    assert room.read("codex", "show", "Coast", "mara")["name"] == "Mara Venn"


@pytest.mark.parametrize(
    "words",
    [
        ("add", "Coast", "two\nlines"),
        ("add", "Coast", " "),
        ("add", "Coast", "X", "--level", "sometimes"),
        ("add", "Coast", "X", "--type", "persn"),
        ("edit", "Coast", "mara", "--type", "boat"),
        ("list", "Coast", "--type", "boats"),
        ("add", "Coast", "X", "--id", "a b"),
        ("add", "Coast", "x" * 10_000),
        ("edit", "Coast", "mara", "--level", "sometimes"),
        ("rename", "Coast", "Mara Venn", "Mara Venn"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(room: Room, words: tuple[str, ...]) -> None:
    before = room.read("codex", "list", "Coast")
    said = room.run("codex", *words, code=2)
    assert said.startswith("CODEX_INVALID: ")
    assert said.count("\n") == 1
    assert room.read("codex", "list", "Coast") == before


def test_known_to_a_name_is_that_character(room: Room) -> None:
    room.run("codex", "add", "Coast", "Whistle", "--id", "whistle", "--level", "always", "-D", "It calls no one.")
    made = room.read("codex", "edit", "Coast", "Whistle", "--known-to", "mara venn", "--known-to", "reader")
    assert made["knownTo"] == ["mara", "reader"]
    why = ("why", "whistle", "Coast", "-d", "1", "-w", "8192", "--character")
    assert "KEPT" in room.run(*why, "Mara")
    assert "NOT_KNOWN" in room.run(*why, "Grace Odell")


def test_people_and_places_that_there_are_not_are_refused_with_the_nearest(room: Room) -> None:
    """Each was accepted in silence, and then nobody knew it and nothing was pinned."""
    before = room.read("codex", "list", "Coast")
    for words in (
        ("codex", "add", "Coast", "X", "--known-to", "Mara Vnen"),
        ("codex", "edit", "Coast", "grace", "--known-to", "Mara Vnen"),
        ("codex", "progress", "Coast", "grace", "She left.", "--since", "ch-02", "--known-to", "Mara Vnen"),
        ("codex", "know", "Coast", "grace", "Mara Vnen"),
        ("assemble", "Coast", "--character", "Mara Vnen"),
        ("assemble", "Coast", "--include", "Mara Vnen"),
        ("assemble", "Coast", "--exclude", "Mara Vnen"),
    ):
        assert "Did you mean Mara Venn" in room.run(*words, code=2)
    places: tuple[tuple[tuple[str, ...], str], ...] = (
        (("codex", "pin", "Coast", "grace", "The Weigth"), "The Weight"),
        (("memory", "sample", "add", "Coast", "The Weigth", "--from", "a", "--to", "b"), "The Weight"),
        (("assemble", "Coast", "--document", "The Weigth"), "The Weight"),
        (("search", "Coast", "lamp", "--until", "The Weigth"), "The Weight"),
        (("outline", "list", "Coast", "The Weigth"), "The Weight"),
        (("synopsis", "show", "Coast", "The Weigth"), "The Weight"),
        (("constraint", "add", "Coast", "No lamps.", "--since", "The Weigth"), "The Weight"),
        (("codex", "list", "Caost"), "Coast"),
    )
    for command, nearest in places:
        said = room.run(*command, code=3 if command[-1] == "Caost" else 2)
        assert f"Did you mean {nearest}" in said
    assert "no conversation called 'nowhere'" in room.run("assemble", "Coast", "--conversation", "nowhere", code=2)
    assert "author, reader, character" in room.run("assemble", "Coast", "--eyes", "god", code=2)
    assert room.read("codex", "list", "Coast") == before


def test_codex_show_says_who_knows_what_since_when_by_name(room: Room) -> None:
    room.run("codex", "add", "Coast", "Whistle", "--id", "whistle", "--known-to", "Mara Venn", "--known-to", "reader")
    room.run("codex", "know", "Coast", "whistle", "grace odell", "--since", "the weight")
    room.run("codex", "progress", "Coast", "whistle", "It broke.", "--since", "3", "--known-to", "nobody")
    shown = room.run("codex", "show", "Coast", "whistle")
    assert "  known to: Mara Venn, the reader, Grace Odell since The Weight\n" in shown
    assert "     known to: nobody\n" in shown
    knowers = room.read("codex", "show", "Coast", "whistle")["knowers"]
    assert [(one["name"], one["since"] and one["since"]["document"]) for one in knowers][2][0] == "Grace Odell"
    room.run("codex", "edit", "Coast", "whistle", "--known-to", "everybody")
    assert "known to: everybody else, Grace Odell since The Weight" in room.run("codex", "show", "Coast", "whistle")


def test_an_entry_is_named_by_the_number_it_is_listed_with(room: Room) -> None:
    listed = room.run("codex", "list", "Coast", "--type", "location", "--ids").splitlines()
    number, ident = listed[-1].split()[:2]
    assert room.read("codex", "show", "Coast", number)["id"] == ident


def test_a_relation_has_limits_that_are_said_shown_and_in_the_timeline(room: Room) -> None:
    relate = ("codex", "relate", "Coast", "Mara Venn", "Hope Tarn", "--kind", "secretly her aunt")
    said = room.run(
        *relate, "--since", "ch-03", "--until", "The Cut Leaf", "--known-to", "hope", "--known-to", "reader"
    )
    where = "from What the Landing Knew on, before The Cut Leaf, known to Hope Tarn, the reader"
    assert f"Mara Venn and Hope Tarn: secretly her aunt, {where}.\n" in said
    assert f"  Hope Tarn: secretly her aunt, {where}\n" in room.run("codex", "show", "Coast", "mara")
    shown = next(one for one in room.read("codex", "show", "Coast", "mara")["relations"] if one["to"] == "hope")
    assert (shown["since"]["document"], shown["knownTo"]) == ("ch-03", ["hope", "reader"])
    facts = room.read("timeline", "Coast", "mara")["facts"]
    fact = next(one for one in facts if one["relatedTo"] == "hope")
    assert (fact["text"], fact["isSecret"], fact["since"]["document"]) == (
        "secretly her aunt: Hope Tarn",
        True,
        "ch-03",
    )
    assert [one["name"] for one in fact["knowers"]] == ["Hope Tarn", "reader"]
    drawn = [line for line in room.run("timeline", "Coast", "mara").splitlines() if "secretly her aunt" in line]
    assert drawn
    assert all(line.split("  secretly")[0].endswith("·") for line in drawn)
    room.run(*relate, "--since", "start", "--until", "end", "--known-to", "everybody")
    assert "  Hope Tarn: secretly her aunt\n" in room.run("codex", "show", "Coast", "mara")
    assert "STORE_NOT_FOUND" in room.run(
        "codex", "relate", "Coast", "Mara Venn", "Hope Tarn", "--kind", "no", "--undo", code=2
    )


def test_a_character_who_will_not_know_their_own_secret_is_named_when_it_is_stored(room: Room) -> None:
    """`--known-to` lists everybody who knows: the character it is about was locked out in silence."""
    warning = 'will not know this. If that is wrong, add --known-to "Grace Odell".'
    progress = ("codex", "progress", "Coast", "Grace Odell", "She is ill.", "--since", "ch-02", "--known-to")
    room.run(*progress, "mara")
    assert f"Grace Odell {warning}" in room.aside
    room.run(*progress, "mara", "--known-to", "Grace Odell")
    assert room.aside == ""
    room.run("codex", "relate", "Coast", "Grace Odell", "Mara Venn", "--kind", "rival", "--known-to", "mara")
    assert warning in room.aside
    room.run("codex", "edit", "Coast", "Grace Odell", "--known-to", "mara")
    assert warning in room.aside
    room.run("codex", "know", "Coast", "Grace Odell", "Grace Odell", "--since", "ch-03")
    room.run("codex", "edit", "Coast", "Grace Odell", "--known-to", "mara")
    assert room.aside == ""
    room.run("codex", "add", "Coast", "Brass Whistle", "--type", "item", "--known-to", "mara")
    assert room.aside == ""  # a thing knows nothing anyway


def test_a_type_is_understood_by_its_synonyms_and_refused_with_the_nearest(room: Room) -> None:
    """`--type person` was stored as it was typed, and then nobody of that type was a character."""
    for word, expected in (("person", "character"), ("人物", "character"), ("事件", "event"), ("Place", "location")):
        assert room.read("codex", "edit", "Coast", "Grace Odell", "--type", word)["type"] == expected
    assert "Did you mean character" in room.run("codex", "edit", "Coast", "mara", "--type", "charakter", code=2)
    for far in ("captain", "ship"):
        said = room.run("codex", "edit", "Coast", "mara", "--type", far, code=2)
        assert "There are: character, location, event, item, faction, lore, other." in said
    assert room.read("codex", "list", "Coast", "--type", "people") == room.read(
        "codex", "list", "Coast", "--type", "character"
    )
    assert room.read("timeline", "Coast", "--type", "地点")["appearances"]
    assert room.read("codex", "edit", "Coast", "mara", "--level", "手动")["aiContextLevel"] == "manual"


def test_progress_and_know_say_what_was_stored_by_name_and_title(room: Room) -> None:
    said = room.run(
        *("codex", "progress", "Coast", "Grace Odell", "She resigns.", "--since", "ch-03", "--alias", "the Widow"),
        *("--known-to", "mara", "--known-to", "reader"),
    )
    assert said.splitlines()[-3:] == [
        f"  {said.split('.')[0].split()[-1]}. from What the Landing Knew: She resigns.",
        "     also called the Widow",
        "     known to: Mara Venn, the reader",
    ]
    number = said.split(". from")[0].split()[-1]
    know = ("codex", "know", "Coast", "Grace Odell", "Will Tarn", "--progression", number)
    assert room.run(*know, "--since", "ch-04") == (
        f"Will Tarn knows progression {number} of Grace Odell (She resigns.) from The Inspector's Hand on.\n"
    )
    assert room.run("codex", "know", "Coast", "Grace Odell", "reader") == (
        "the reader knows Grace Odell from the start.\n"
    )
    assert "Taken away:\n" in room.run("codex", "progress", "Coast", "Grace Odell", "--remove", number)


def test_why_takes_the_labels_that_inspect_prints(room: Room) -> None:
    room.run("codex", "progress", "Coast", "Mara Venn", "She limps.", "--since", "ch-01")
    steps = room.read("codex", "show", "Coast", "mara")["progressions"]
    number = next(one["number"] for one in steps if one["text"] == "She limps.")
    label = f"Mara Venn #{number}"
    assert label in room.run("inspect", "Coast", "-d", "ch-02", "-w", "8192")
    said = room.read("why", label, "Coast", "-d", "ch-02", "-w", "8192")
    assert [one["source"] for one in said["verdicts"]] == [f"codex:entity:mara#{number}"]


def test_codex_show_and_rename_name_things_and_show_no_ids(room: Room) -> None:
    assert "entry mara" not in room.run("codex", "show", "Coast", "mara")
    rows = room.read("codex", "rename", "Coast", "Mara", "Nora")["places"]
    owners = {one["label"].rpartition(",")[0] for one in rows}
    assert not {one for one in owners if one.startswith("ch-") or one in ("mara", "will", "grace")}


def test_codex_show_is_in_one_language(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    room.run("codex", "edit", "Coast", "mara", "--known-to", "mara", "--known-to", "reader", "--tag", "a", "--tag", "b")
    said = room.run("codex", "show", "Coast", "mara")
    assert "（人物，" in said
    assert "知情者：Mara Venn、读者" in said.replace("，读者", "、读者")
    assert not {"character", "when_detected", "always", "reader"} & set(said.replace("（", " ").split())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_known_to_takes_the_words_that_are_printed(room: Room, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", language)

    def find_printed() -> str:
        lines = room.run("codex", "show", "Coast", "Mara Venn").splitlines()
        return next((re.split("[:：] *", line)[1] for line in lines if re.match("  (known to|知情者|知道)", line)), "")

    for word, stored in (("reader", ["reader"]), ("nobody", [])):
        room.run("codex", "edit", "Coast", "Mara Venn", "--known-to", word)
        printed = find_printed()
        assert printed
        room.run("codex", "edit", "Coast", "Mara Venn", "--known-to", "everybody")
        room.run("codex", "edit", "Coast", "Mara Venn", "--known-to", printed)
        assert room.read("codex", "show", "Coast", "Mara Venn")["knownTo"] == stored
    everybody = str(message("everybody").render(language))
    room.run("codex", "edit", "Coast", "Mara Venn", "--known-to", everybody)
    assert find_printed() == ""


def test_a_rename_of_a_name_that_nobody_has_is_refused_with_the_nearest(room: Room) -> None:
    assert "Did you mean Mara" in room.run("codex", "rename", "Coast", "Marra", "Eleanor", code=2)


def test_the_preview_of_a_rename_says_that_another_entry_has_the_new_name(room: Room) -> None:
    said = room.run("codex", "rename", "Coast", "Mara Venn", "Grace Odell")
    assert "--apply --yes" in said
    assert "another entry: Grace Odell" in room.aside


def test_an_alias_that_another_entry_has_is_remarked_upon(room: Room) -> None:
    room.run("codex", "edit", "Coast", "Mara Venn", "--alias", "Grace Odell")
    assert "Grace Odell (character) is called Grace Odell too" in room.aside

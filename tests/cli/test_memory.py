"""Memory from the command line, as a person types it."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


def offer(room: Room, number: int, offered: str, became: str | None, *more: str) -> None:
    """Record what became of a text."""
    (room.folder / f"o{number}.md").write_text(offered, "utf-8")
    words = ["memory", "record", "Coast", f"o{number}.md", *more]
    if became is not None:
        (room.folder / f"b{number}.md").write_text(became, "utf-8")
        words += ["--became", f"b{number}.md"]
    room.run(*words)


def taught(room: Room, many: int = 5) -> str:
    """The id of a proposal that was learnt from a writer who takes semicolons out."""
    for n in range(many):
        text = f"She went home{n}; nobody came. It was late and cold; he waited."
        offer(room, n, text, text.replace(";", ","))
    (found,) = room.read("memory", "learn", "Coast")["proposed"]
    return str(found["id"])


def test_what_a_sample_remembers_is_listed_with_how_sure_we_are(room: Room) -> None:
    found = room.read("memory", "list", "Coast", "--kind", "preference")
    assert (found[0]["id"], found[0]["confidence"], found[0]["today"]) == ("m-03", 0.98, 0.98)
    assert {one["scope"] for one in found} == {"project"}
    assert re.match(r" +1  m-03 +✓ ", room.run("memory", "list", "Coast", "--ids").splitlines()[1])
    assert "0.98  Wants British spelling" in room.run("memory", "list", "Coast")
    room.run("new", "Empty")
    assert "Nothing is remembered" in room.run("memory", "list", "Empty")


def test_remember_this_edit_it_and_forget_it(room: Room) -> None:
    made = room.read("memory", "remember", "Coast", "Likes bells.", "--since", "ch-02")
    assert (made["confidence"], made["origin"], made["since"]) == (0.95, "said", {"document": "ch-02", "offset": 0})
    ident = made["id"]
    assert room.run("memory", "remember", "Coast", "Likes rain.").startswith("Remembered: Likes rain.")
    changed = room.read(
        "memory", "edit", "Coast", ident, "--text", "Likes gulls.", "--confidence", "0.5", "--since", "ch-03"
    )
    assert (changed["text"], changed["confidence"], changed["since"]["document"]) == ("Likes gulls.", 0.5, "ch-03")
    assert room.run("memory", "forget", "Coast", ident) == "Forgotten: Likes gulls.\n"
    assert "STORE_NOT_FOUND" in room.run("memory", "forget", "Coast", ident, code=2)


def test_what_is_remembered_of_a_person_holds_in_all_their_books(room: Room) -> None:
    room.run("new", "Other")
    made = room.read("memory", "remember", "Coast", "No exclamation marks.", "--user")
    assert [one["id"] for one in room.read("memory", "list", "Other")] == [made["id"]]
    assert room.read("memory", "list", "Coast", "--user")[0]["scope"] == "user"
    other = room.read("memory", "remember", "Other", "Use exclamation marks more freely.")
    assert room.run("memory", "list", "Other").splitlines()[2].endswith("freely.  1")
    assert room.read("memory", "list", "Other")[1]["contradicts"] == [made["id"]]
    assert room.read("memory", "dismiss", "Other", other["id"])["state"] == "dismissed"
    assert "contradicts" not in room.run("memory", "list", "Other")


def test_proposals_are_learnt_confirmed_and_enter_the_prompt(room: Room) -> None:
    ident = taught(room)
    said = room.run("memory", "learn", "Coast")
    assert said == "5 outcomes looked over, 0 new proposals.\n"
    assert "Avoid semicolons" not in room.run("assemble", "Coast", "-q")
    assert f"  {ident}  ?  " in room.run("memory", "list", "Coast", "--state", "proposed", "--ids")
    assert "(5 for, 0 against)" in room.run("memory", "list", "Coast")
    confirmed = room.read("memory", "confirm", "Coast", ident)
    assert (confirmed["state"], confirmed["text"]) == ("confirmed", "Avoid semicolons.")
    assert "Avoid semicolons" in room.run("assemble", "Coast", "-q")
    assert "5 of your changes speak for it" in room.run("memory", "preview", "Coast")


def test_a_first_look_shows_the_evidence(room: Room) -> None:
    for n in range(4):
        offer(room, n, f"Go{n}! Now{n}! Run to the landing.", f"Go{n}. Now{n}. Run to the landing.")
    said = room.run("memory", "learn", "Coast")
    assert "1 new proposal." in said
    assert "Avoid exclamation marks." in said
    assert ": Go0!" in said
    assert "fabula memory confirm" in said


def test_a_proposal_can_become_a_rule_or_a_habit_of_all_books(room: Room) -> None:
    ident = taught(room)
    assert "in force as a constraint" in room.run("memory", "confirm", "Coast", ident, "--rule", "--everywhere")
    rules = {rule["id"]: rule for rule in room.read("constraint", "list", "Coast", "--origin", "learned")}
    assert (rules[ident]["text"], rules[ident]["checks"]["kind"]) == ("Avoid semicolons.", "banned")
    (mine,) = room.read("memory", "list", "Coast", "--user")
    assert (mine["id"], mine["evidence"]) == (ident, [])
    left = {one["source"]: one for one in room.read("memory", "preview", "Coast")["leftOut"]}
    assert left[f"memory:{ident}"]["reason"] == "DUPLICATE", "the constraint says it"


def test_an_outcome_can_be_remembered_as_an_episode(room: Room) -> None:
    (room.folder / "o.md").write_text("A closing speech about mercy.", "utf-8")
    kept = room.read("memory", "record", "Coast", "o.md", "--rejected", "--skill", "continue", "--at", "ch-03")
    assert (kept["fate"], kept["at"]["document"]) == ("rejected", "ch-03")
    made = room.read("memory", "remember", "Coast", "--outcome", kept["id"])
    assert (made["kind"], made["since"]["document"]) == ("episode", "ch-03")
    assert made["text"] == "The writer rejected this: “A closing speech about mercy.”"


def test_the_preview_shows_what_would_be_injected_and_why(room: Room) -> None:
    found = room.read("memory", "preview", "sample:lantern_coast", "-d", "ch-04")
    assert {one["sort"] for one in found["injected"]} == {"preference", "style sample", "episode"}
    assert {one["reason"] for one in found["leftOut"]} >= {"NOT_YET", "NOT_CHOSEN"}
    said = room.run("memory", "preview", "sample:lantern_coast", "-d", "ch-04")
    assert said.splitlines()[1].startswith("in   preference ")
    assert "  it is revealed in chapter 5 " in said
    assert said.splitlines()[-1] == (
        f"{len(found['injected'])} in, {len(found['leftOut'])} out, {found['tokens']} tokens."
    )


def test_a_passage_becomes_a_style_sample(room: Room) -> None:
    made = room.read("memory", "sample", "add", "Coast", "ch-01", "--from", "There was a memory", "--to", "a doorpost.")
    assert made["kind"] == "style_sample"
    assert made["since"]["document"] == "ch-01"
    assert made["text"].startswith("There was a memory")
    assert room.run("memory", "sample", "add", "Coast", "ch-01", "--from", "No such words", "--to", "x", code=2)


def test_a_profile_is_written_from_words_a_file_or_an_editor(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No profile yet" in room.run("memory", "profile")
    assert room.run("memory", "profile", "--set", "Writes at night.") == "Writes at night.\n"
    assert room.run("memory", "profile", "--file", "-", stdin="Writes at dawn.\n") == "Writes at dawn.\n"
    script = room.folder / "editor.py"
    script.write_text("import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text() + ' Always.')\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    assert room.run("memory", "profile", "--edit") == "Writes at dawn. Always.\n"
    assert room.read("memory", "profile") | {"changed": ""} == {
        "text": "Writes at dawn. Always.",
        "version": 3,
        "changed": "",
    }
    assert "Writes at dawn" in room.run("assemble", "Coast", "-q")
    assert room.run("memory", "preview", "Coast").startswith("Profile: Writes at dawn. Always.")
    for editor in ("no-such-editor", f"{sys.executable} -c 1/0", "'"):
        monkeypatch.setenv("VISUAL", editor)
        assert "Nothing was changed" in room.run("memory", "profile", "--edit", code=2)


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "Coast", "  "),
        ("remember", "Coast", "x", "--kind", "working"),
        ("remember", "Coast", "x", "--since", "nowhere"),
        ("remember", "Coast", "x" * 2001),
        ("remember", "Coast", "--outcome", "none"),
        ("confirm", "Coast", "none"),
        ("dismiss", "Coast", "none"),
        ("edit", "Coast", "m-01", "--confidence", "2"),
        ("edit", "Coast", "m-01", "--text", " "),
        ("record", "Coast", "nowhere.md"),
        ("sample", "add", "Coast", "ch-99", "--from", "a", "--to", "b"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(room: Room, words: tuple[str, ...]) -> None:
    before = room.read("memory", "list", "Coast")
    said = room.run("memory", *words, code=2)
    assert said.count("\n") == 1
    assert ": " in said
    assert room.read("memory", "list", "Coast") == before


def test_a_file_that_is_no_text_says_so(room: Room) -> None:
    (room.folder / "odd.md").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in room.run("memory", "record", "Coast", "odd.md", code=2)


@pytest.mark.parametrize("verb", ["forget", "confirm", "dismiss", "edit"])
def test_a_number_that_was_printed_means_the_same_memory_to_every_verb(room: Room, verb: str) -> None:
    room.run("memory", "remember", "Coast", "No exclamation marks.", "--user")
    room.run("memory", "remember", "Coast", "Likes bells.")
    rows = [re.split("  +", row.strip()) for row in room.run("memory", "list", "Coast").splitlines()[1:]]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    number = next(row[0] for row in rows if row[-1] == "No exclamation marks.")
    assert room.run("memory", "list", "Coast", "--user").splitlines()[1].split()[0] == number
    more = ("--text", "No exclamation marks at all.") if verb == "edit" else ()
    assert "No exclamation marks" in room.run("memory", verb, "Coast", number, *more)
    other = next(row[0] for row in rows if row[-1] == "Likes bells.")
    assert "STORE_NOT_FOUND" in room.run("memory", "dismiss", "Coast", other, "--user", code=2)

"""A project as a folder or a file: read whole, or refused with the file and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabula.codex import Codex, Level, Relation
from fabula.constraints.model import BannedWords, ConstraintOrigin, Constraints
from fabula.context.recipes.preset import Preset
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.text.names.matcher import CaseMatching, NameRules
from fabula.workspace.project_folder import read_project
from fabula.workspace.read_only import open_read_only
from tests.manuscript.stories import ask, everything

HEAD = """
id = "lamp"
title = "The Lamp"
type = "a sea story"
world = ["No magic."]
rules = ["Quiet verbs."]
style = "Plain."

[[chapters]]
id = "ch-1"
file = "chapters/one.md"
pov = "mara"
synopsis = "Mara lights the lamp."
beats = ["she climbs"]

[[chapters]]
id = "ch-2"
file = "chapters/two.md"
title = "Two"
when = 0.5
"""
ONE = "# The First\n\nMara came. The lamp fell.\n\nMara ran.\n"
TWO = "Years before. The lamp stood.\n"
CODEX = """
[[entry]]
id = "mara"
type = "character"
name = "Mara"
aliases = ["the keeper"]
description = "A woman."
details = { age = 40 }
notes = "PRIVATE"
relations = [{ to = "lamp", kind = "keeps", since = "ch-1", until = "ch-2", known_to = ["mara"] }]
known_to = ["mara"]
[[entry.progression]]
since = { chapter = "ch-1", after = "The lamp fell." }
text = "she broke it"

[[entry]]
id = "lamp"
name = "Lamp"
level = "always"
since = "ch-2"
"""
CONSTRAINTS = """
[[constraint]]
id = "brief"
text = "Be brief."
kind = "style"
origin = "project"
priority = 70
until = "ch-2"
"""
MEMORY = """
[[preference]]
id = "fog"
text = "Likes fog."
confidence = 0.9
[[style_sample]]
id = "s"
text = "The lamp was the first thing."
[[episode]]
id = "e"
text = "Once asked for less."
[working]
recent = ["Chapter one was open."]
"""
PRESET = """
[[node]]
id = "note"
content = "A note."
depth = 1
order = 50
[[node]]
type = "placeholder"
id = "corner"
"""
TALK = "\n".join(
    json.dumps({"id": f"m{n}", "role": role, "content": f"Word {n}."})
    for n, role in enumerate(("user", "assistant"), start=1)
)
FILES: Mapping[str, str] = {
    "project.toml": HEAD,
    "chapters/one.md": ONE,
    "chapters/two.md": TWO,
    "codex.toml": CODEX,
    "constraints.toml": CONSTRAINTS,
    "memory.toml": MEMORY,
    "preset.toml": PRESET,
    "conversation.jsonl": TALK,
}


def folder(root: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    """A sound project with some of its files changed, or taken away."""
    project = root / "project"
    for name, content in {**FILES, **(changes or {})}.items():
        if content is not None:
            file = project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return project


def refusal(path: Path) -> FabulaError:
    with pytest.raises(FabulaError) as caught:
        read_project(path)
    return caught.value


def documents(path: Path) -> tuple[Document, ...]:
    manuscript = read_project(path).snapshot(Manuscript)
    assert manuscript is not None
    return manuscript.documents


# Reading


def test_chapters_come_in_their_order_with_all_that_is_said_of_them(tmp_path: Path) -> None:
    one, two = documents(folder(tmp_path))
    assert (one.id, one.title, one.pov, one.synopsis, one.beats) == (
        "ch-1",
        "The First",
        "mara",
        "Mara lights the lamp.",
        ("she climbs",),
    )
    assert one.text == "Mara came. The lamp fell.\n\nMara ran."
    assert (two.title, two.story_time, two.pov) == ("Two", 0.5, None)


def test_the_project_says_its_name_and_its_direction(tmp_path: Path) -> None:
    view = read_project(folder(tmp_path))
    assert (view.project.id, view.project.title, view.project.language) == ("lamp", "The Lamp", "en")
    direction = view.snapshot(Direction)
    assert direction is not None
    assert (direction.kind, direction.world, direction.rules, direction.style) == (
        "a sea story",
        ("No magic.",),
        ("Quiet verbs.",),
        "Plain.",
    )


def test_codex_entries_are_read_whole(tmp_path: Path) -> None:
    codex = read_project(folder(tmp_path)).snapshot(Codex)
    assert codex is not None
    mara, lamp = codex.by_id["mara"], codex.by_id["lamp"]
    assert (mara.name, mara.aliases, mara.level) == ("Mara", ("the keeper",), Level.WHEN_DETECTED)
    assert (mara.details, mara.notes, mara.known_to) == ({"age": "40"}, "PRIVATE", frozenset({"mara"}))
    assert mara.relations == (Relation("lamp", "keeps", Position("ch-1"), Position("ch-2"), frozenset({"mara"})),)
    assert mara.progressions[0].since == Position("ch-1", len("Mara came. The lamp fell."))
    assert (lamp.level, lamp.type, lamp.since) == (Level.ALWAYS, "other", Position("ch-2"))


def test_later_names_and_what_is_looked_for_are_read_too(tmp_path: Path) -> None:
    more = '[entry.rules]\ncase = "exact"\nwithout = ["Lamp Street"]\n'
    more += '[[entry.progression]]\nsince = "ch-2"\naliases = ["Sun"]\n'
    check = '[[constraint]]\nid = "c"\ntext = "Calm."\ncheck = { kind = "banned", words = ["!"] }\n'
    view = read_project(folder(tmp_path, {"codex.toml": CODEX + more, "constraints.toml": check}))
    codex, rules = view.snapshot(Codex), view.snapshot(Constraints)
    assert codex is not None
    assert rules is not None
    lamp = codex.by_id["lamp"]
    assert lamp.rules == NameRules(case=CaseMatching.EXACT, without=("Lamp Street",))
    assert (lamp.progressions[0].aliases, lamp.progressions[0].text) == (("Sun",), "")
    assert rules.constraints[0].check == BannedWords(words=("!",))


def test_constraints_and_presets_are_read(tmp_path: Path) -> None:
    view = read_project(folder(tmp_path))
    constraints, preset = view.snapshot(Constraints), view.snapshot(Preset)
    assert constraints is not None
    assert preset is not None
    (rule,) = constraints.constraints
    assert (rule.origin, rule.priority, rule.until) == (ConstraintOrigin.PROJECT, 70, Position("ch-2"))
    note, corner = preset.nodes
    assert note.injection_strategy is not None
    assert (note.injection_strategy.depth, note.injection_strategy.order) == (1, 50)
    assert corner.anchor == "corner"


def test_a_folder_assembles_with_everything_in_it(tmp_path: Path) -> None:
    fabula = open_read_only(folder(tmp_path))
    result = ask(fabula, document_id="ch-1", conversation_id="desk")
    assert not result.warnings
    for words in (
        "Be brief.",
        "No magic.",
        "Likes fog.",
        "A woman.",
        "she broke it",
        "Mara ran.",
        "Word 2.",
        "A note.",
    ):
        assert words in result.prompt
    assert "PRIVATE" not in everything(result)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    project = folder(tmp_path)
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in project.rglob("*.*")}
    open_read_only(project)
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in project.rglob("*.*")} == before


def test_a_byte_order_mark_and_windows_line_ends_are_taken_away(tmp_path: Path) -> None:
    changes = {"chapters/two.md": b"\xef\xbb\xbfYears before.\r\nThe lamp stood.\r\n"}
    assert documents(folder(tmp_path, changes))[1].text == "Years before.\nThe lamp stood."
    crlf = {name: content.replace("\n", "\r\n") for name, content in FILES.items()}
    assert documents(folder(tmp_path / "crlf", crlf)) == documents(folder(tmp_path / "lf"))


@pytest.mark.parametrize("name", ["codex.toml", "constraints.toml", "memory.toml", "preset.toml", "conversation.jsonl"])
def test_every_file_but_the_project_itself_may_be_missing_or_empty(tmp_path: Path, name: str) -> None:
    for content in (None, ""):
        assert ask(open_read_only(folder(tmp_path / str(content), {name: content}))).prompt


def test_an_empty_project_opens_and_assembles(tmp_path: Path) -> None:
    project = tmp_path / "new"
    project.mkdir()
    (project / "project.toml").write_text('id = "new"\n')
    fabula = open_read_only(project)
    result = ask(fabula)
    assert not result.warnings
    assert result.prompt
    assert set(result.layers) == {"rules", "settings", "retrieved", "immediate"}
    assert "Hello there." in ask(fabula, additional_input="Hello there.", recipe="chat", skill_id="chat").prompt


@pytest.mark.parametrize("content", ["", "\n\n", "# A title\n", "   "])
def test_a_chapter_without_text_opens_and_assembles(tmp_path: Path, content: str) -> None:
    project = folder(tmp_path, {"chapters/two.md": content})
    result = ask(open_read_only(project), document_id="ch-2")
    assert not result.warnings


# One file


def test_a_text_file_is_a_project_and_its_headings_are_chapters(tmp_path: Path) -> None:
    file = tmp_path / "lamp.md"
    file.write_text("A word before.\n\n# One\n\nMara came.\n\n## Two\n\nMara ran.\n\n### No chapter\n\nMara slept.\n")
    found = documents(file)
    assert [(document.id, document.title) for document in found] == [
        ("ch-00", "lamp"),
        ("ch-01", "One"),
        ("ch-02", "Two"),
    ]
    assert [document.text for document in found] == [
        "A word before.",
        "Mara came.",
        "Mara ran.\n\n### No chapter\n\nMara slept.",
    ]
    assert "Mara slept." in ask(open_read_only(file)).prompt


def test_a_text_file_without_headings_is_one_chapter(tmp_path: Path) -> None:
    file = tmp_path / "lamp.txt"
    file.write_text("Mara came.\n\nMara ran.\n")
    (only,) = documents(file)
    assert (only.title, only.text) == ("lamp", "Mara came.\n\nMara ran.")


def test_a_chinese_text_file_is_a_chinese_project(tmp_path: Path) -> None:
    file = tmp_path / "灯.txt"
    file.write_text("# 第一章\n\n" + "灯灭了。她没有动。\n\n" * 60, "utf-8")
    fabula = open_read_only(file)
    assert fabula.view.project.language == "zh"
    assert "[场景] 第一章" in ask(fabula).prompt


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b"# Only a heading"])
def test_an_empty_text_file_opens_and_assembles(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "empty.txt"
    file.write_bytes(content)
    result = ask(open_read_only(file))
    assert not result.warnings
    assert result.prompt


def test_a_text_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_bytes("灯灭了。".encode("gb18030"))
    error = refusal(file)
    assert error.code is Code.PROJECT_INVALID
    assert "old.txt" in error.sentence
    assert "not UTF-8 text: save it as UTF-8" in error.sentence


# Refusals


@pytest.mark.parametrize("name", ["nowhere", "no/where.md", "sample:nothing"])
def test_what_is_not_there_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(FabulaError) as caught:
        open_read_only(name if name.startswith("sample:") else tmp_path / name)
    assert caught.value.code is Code.PROJECT_NOT_FOUND


def test_a_folder_without_a_project_file_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.code is Code.PROJECT_INVALID
    assert "project.toml" in error.sentence


ENTRY = '[[entry]]\nid = "x"\nname = "X"\n'
RULE = '[[constraint]]\nid = "x"\ntext = "X."\n'
CHAPTER = '[[chapters]]\nid = "x"\nfile = "chapters/one.md"\n'
MALFORMED: dict[str, tuple[str, str | bytes | None, str]] = {
    # what is wrong: the file, its content, words that must be said
    "bad TOML in the project": ("project.toml", 'id = "lamp', "ends too early"),
    "a name without end": ("codex.toml", "a." * 200_000 + "a = 1", "too many parts"),
    "bad TOML in the codex": ("codex.toml", "[[entry]\n", "line 1"),
    "bad TOML in the constraints": ("constraints.toml", "a = \n", "line 1"),
    "bad TOML in the memory": ("memory.toml", "= 1", "line 1"),
    "bad TOML in the preset": ("preset.toml", "x", "ends too early"),
    "a key twice": ("codex.toml", ENTRY + 'name = "Y"\n', "line 4"),
    "an id that is a number": ("project.toml", "id = 7\n", "`id` must be a text"),
    "an empty project id": ("project.toml", 'id = ""\n', "id"),
    "a title that is a list": ("project.toml", 'id = "a"\ntitle = ["x"]\n', "`title` must be a text"),
    "rules that are one text": ("project.toml", 'id = "a"\nrules = "Be brief."\n', "`rules` must be a list of texts"),
    "rules that are numbers": ("project.toml", 'id = "a"\nrules = [1]\n', "`rules` must be a list of texts"),
    "chapters that are no tables": ("project.toml", 'id = "a"\nchapters = ["one.md"]\n', "`chapters`"),
    "a chapter without a file": ("project.toml", '[[chapters]]\nid = "x"\n', "`file` is missing"),
    "a chapter without an id": ("project.toml", '[[chapters]]\nfile = "chapters/one.md"\n', "`id` is missing"),
    "a chapter with an empty id": ("project.toml", CHAPTER.replace('"x"', '""'), "id"),
    "a chapter whose time is a text": ("project.toml", CHAPTER + 'when = "noon"\n', "`when`"),
    "a chapter whose time is true": ("project.toml", CHAPTER + "when = true\n", "`when`"),
    "a chapter whose time is no number": ("project.toml", CHAPTER + "when = nan\n", "`when`"),
    "a chapter whose point of view is a number": ("project.toml", CHAPTER + "pov = 1\n", "`pov` must be a text"),
    "two chapters of one id": ("project.toml", CHAPTER + CHAPTER, "'x' is used twice"),
    "a chapter file above the folder": (
        "project.toml",
        CHAPTER.replace("chapters/", "../"),
        "outside the project folder",
    ),
    "a chapter file somewhere else": (
        "project.toml",
        CHAPTER.replace("chapters/", "/etc/"),
        "outside the project folder",
    ),
    "a chapter file with a null in its name": ("project.toml", CHAPTER.replace("one", "o\\u0000ne"), "file"),
    "a chapter that is not UTF-8": ("chapters/one.md", b"caf\xe9", "not UTF-8"),
    "a codex that is not UTF-8": ("codex.toml", b'[[entry]]\nid = "caf\xe9"', "not UTF-8"),
    "entries that are no list": ("codex.toml", 'entry = "x"\n', "`entry` must be a list of tables"),
    "an entry without an id": ("codex.toml", '[[entry]]\nname = "X"\n', "`id` is missing"),
    "an entry without a name": ("codex.toml", '[[entry]]\nid = "x"\n', "`name` is missing"),
    "an entry with an empty name": ("codex.toml", '[[entry]]\nid = "x"\nname = " "\n', "`name` must not be empty"),
    "an entry with an empty id": ("codex.toml", '[[entry]]\nid = ""\nname = "X"\n', "id"),
    "two entries of one id": ("codex.toml", ENTRY + ENTRY, "used twice"),
    "an unknown level": ("codex.toml", ENTRY + 'level = "sometimes"\n', "'sometimes'"),
    "a level that is a list": ("codex.toml", ENTRY + "level = []\n", "[]"),
    "details that are a text": ("codex.toml", ENTRY + 'details = "old"\n', "`details` must be a table"),
    "aliases that are one text": ("codex.toml", ENTRY + 'aliases = "Y"\n', "`aliases` must be a list of texts"),
    "knowers that are one text": ("codex.toml", ENTRY + 'known_to = "mara"\n', "`known_to` must be a list of texts"),
    "a relation since nowhere": (
        "codex.toml",
        ENTRY + 'relations = [{ to = "x", since = "ch-9" }]\n',
        "no chapter 'ch-9'",
    ),
    "a relation to nobody": ("codex.toml", ENTRY + 'relations = [{ kind = "knows" }]\n', "`to` is missing"),
    "since an unknown chapter": ("codex.toml", ENTRY + 'since = "ch-9"\n', "no chapter 'ch-9'"),
    "since a number": ("codex.toml", ENTRY + "since = 3\n", "no chapter 3"),
    "since a table without a chapter": ("codex.toml", ENTRY + 'since = { after = "x" }\n', "no chapter None"),
    "a progression without since": ("codex.toml", ENTRY + '[[entry.progression]]\ntext = "x"\n', "since when"),
    "a progression without text": (
        "codex.toml",
        ENTRY + '[[entry.progression]]\nsince = "ch-1"\n',
        "`text` is missing",
    ),
    "a case that is none": ("codex.toml", ENTRY + '[entry.rules]\ncase = "odd"\n', "`rules` makes no sense"),
    "a check of no kind": (
        "constraints.toml",
        '[[constraint]]\nid = "c"\ntext = "x"\ncheck = { kind = "odd" }\n',
        "`check` makes no sense",
    ),
    "a phrase that is not there": (
        "codex.toml",
        ENTRY + 'since = { chapter = "ch-1", after = "The sea rose." }\n',
        "'The sea rose.' must stand exactly once in ch-1",
    ),
    "a phrase that stands twice": (
        "codex.toml",
        ENTRY + 'since = { chapter = "ch-1", after = "Mara" }\n',
        "'Mara' must stand exactly once in ch-1",
    ),
    "a phrase that is a number": ("codex.toml", ENTRY + 'since = { chapter = "ch-1", after = 7 }\n', "exactly once"),
    "a constraint without text": ("constraints.toml", '[[constraint]]\nid = "x"\n', "`text` is missing"),
    "a constraint without an id": ("constraints.toml", '[[constraint]]\ntext = "X."\n', "`id` is missing"),
    "two constraints of one id": ("constraints.toml", RULE + RULE, "twice"),
    "an unknown kind of constraint": ("constraints.toml", RULE + 'kind = "musical"\n', "'musical'"),
    "an unknown origin": ("constraints.toml", RULE + 'origin = "heaven"\n', "'heaven'"),
    "a priority that is a text": (
        "constraints.toml",
        RULE + 'priority = "high"\n',
        "`priority` must be a whole number",
    ),
    "a priority that is true": ("constraints.toml", RULE + "priority = true\n", "`priority` must be a whole number"),
    "a priority below zero": ("constraints.toml", RULE + "priority = -5\n", "priority"),
    "until an unknown chapter": ("constraints.toml", RULE + 'until = "ch-9"\n', "no chapter 'ch-9'"),
    "a preference without text": ("memory.toml", '[[preference]]\nid = "x"\n', "`text` is missing"),
    "a confidence that is a text": (
        "memory.toml",
        '[[preference]]\nid = "x"\ntext = "X."\nconfidence = "high"\n',
        "`confidence` must be a number",
    ),
    "a confidence that is no number": (
        "memory.toml",
        '[[preference]]\nid = "x"\ntext = "X."\nconfidence = nan\n',
        "confidence",
    ),
    "a confidence below zero": (
        "memory.toml",
        '[[preference]]\nid = "x"\ntext = "X."\nconfidence = -1\n',
        "confidence",
    ),
    "two preferences of one id": ("memory.toml", 2 * '[[preference]]\nid = "x"\ntext = "X."\n', "twice"),
    "an episode without an id": ("memory.toml", '[[episode]]\ntext = "X."\n', "`id` is missing"),
    "working notes that are a text": ("memory.toml", 'working = "now"\n', "`working`"),
    "recent things that are one text": ("memory.toml", '[working]\nrecent = "x"\n', "`recent` must be a list of texts"),
    "an unknown kind of node": ("preset.toml", '[[node]]\ntype = "song"\n', "song"),
    "a depth that is a text": ("preset.toml", '[[node]]\ncontent = "x"\ndepth = "deep"\n', "depth"),
    "an unknown role": ("preset.toml", '[[node]]\ncontent = "x"\nrole = "god"\n', "god"),
    "a message that is no JSON": ("conversation.jsonl", TALK + "\n{oops}\n", "line 3"),
    "a message that is a list": ("conversation.jsonl", "[]\n", "line 1"),
    "a message without a role": ("conversation.jsonl", TALK + '\n\n{"id": "x", "content": "X."}\n', "line 4"),
    "a message with an unknown role": ("conversation.jsonl", '{"id": "x", "role": "god", "content": "X."}', "line 1"),
    "a message whose content is a number": (
        "conversation.jsonl",
        '{"id": "x", "role": "user", "content": 1}',
        "line 1",
    ),
    "two messages of one id": ("conversation.jsonl", TALK + "\n" + TALK, "twice"),
    "half a character in a message": (
        "conversation.jsonl",
        '{"id": "x", "role": "user", "content": "half \\ud83d of it"}',
        "line 1",
    ),
    "a conversation that is not UTF-8": ("conversation.jsonl", b'{"id": "caf\xe9"}', "not UTF-8"),
    "lists nested without end": ("codex.toml", "a = " + "[" * 5000 + "]" * 5000, ""),
    "messages nested without end": ("conversation.jsonl", '{"x":' + "[" * 50_000 + "]" * 50_000 + "}", "line 1"),
    "a number of ten thousand digits": ("memory.toml", "a = " + "9" * 10_000, ""),
}


@pytest.mark.parametrize("wrong", MALFORMED)
def test_a_malformed_file_is_refused_with_its_name_and_what_is_wrong(tmp_path: Path, wrong: str) -> None:
    name, content, words = MALFORMED[wrong]
    error = refusal(folder(tmp_path, {name: content}))
    assert error.code is Code.PROJECT_INVALID
    assert Path(name).name in error.sentence
    assert words in error.sentence
    assert "nothing was changed" in error.sentence


def test_a_chapter_behind_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("A secret.")
    project = folder(tmp_path, {"chapters/two.md": None})
    (project / "chapters" / "two.md").symlink_to(tmp_path / "secret.md")
    error = refusal(project)
    assert error.code is Code.PROJECT_INVALID
    assert "outside the project folder" in error.sentence


@pytest.mark.parametrize(("written", "named"), [("chapters/none.md", "none.md"), ("chapters", "chapters")])
def test_a_chapter_that_cannot_be_read_is_refused_by_its_own_name(tmp_path: Path, written: str, named: str) -> None:
    error = refusal(folder(tmp_path, {"project.toml": CHAPTER.replace("chapters/one.md", written)}))
    assert error.code is Code.PROJECT_INVALID
    assert error.sentence.startswith(f"{named}: it could not be read")


def test_more_constraints_than_a_project_may_have_are_refused(tmp_path: Path) -> None:
    rules = "".join(f'[[constraint]]\nid = "c{n}"\ntext = "Rule {n}."\n' for n in range(501))
    assert refusal(folder(tmp_path, {"constraints.toml": rules})).code is Code.CONSTRAINT_LIMIT


def test_people_are_named_as_a_writer_names_them(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("Rain.\n")
    chapter = '[[chapters]]\nid = "ch-1"\nfile = "one.md"\npov = {pov}\n'
    codex = '[[entry]]\nid = "m-1"\nname = "Mara Venn"\naliases = ["Keeper"]\nknown_to = ["keeper"]\n'
    (tmp_path / "codex.toml").write_text(codex)
    (tmp_path / "project.toml").write_text(chapter.format(pov='"mara"'))
    view = read_project(tmp_path)
    read, known = view.snapshot(Codex), view.snapshot(Manuscript)
    assert read is not None
    assert known is not None
    assert (known.documents[0].pov, read.entries[0].known_to) == ("m-1", frozenset({"m-1"}))

"""Every command that the documentation shows, and that the program prints as the next step, can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
from typer._click import Command
from typer.core import TyperGroup, TyperOption

from fabula.cli.main import make_app
from fabula.formats.lore.cards import parse_card
from fabula.formats.lore.files import write_card
from tests.cli.test_codex import Room, room
from tests.formats.chats.files_of_versions import EARLY, encode

__all__ = ["room"]
ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
REMARK = re.compile(r" {2,}\S.*$|\s#\s.*$")
EMPTY_LISTS = (
    "codex list",
    "memory list",
    "constraint list",
    "chapter list",
    "runs",
    "outline list",
    "lorebook list",
    "jobs list",
    "preset list",
    "synopsis list",
    "cost",
)
PRINTED = re.compile(r"(?<![.\w])fabula ((?:[a-z]+(?:-[a-z]+)*)(?: [^\n。，；]*)?)")


def find_documented() -> Iterator[tuple[str, str]]:
    """Return the lines of code blocks that begin with `fabula`, and where they stand."""
    for page in PAGES:
        is_fenced = False
        for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
            if line.startswith("```"):
                is_fenced = not is_fenced
            words = line.strip().removeprefix("$ ")
            if (is_fenced or line.startswith("    ")) and words.startswith("fabula "):
                for command in REMARK.sub("", words).removeprefix("fabula ").split(" / "):
                    yield f"{page.name}:{number}", f"fabula {command}"


@cache
def get_root() -> TyperGroup:
    """Return the whole command line, made once."""
    root = typer.main.get_command(make_app())
    assert isinstance(root, TyperGroup)
    return root


def find_problem(line: str) -> str:
    """Return what is wrong with a command line, whose placeholders stand for anything; nothing where all is right."""
    words = split_words(line)
    command: Command = get_root()
    while isinstance(command, TyperGroup) and words:
        name = words.pop(0)
        if name.startswith(("-", "[")):
            break
        if name not in command.commands:
            return f"{line!r}: there is no command {name!r}"
        command = command.commands[name]
    known = {one for option in command.params if isinstance(option, TyperOption) for one in option.opts}
    known |= {one for option in command.params if isinstance(option, TyperOption) for one in option.secondary_opts}
    unknown = [word for word in words if re.match("--?[a-zA-Z]", word) and word.partition("=")[0] not in known]
    return f"{line!r}: there is no option {unknown[0]}" if unknown and "--help" not in unknown else ""


def split_words(line: str) -> list[str]:
    """Return the words after `fabula`, without remarks, brackets and what follows a pipe."""
    line = REMARK.sub("", line.removeprefix("fabula").strip()).partition(" > ")[0]
    lexer = shlex.shlex(re.sub(r"[\[\]()…]", " ", line), posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return [word for word in lexer if word not in ("|", "...")]
    except ValueError:  # an apostrophe in a remark
        return line.split()


def test_a_wrong_command_or_option_is_found() -> None:
    assert find_problem("fabula chapter list PROJECT --ids") == ""
    assert "'chaptr'" in find_problem("fabula chaptr list PROJECT")
    assert "--idz" in find_problem("fabula chapter list PROJECT [--idz]")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_documentation_exists_with_its_options(page: Path) -> None:
    shown = [(place, line) for place, line in find_documented() if place.startswith(f"{page.name}:")]
    assert [f"{place}: {problem}" for place, line in shown if (problem := find_problem(line))] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("import", "coast.md"), 0),
        (("new", "Other"), 0),
        (("extract", "Coast"), 0),
        (("write", "Coast", "--provider", "clipboard", "-w", "8192"), 0),
        (("load", "saved.fabula", "--yes"), 0),
        (("memory", "learn", "Coast"), 0),
        (("doctor",), 0),
        (("timeline", "Empty"), 0),
        (("search", "Coast", "zzzz"), 1),
        (("search", "Coast"), 2),
        (("constraint", "check", "Coast", "--chapter", "1"), 0),
        (("project", "delete", "Coast", "--yes"), 0),
        (("accept", "Empty", "last"), 2),
        (("runs", "Coast", "last", "--prompt"), 2),
        (("chapter", "show", "Coast", "none"), 2),
        (("setting", "set", "Coast", "llm.prices", "{}"), 2),
        *(((*one.split(), "Empty"), 0) for one in EMPTY_LISTS),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else str(one),
)
def test_every_command_that_is_printed_exists_with_its_options(room: Room, words: tuple[str, ...], code: int) -> None:
    (room.folder / "coast.md").write_text("# Tide\n\n## One\n\nShe came down to the water.\n", "utf-8")
    room.run("new", "Empty")
    room.run("save", "Coast", "saved.fabula")
    said = room.run(*words, code=code)
    printed = "\n".join(dict.fromkeys((said, room.aside)))
    if words[0] == "write":
        printed = room.aside  # the answer is the prompt itself
    commands = [f"fabula {found[1]}" for found in PRINTED.finditer(printed)]
    parts = [part for one in commands for part in re.split(r", (?=fabula )|, or ", one)]
    assert [problem for one in parts if (problem := find_problem(one.rstrip(".,")))] == []


def test_the_commands_of_the_pages_about_conversations_work_one_after_the_other(room: Room) -> None:
    room.run("new", "The Lantern Coast", "--from", "sample:lantern_coast")
    card = {"name": "Mara", "description": "Dry.", "first_mes": "Hm.", "alternate_greetings": ["Well."]}
    write_card(parse_card({"spec": "chara_card_v2", "data": card}, "Mara"), room.folder / "mara.json")
    (room.folder / "mara.jsonl").write_bytes(encode(EARLY))
    of_pages = [line for place, line in find_documented() if place.startswith(("conversations.md", "modes.md"))]
    assert len(of_pages) > 25
    for line in of_pages:
        words = [word.replace("mara.png", "mara.json") for word in split_words(line)]
        if words[:2] == ["participant", "export"]:
            words.append("--overwrite")
        if words[0] in ("chat", "write"):
            words += ["--provider", "demo"]
        room.run(*words, stdin="Good evening.\n")

"""The command line: what it prints, in which shape, and how it says no."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from fabula.cli.main import COMMANDS, main, make_app
from fabula.core.errors import Code
from fabula.core.version import __version__

FABULA = Path(sys.executable).parent / "fabula"
app = make_app()
LAYERS = ["rules", "settings", "retrieved", "immediate"]


def run(*words: str) -> str:
    """A command that goes well, and what it prints."""
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_json(*words: str) -> dict[str, Any]:
    answer = json.loads(run(*words, "--json"))
    assert isinstance(answer, dict)
    return answer


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """A command that is refused: its exit code and its one line for people; nothing on the other stream."""
    monkeypatch.setattr(sys, "argv", ["fabula", *words])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert isinstance(left.value.code, int)
    return left.value.code, said.err


# The installed program


def test_the_command_line_is_run_as_a_module_too() -> None:
    words = [sys.executable, "-m", "fabula", "version"]
    assert subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == __version__


def test_the_installed_program_helps() -> None:
    done = subprocess.run([FABULA, "--help"], capture_output=True, text=True, check=True, timeout=30)
    for command in ("assemble", "inspect", "why", "samples"):
        assert command in done.stdout
    assert done.stderr == ""


def test_the_installed_program_assembles_chinese() -> None:
    done = subprocess.run(
        [FABULA, "assemble", "sample:wugang", "-d", "ch-02", "-w", "8192", "--quiet"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    prompt = done.stdout.decode("utf-8")
    assert prompt.startswith("你是这部作品作者的写作伙伴")
    assert "[创作约束 - 不可违反]\n1. 严格第一人称叙述" in prompt


def test_the_installed_program_refuses_in_one_line_and_with_an_exit_code() -> None:
    done = subprocess.run([FABULA, "assemble", "/no/such/story"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("PROJECT_NOT_FOUND: ")
    assert done.stderr.count("\n") == 1


def test_the_installed_program_ends_quietly_when_nobody_reads_on() -> None:
    done = subprocess.run(
        f'"{FABULA}" assemble sample:lantern_coast -q | head -c 10', shell=True, capture_output=True, timeout=60
    )
    assert done.stdout == b"You are th"
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


# Commands


@pytest.mark.parametrize("command", ["assemble", "inspect", "why", "samples", "version"])
def test_every_command_explains_itself(command: str) -> None:
    assert "Usage:" in run(command, "--help")


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_is_found_without_the_modules_of_the_others(module: str) -> None:
    for command in COMMANDS[module]:
        assert set(get_group(make_app(command)).commands) == {*COMMANDS[module], "version"}


def test_without_a_command_help_is_shown() -> None:
    done = CliRunner().invoke(app, [])
    assert "assemble" in done.output


def test_the_version_is_told() -> None:
    assert run("version").strip() == __version__


def test_the_samples_are_listed_with_title_and_language() -> None:
    lines = [re.split("  +", line) for line in run("samples").splitlines()]
    assert lines == [
        ["name", "title", "language"],
        ["sample:lantern_coast", "The Lantern Coast", "English"],
        ["sample:wugang", "雾港来信", "Chinese"],
    ]


def test_assembling_shows_the_prompt_and_how_its_room_was_spent() -> None:
    shown = run("assemble", "sample:lantern_coast", "-d", "ch-06", "-w", "8192")
    assert "[Writing constraints - do not break]" in shown
    assert "through the eyes of Mara Venn" in shown
    assert "of 6,144 tokens" in shown
    assert "2,048 kept for the answer" in shown
    for layer in LAYERS:
        assert layer in shown


def test_assembling_quietly_prints_the_prompt_and_nothing_else() -> None:
    prompt = run_json("assemble", "sample:lantern_coast", "-d", "ch-06")["prompt"]
    assert run("assemble", "sample:lantern_coast", "-d", "ch-06", "-q") == prompt + "\n"


@pytest.mark.parametrize("sample", ["lantern_coast", "wugang"])
def test_assembling_as_json_has_the_names_of_the_specification(sample: str) -> None:
    answer = run_json("assemble", f"sample:{sample}", "-d", "ch-03", "-w", "8192")
    assert {
        "prompt",
        "messages",
        "tokenCount",
        "stablePrefixHash",
        "stablePrefixUnchanged",
        "layers",
        "warnings",
    } <= set(answer)
    assert not [key for key in answer if "_" in key]
    assert list(answer["layers"]) == LAYERS
    for name, layer in answer["layers"].items():
        assert set(layer) == ({"tokens", "truncated", "chunks"} if name == "retrieved" else {"tokens", "truncated"})
        assert isinstance(layer["tokens"], int)
        assert isinstance(layer["truncated"], bool)
    assert isinstance(answer["prompt"], str)
    assert all(set(message) >= {"role", "content"} for message in answer["messages"])
    assert "\n\n".join(message["content"] for message in answer["messages"]) == answer["prompt"]
    assert isinstance(answer["tokenCount"], int)
    assert re.fullmatch("[0-9a-f]{64}", answer["stablePrefixHash"])
    assert answer["stablePrefixUnchanged"] is False
    assert answer["warnings"] == []
    assert answer["tokenCount"] <= answer["budget"]["total"] == 6144


def test_json_keeps_chinese_as_it_is() -> None:
    assert "林远" in run("assemble", "sample:wugang", "-d", "ch-03", "--json")


def test_inspecting_shows_every_layer_and_what_stayed_out() -> None:
    shown = run("inspect", "sample:lantern_coast", "-d", "ch-03", "-w", "8192")
    for layer in LAYERS:
        assert layer.capitalize() in shown
    assert "it enters only when you include it by hand" in " ".join(shown.split())


def test_inspecting_gives_each_fragment_one_line_of_name() -> None:
    """A passage is called by its first words, whatever line breaks they hold, and not by a mark nobody can read."""
    fragments = run_json("inspect", "sample:wugang", "-d", "ch-03", "-w", "8192")["fragments"]
    broken = [one for one in fragments if "\n" in one["title"]]
    assert broken
    shown = run("inspect", "sample:wugang", "-d", "ch-03", "-w", "8192")
    assert not [line for line in shown.splitlines() if line.startswith("　　")]
    assert not [one for one in broken if f"#{one['source'].partition('#')[2]}" in shown]
    assert "林远 #1" in shown


def test_inspecting_as_json_has_a_verdict_for_every_fragment() -> None:
    answer = run_json("inspect", "sample:wugang", "-d", "ch-03", "-w", "8192")
    fragments = answer["fragments"]
    assert fragments
    for fragment in fragments:
        assert {"source", "layer", "included", "reason", "why", "tokenCount", "score"} <= set(fragment)
        assert fragment["layer"] in (*LAYERS, "preset")
        assert fragment["why"]
    reasons = {fragment["reason"] for fragment in fragments}
    assert {"KEPT", "NOT_YET", "NOT_DETECTED", "LEVEL_NEVER"} <= reasons
    assembled = run_json("assemble", "sample:wugang", "-d", "ch-03", "-w", "8192")
    assert assembled["prompt"] == answer["prompt"]


def test_why_answers_for_what_is_in() -> None:
    shown = run("why", "Mara Venn", "sample:lantern_coast", "-d", "ch-02")
    assert re.search(r"^in +Mara Venn +\d+ ", shown, re.MULTILINE)
    assert "codex:" not in shown
    assert "KEPT" in shown


def test_why_answers_for_what_is_out_and_gives_the_reason() -> None:
    answer = run_json("why", "dark-hour", "sample:lantern_coast", "-d", "ch-04", "-c", "0")
    assert answer["name"] == "dark-hour"
    assert answer["verdicts"]
    secret = run("why", "The Dark Hour", "sample:lantern_coast", "-d", "ch-03", "-c", "0", "--include", "dark-hour")
    said = " ".join(secret.split())
    assert "out The Dark Hour #2 the reader does not know this NOT_KNOWN" in said
    assert "out The Dark Hour #3 it is revealed in chapter 7 NOT_YET" in said


def test_why_says_what_a_rule_says() -> None:
    assert "in  Hope Tarn never forgives or condemns in words" in run("why", "c-03", "sample:lantern_coast")


def test_why_knows_chinese_names() -> None:
    assert "林远 #1" in run("why", "林远", "sample:wugang", "-d", "ch-02")


def test_why_of_nobody_is_refused_with_the_nearest_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left, said = fails(monkeypatch, capsys, "why", "Maria Vann", "sample:lantern_coast")
    assert left == 2
    assert said.startswith("STORE_NOT_FOUND: ")
    assert "Did you mean Mara Venn" in said


# Options


def test_options_reach_the_request() -> None:
    plain = run_json("assemble", "sample:lantern_coast", "-d", "ch-02")
    assert plain["vantage"] == "character:will"
    assert run_json("assemble", "sample:lantern_coast", "-d", "ch-02", "--eyes", "reader")["vantage"] == "reader"
    assert run_json("assemble", "sample:lantern_coast", "-d", "ch-02", "--character", "mara")["vantage"] == (
        "character:mara"
    )
    named = run_json("assemble", "sample:lantern_coast", "-d", "ch-02", "--character", "Mara Venn")
    assert named["vantage"] == "character:mara"
    assert run_json("assemble", "sample:lantern_coast", "-d", "ch-02", "-s", "plan")["vantage"] == "author"
    told = run("assemble", "sample:lantern_coast", "-q", "-i", "Let it rain.")
    assert told.rstrip().endswith("Let it rain.")
    assert "Keeper's Rule" not in run("assemble", "sample:lantern_coast", "-q", "-d", "ch-01")
    pulled = run("assemble", "sample:lantern_coast", "-q", "-d", "ch-01", "--include", "keepers-rule")
    assert "The Keeper's Rule (lore" in pulled
    without = run("assemble", "sample:lantern_coast", "-q", "-d", "ch-01", "--exclude", "Harrow Light")
    assert "Harrow Light (location" not in without
    chat = run_json("assemble", "sample:lantern_coast", "--recipe", "chat", "--conversation", "desk", "-s", "chat")
    assert {message["role"] for message in chat["messages"]} == {"system", "user", "assistant"}


def test_a_model_without_a_published_vocabulary_is_said_to_be_estimated() -> None:
    assert run_json("assemble", "sample:wugang", "-m", "claude-sonnet-4")["tokensExact"] is False
    assert "estimated" in run("assemble", "sample:wugang", "-m", "claude-sonnet-4")
    assert run_json("assemble", "sample:wugang", "-m", "gpt-4o")["tokensExact"] is True


# Files of one's own


def test_a_text_file_is_a_project_too(tmp_path: Path) -> None:
    story = tmp_path / "story.md"
    story.write_bytes("# One\r\n\r\nIt rained.\r\n\r\n# Two\r\n\r\nIt went on raining. 🌧️\r\n".encode())
    answer = run_json("assemble", str(story))
    assert "It went on raining. 🌧️" in answer["prompt"]
    assert "\r" not in answer["prompt"]
    assert answer["warnings"] == []
    first = run_json("assemble", str(story), "-d", "ch-01")
    assert "It went on raining." not in first["prompt"]


def test_an_empty_file_is_a_place_to_begin(tmp_path: Path) -> None:
    story = tmp_path / "empty.txt"
    story.write_text("")
    assert run_json("assemble", str(story))["warnings"] == []


def test_a_chinese_text_file_is_spoken_to_in_chinese(tmp_path: Path) -> None:
    story = tmp_path / "雾.txt"
    story.write_text("　　雾从海上来，我站在堤上数灯。\n" * 30, "utf-8")
    assert run("assemble", str(story), "-q").startswith("你是这部作品作者的写作伙伴")


# Refusals


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("assemble", "sample:atlantis"), Code.PROJECT_NOT_FOUND, "lantern_coast"),
        (("assemble", "/no/such/story"), Code.PROJECT_NOT_FOUND, "No folder or file has that name"),
        (("assemble", "x" * 5000), Code.PROJECT_NOT_FOUND, "No folder or file has that name"),
        (("assemble", "sample:wugang", "-d", "ch-99"), Code.DOCUMENT_UNKNOWN, "None has a name like it"),
        (("assemble", "sample:wugang", "-c", "999999"), Code.CURSOR_INVALID, "999999"),
        (("assemble", "sample:wugang", "-c", "-1"), Code.CURSOR_INVALID, "-1"),
        (("assemble", "sample:wugang", "-c", "ten"), Code.REQUEST_INVALID, "after 'words of the chapter'"),
        (("assemble", "sample:wugang", "-m", "gpt4o"), Code.MODEL_UNKNOWN, "gpt-4o"),
        (("assemble", "sample:wugang", "-w", "100"), Code.RULES_TOO_LARGE, "larger window"),
        (("assemble", "sample:wugang", "--recipe", "opera"), Code.RECIPE_UNKNOWN, "novel"),
        (("assemble", "sample:wugang", "-s", "sing"), Code.SKILL_UNKNOWN, "continue"),
        (("inspect", "sample:wugang", "-s", "sing"), Code.SKILL_UNKNOWN, "continue"),
        (("why", "林远", "sample:wugang", "-s", "sing"), Code.SKILL_UNKNOWN, "continue"),
        (("assemble", "sample:wugang", "-d", "ch-03", "--eyes", "character"), Code.REQUEST_INVALID, "character"),
        (("assemble", "sample:wugang", "--eyes", "nobody"), Code.REQUEST_INVALID, "nobody"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_refused_in_one_clear_line(
    words: tuple[str, ...],
    code: Code,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left, said = fails(monkeypatch, capsys, *words)
    assert said.startswith(f"{code.value}: ")
    assert says in said
    assert said.count("\n") == 1
    assert left == (3 if code is Code.PROJECT_NOT_FOUND else 2)


@pytest.mark.parametrize(
    "words",
    [
        ("assemble",),
        ("sing",),
        ("assemble", "sample:wugang", "--no-such"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_makes_no_sense_is_refused_with_two(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left, said = fails(monkeypatch, capsys, *words)
    assert left == 2
    assert "Usage:" in said or "Try" in said


def _broken(folder: Path, **files: str) -> Path:
    (folder / "project.toml").write_text('id = "p"\n[[chapters]]\nid = "ch-01"\nfile = "one.md"\n', "utf-8")
    (folder / "one.md").write_text("It rained.\n", "utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("project_toml", "id = ", "project.toml"),
        ("project_toml", '[[chapters]]\nid = "x"\nfile = "../../etc/passwd"\n', "outside"),
        ("project_toml", '[[chapters]]\nid = "x"\nfile = "missing.md"\n', "missing.md"),
        ("codex_toml", "[[entry]]\nid = 'a'\n", "name"),
        ("codex_toml", "[[entry]]\nid = 'a'\nname = 'A'\nlevel = 'sometimes'\n", "sometimes"),
        ("codex_toml", "[[entry]]\nid = 'a'\nname = 'A'\nsince = 'ch-77'\n", "ch-77"),
        ("constraints_toml", "[[constraint]]\nid = 'c'\n", "text"),
        ("constraints_toml", "[[constraint]]\nid = 'c'\ntext = 'x'\npriority = 1000\n", "priority"),
        ("preset_toml", "[[node]]\ntype = 'poem'\n", "preset.toml"),
        ("conversation_jsonl", '{"id": 1}\n', "line 1"),
        ("memory_toml", "[[preference]]\nid = 'm'\ntext = 'x'\nconfidence = 'high'\n", "confidence"),
        ("memory_toml", "[[preference]]\nid = 'm'\ntext = 'x'\nconfidence = nan\n", "m"),
    ],
    ids=lambda value: value.replace("\n", " ")[:40],
)
def test_a_broken_project_is_refused_with_the_place_that_is_broken(
    name: str,
    text: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = _broken(tmp_path, **{name: text})
    left, said = fails(monkeypatch, capsys, "assemble", str(folder))
    assert left == 2
    assert re.match(r"[A-Z_]+: ", said)
    assert says in said
    assert "othing was changed" in said or "refused" in said


def test_a_file_that_is_not_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "story.txt").write_bytes(b"\xff\xfe\x00\x01binary")
    left, said = fails(monkeypatch, capsys, "assemble", str(tmp_path / "story.txt"))
    assert left == 2
    assert said.startswith("PROJECT_INVALID: story.txt")


def test_a_folder_without_a_project_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left, said = fails(monkeypatch, capsys, "assemble", str(tmp_path))
    assert left == 2
    assert "There is no project.toml in the folder" in said
    assert "Name a folder that has one, or a single text file." in said


# A whole request as JSON


def test_a_request_comes_in_as_json_and_its_cursor_counts_utf16_units(tmp_path: Path) -> None:
    asked = tmp_path / "request.json"
    asked.write_text(
        json.dumps({"projectId": "wugang", "documentId": "ch-01", "unsavedText": "𠮷𠮷门后面", "cursorPosition": 5}),
        "utf-8",
    )
    prompt = run_json("assemble", "sample:wugang", "--request", str(asked))["prompt"]
    assert "[光标之前的正文]\n𠮷𠮷门\n\n" in prompt
    assert "[光标之后的正文]\n后面" in prompt


def test_a_request_as_json_takes_every_name_of_the_specification(tmp_path: Path) -> None:
    asked = tmp_path / "request.json"
    wishes = {
        "projectId": "lantern-coast",
        "documentId": "ch-07",
        "cursorPosition": 100,
        "skillId": "rewrite",
        "additionalInput": "Shorter.",
        "model": "gpt-4",
        "recipe": "novel",
        "selection": [0, 50],
        "conversationId": "desk",
        "speakerId": "mara",
        "include": ["keepers-rule"],
        "exclude": ["Harrow Light"],
        "revision": 1,
    }
    asked.write_text(json.dumps(wishes), "utf-8")
    answer = run_json("assemble", "sample:lantern_coast", "--request", str(asked))
    assert answer["model"] == "gpt-4"
    assert answer["vantage"] == "character:mara"
    assert answer["prompt"].endswith("Shorter.")
    assert "[Selected text]\n" in answer["prompt"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", Code.REQUEST_INVALID),
        ('{"projectId": "wugang", "cursor": 3}', Code.REQUEST_INVALID),
        ('{"projectId": "another"}', Code.SCOPE_VIOLATION),
        ('{"projectId": "wugang", "documentId": "ch-01", "cursorPosition": 99999}', Code.CURSOR_INVALID),
        (
            '{"projectId": "wugang", "documentId": "ch-01", "unsavedText": "𠮷", "cursorPosition": 1}',
            Code.CURSOR_INVALID,
        ),
        ('{"projectId": "wugang", "documentId": "ch-01", "revision": 4}', Code.DOCUMENT_STALE),
    ],
    ids=["cut off", "unknown name", "another project", "cursor past the end", "inside a character", "stale"],
)
def test_a_request_as_json_that_cannot_be_done_is_refused(
    text: str, code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = tmp_path / "request.json"
    asked.write_text(text, "utf-8")
    left, said = fails(monkeypatch, capsys, "assemble", "sample:wugang", "--request", str(asked))
    assert left == 2
    assert said.startswith(f"{code.value}: ")


def test_a_request_file_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left, said = fails(monkeypatch, capsys, "assemble", "sample:wugang", "--request", "/no/such/request.json")
    assert left == 2
    assert said.startswith("FILE_NOT_FOUND: There is no file /no/such/request.json")


def test_a_prompt_in_short_has_the_first_lines_of_each_part_and_says_how_to_see_all() -> None:
    words = ["assemble", "sample:lantern_coast", "-d", "ch-06", "-w", "8192"]
    whole = subprocess.run([FABULA, *words], capture_output=True, text=True, timeout=30, check=True).stdout
    short = subprocess.run([FABULA, *words, "--short"], capture_output=True, text=True, timeout=30, check=True).stdout
    headings = [line for line in whole.splitlines() if line.startswith("[") and line.endswith("]")]
    assert len(headings) > 3
    assert [line for line in short.splitlines() if line in headings] == headings
    assert len(short.splitlines()) < 60 < len(whole.splitlines())
    assert "tokens for gpt-4o" in short
    legend = [line.split() for line in short.splitlines() if line.startswith("■")]
    total = next(line.split()[0] for line in short.splitlines() if "tokens for gpt-4o" in line)
    assert f"{sum(int(tokens.replace(',', '')) for _, _, tokens, *_ in legend):,}" == total  # the parts add up
    sample = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    printed = short[short.index("The Lantern Coast, ") :].splitlines()[:-1]
    assert all(re.search(rf"^{re.escape(line.rstrip())}", sample, re.MULTILINE) for line in printed)
    assert short.splitlines()[-1].startswith("To see the whole prompt, leave out --short.")

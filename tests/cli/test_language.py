"""The language of the command line: who chooses it, and that everything printed is in it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache

import pytest
import typer.main
from typer.core import TyperGroup
from typer.testing import CliRunner

from fabula.cli.commands import HEADINGS
from fabula.cli.main import main, make_app
from tests.cli.test_codex import Room, room

__all__ = ["room"]
CHINESE = re.compile("[一-鿿]")
# What is no sentence: commands to type, options with their types, text in quotes, codes in capitals, lists of values.
NO_SENTENCE = re.compile(
    r"fabula .*|--?\w[\w-]*( <[^>]+>)?|`[^`]*`|\"[^\"]*\"|\b[A-Z_]{2,}\b|[\w-]+、|、?[\w-]+ 或 [\w-]+"
)
ENGLISH = re.compile(r"[A-Za-z']+(?: [A-Za-z']+){2,}")


def find_english(text: str) -> list[str]:
    """Return runs of three and more English words in what was printed."""
    return ENGLISH.findall(NO_SENTENCE.sub("#", text))


def test_english_is_found_where_there_is_some() -> None:
    assert find_english("  add  Add an entry.") == ["Add an entry"]


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(make_app(), list(words), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def list_commands(group: TyperGroup, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, TyperGroup):
            yield from list_commands(command, *path, name)


@cache
def all_commands() -> list[tuple[str, ...]]:
    root = typer.main.get_command(make_app())
    assert isinstance(root, TyperGroup)
    return list(list_commands(root))


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")


# Who chooses


def test_a_person_chooses_the_language(monkeypatch: pytest.MonkeyPatch, room: Room) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    assert "《Empty》里没有找到设定集之外的名字。" in room.run("new", "Empty") + room.run("extract", "Empty")
    monkeypatch.setenv("FABULA_LANGUAGE", "en")
    assert "through the eyes of 林远" in run("assemble", "sample:wugang", "-w", "8192")


def test_without_a_choice_the_project_decides(monkeypatch: pytest.MonkeyPatch, room: Room) -> None:
    monkeypatch.delenv("FABULA_LANGUAGE")
    room.run("new", "雾", "--language", "zh")
    assert room.run("outline", "list", "雾").startswith("还没有计划。")
    assert room.run("preset", "list", "雾").startswith("还没有预设。")
    assert "nodes" in room.run("preset", "list", "Coast")


def test_without_a_project_the_locale_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABULA_LANGUAGE")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "列出 Fabula 自带的示例故事。" in run("samples", "--help")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "List the sample stories" in run("samples", "--help")


def test_an_unknown_language_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "fr")
    monkeypatch.setattr(sys, "argv", ["fabula", "samples"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "FABULA_LANGUAGE is 'fr', which is no language of Fabula. There are: en, zh." in capsys.readouterr().err


# Everything is in Chinese


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("words", [(), *all_commands()], ids=" ".join)
def test_help_is_in_chinese(words: tuple[str, ...]) -> None:
    _, _, text = run(*words, "--help").partition("\n")  # below the line of usage
    assert CHINESE.search(text)
    assert find_english(re.sub(r"  例如：.*?\n\n", "", text, flags=re.DOTALL)) == []
    assert all(heading.endswith("：") for heading in re.findall(r"^\S.*$", text, flags=re.MULTILINE))


@pytest.mark.usefixtures("chinese")
def test_a_list_is_in_chinese(room: Room) -> None:
    room.run("new", "雾", "--from", "sample:wugang")
    for subject in ("codex", "constraint", "synopsis", "outline", "jobs", "preset", "lorebook", "memory"):
        assert find_english(room.run(subject, "list", "雾")) == []


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    "words",
    [
        ("search", "sample:wugang"),
        ("setting", "set", "language"),
        ("skills", "--add", "sing.toml"),
        ("runs", "Coast", "--prompt"),
        ("lorebook", "add", "Coast", "Harbour", "content"),
        ("constraint", "check", "Coast", "nowhere.md"),
        ("new", "A", "--from", "nowhere"),
        ("assemble",),
        ("sing",),
        ("codex", "sho"),
        ("assemble", "sample:wugang", "--cursor", "ten"),
        ("assemble", "sample:wugang", "--documen", "x"),
        ("assemble", "sample:wugang", "too", "much"),
        ("search", "sample:wugang", "x", "--most", "0"),
        ("memory", "sample", "add", "Coast", "ch-01"),
    ],
    ids=" ".join,
)
def test_an_error_is_in_chinese(words: tuple[str, ...], room: Room) -> None:
    said = room.run(*words, code=3 if words[0] == "new" else 2)
    assert CHINESE.search(said)
    assert find_english(said.replace("too much", "")) == []


@pytest.mark.usefixtures("chinese")
def test_the_summary_of_a_prompt_is_in_chinese() -> None:
    said = run("assemble", "sample:wugang", "-w", "8192", "-m", "claude-sonnet-4")
    summary = said[said.rindex("雾港来信、第七章") :]
    assert "雾港来信、第七章 十九分钟，林远的视角" in summary
    assert "词元数为估计值" in summary
    assert find_english(summary) == []


@pytest.mark.usefixtures("chinese")
def test_the_report_on_a_store_is_in_chinese(room: Room) -> None:
    place, head, *findings = room.run("doctor").splitlines()
    assert place.startswith("数据库位于 ")
    assert head.split() == ["检查项", "结果"]
    assert all(re.match("[✓!✗]  [一-鿿]+ ", line) for line in findings)
    assert find_english("\n".join(findings)) == []


@pytest.mark.usefixtures("chinese")
def test_verdicts_are_in_chinese() -> None:
    for words in (("inspect",), ("why", "林远")):
        assert find_english(run(*words, "sample:wugang", "-d", "ch-03", "-w", "8192")) == []


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("words", [("inspect",), ("why", "林远")], ids=" ".join)
def test_json_speaks_the_language_of_the_run(words: tuple[str, ...]) -> None:
    found = json.loads(run(*words, "sample:wugang", "-d", "ch-03", "-w", "8192", "--json"))
    reasons = {one["why"] for one in found.get("fragments") or found["verdicts"]}
    assert reasons
    assert all(CHINESE.search(reason) for reason in reasons)


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    "words",
    [
        ("projects",),
        ("samples",),
        ("skills",),
        ("timeline", "雾"),
        ("jobs", "list", "雾"),
        ("memory", "preview", "雾"),
        ("recap", "settings", "雾"),
        ("preset", "show", "雾"),
        ("setting", "list", "雾"),
        ("codex", "rename", "雾", "沈棠", "沈糖"),
    ],
    ids=" ".join,
)
def test_everything_printed_is_in_chinese(words: tuple[str, ...], room: Room) -> None:
    room.run("new", "雾", "--from", "sample:wugang")
    said = room.run(*words) + room.aside
    assert CHINESE.search(said)
    assert find_english(said.replace("The Lantern Coast", "")) == []


@pytest.mark.usefixtures("chinese")
def test_times_and_plurals_are_those_of_the_language(room: Room) -> None:
    assert re.search(r"\d{4}年\d{1,2}月\d{1,2}日 \d\d:\d\d \w+", room.run("projects"))
    (room.folder / "one.md").write_text("# 一\n\n## 一\n\n雨\n", "utf-8")
    assert "1 个章节、1 字" in re.sub(" +", " ", room.run("import", "one.md"))


# Help


def test_every_command_stands_under_a_heading() -> None:
    listed = [name for _, names in HEADINGS for name in names]
    assert sorted(listed) == sorted(words[0] for words in all_commands() if len(words) == 1)


@pytest.mark.parametrize("command", ["assemble", "inspect", "why", "write", "memory preview"])
def test_commands_that_need_a_request_have_all_its_options(command: str) -> None:
    text = run(*command.split(), "--help")
    for option in (
        *("--document", "--cursor", "--skill", "--input", "--model", "--window", "--recipe", "--eyes", "--character"),
        *("--conversation", "--include", "--exclude", "--late / --no-late", "--attach", "--request"),
    ):
        assert f" {option}" in text


def test_a_question_that_is_left_unanswered_changes_nothing_and_shows_no_traceback(room: Room) -> None:
    done = CliRunner().invoke(make_app(), ["project", "delete", "Coast"], input="", catch_exceptions=False)
    assert done.exit_code == 130
    assert "Stopped. Nothing was changed." in done.output
    assert "Traceback" not in done.output
    assert "Coast" in room.run("projects")


def test_a_new_project_has_the_language_of_the_program_or_of_its_title(
    monkeypatch: pytest.MonkeyPatch, room: Room
) -> None:
    def read_language(title: str) -> str:
        return str(next(one["language"] for one in room.read("projects") if one["title"] == title))

    room.run("new", "又一本")
    room.run("new", "Harbour")
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    room.run("new", "Pier")
    room.run("new", "Quay", "--language", "en")
    assert [read_language(one) for one in ("又一本", "Harbour", "Pier", "Quay")] == ["zh", "en", "zh", "en"]


def test_a_save_and_the_jobs_of_a_project_are_told_in_the_language_of_the_project(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FABULA_LANGUAGE")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    (room.folder / "雾港.md").write_text("# 灯\n\n雾落在港口。", "utf-8")
    room.run("import", "雾港.md")
    room.run("save", "雾港", "fog.fabula")
    said = room.run("load", "fog.fabula", "--yes")
    assert "1 个文档" in said
    assert find_english(said) == []
    said = room.run("jobs", "list", "2")
    assert "已花费" in said
    assert find_english(said) == []

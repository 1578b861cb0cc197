"""Chinese output holds no English: only names of commands, options, models, formats and values that people type."""

from __future__ import annotations

import re

import pytest

from fabula.cli.commands import FOREIGN_SENTENCES, PLACEHOLDERS
from tests.cli.test_codex import Room, room
from tests.cli.test_language import all_commands, run

__all__ = ["room"]
# Names of programs, formats, services and variables, which no language changes.
NAMES = """
    Fabula PostgreSQL SQLite FABULA_STORE FABULA_CACHE JSON PDF Markdown EPUB DOCX PNG CHARX Scrivener NovelCrafter
    SillyTavern RisuAI NovelAI AI Dungeon Agnai OpenAI openai anthropic ollama gpt world info VISUAL EDITOR Ctrl
    clipboard stdin MCP md txt epub docx json jsonl png charx sample wugang UTC kB MB GB http localhost
"""
# Values that a person types, as the help of an option lists them.
VALUES = """
    after any always assistant author book character chapter chat confirmed cancelled continue day dismissed done end en
    episode event everybody exact fabula faction failed flag free graph item key last learned local location lore
    lorebook manual memory model narrative never nobody none note novel null off order other part plot preference
    project proposed queued reader regenerate rename running scene session sillytavern skill smart start style
    style_sample system user when_detected working zh Mara Tom
"""
ALLOWED = {*NAMES.split(), *VALUES.split()}
# Lines of examples, commands to type, options, and reasons in capitals.
PASSED_OVER = re.compile(
    r"  例如：.*?\n\n|`?fabula(\s+[a-z-]+)+|--?[a-zA-Z][a-z-]*|\b[A-Z]+_[A-Z_]+\b|START:END|“[^”]*”|\"[^\"]*\"",
    re.DOTALL,
)
WORD = re.compile(r"[A-Za-z_]{2,}")


def find_words(text: str) -> set[str]:
    """Return the words in Latin letters that no list allows."""
    return set(WORD.findall(PASSED_OVER.sub(" ", text))) - ALLOWED


def test_an_english_word_is_found() -> None:
    assert find_words("已记住 remembered --most") == {"remembered"}


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")


@pytest.mark.parametrize("words", [(), *all_commands()], ids=" ".join)
def test_help_and_usage_hold_no_english_words(words: tuple[str, ...]) -> None:
    names = {name for path in all_commands() for name in path}
    text = re.sub(r"^用法：root( [a-z-]+)*", "", run(*words, "--help"))
    commands = re.compile(rf"^  ({'|'.join(sorted(names, key=len, reverse=True))})(?= |$)", re.MULTILINE)
    assert find_words(commands.sub("", text)) == set()
    assert "{" not in text
    assert "<" not in text


def test_usage_names_arguments_as_help_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("recap", "list", "--help").startswith("用法：root recap list [选项] 项目 对话\n")
    assert "错误：缺少参数 对话。" in run("recap", "list", "x", code=2)
    monkeypatch.setenv("FABULA_LANGUAGE", "en")
    assert "Usage: root recap list [OPTIONS] PROJECT CONVERSATION\n" in run("recap", "list", "--help")
    assert "  -n, --most NUMBER " in run("search", "--help")
    assert "1 to 200" in run("search", "--help")
    assert "Error: Missing argument CONVERSATION." in run("recap", "list", "x", code=2)


def test_every_placeholder_has_a_word_of_its_own() -> None:
    assert not {one.template for one in PLACEHOLDERS} & {one.template for one in FOREIGN_SENTENCES}


@pytest.mark.parametrize(
    "words",
    [
        ("projects",),
        ("samples",),
        ("doctor",),
        ("chapter", "list", "雾"),
        ("codex", "list", "雾"),
        ("constraint", "list", "雾"),
        ("synopsis", "list", "雾"),
        ("outline", "list", "雾"),
        ("jobs", "list", "雾"),
        ("memory", "list", "雾"),
        ("preset", "list", "雾"),
        ("lorebook", "list", "雾"),
        ("runs", "雾"),
        ("cost", "雾"),
        ("revision", "list", "雾", "1"),
        ("undo", "雾", "--list"),
        ("project", "info", "雾"),
        ("search", "雾", "灯塔"),
        ("timeline", "雾"),
        ("extract", "雾"),
    ],
    ids=" ".join,
)
def test_a_list_holds_no_english_words(words: tuple[str, ...], room: Room) -> None:
    room.run("project", "delete", "Coast", "--yes")
    room.run("new", "雾", "--from", "sample:wugang")
    said = re.sub(r"\S*/\S*|\b[0-9a-f]{20}\b|lantern_coast +The Lantern Coast|wal，", "", room.run(*words))
    assert find_words(said) == set()


def test_no_blank_stands_between_chinese_words_and_a_value(room: Room) -> None:
    room.run("new", "雾", "--from", "sample:wugang")
    assert "\n  12,987 字\n" in room.run("project", "info", "雾")
    room.run("chapter", "delete", "雾", "7")
    assert "已记住：短句" in room.run("memory", "remember", "雾", "短句")


def test_refusals_are_whole_chinese_sentences(room: Room) -> None:
    assert "没有叫“第九九回”的章节。" in room.run("chapter", "show", "Coast", "第九九回", code=2)
    assert "现有：人物、地点、事件、物件、势力、设定、其他。" in room.run(
        "codex", "add", "Coast", "X", "--type", "神仙", code=2
    )
    assert "请换些词语" in room.run("search", "Coast", "xyzzy", code=1)
    room.run("save", "Coast", "coast.fabula")
    listed = room.run("verify", "coast.fabula")
    assert "设定集" in listed
    assert "codex_entries" not in listed
    (room.folder / "text.fabula").write_text("只是文字")
    assert "它不是 ZIP 文件" in room.run("load", "text.fabula", code=2)


def test_words_of_a_place_are_said_to_be_absent_or_to_stand_there_often(room: Room) -> None:
    words = ("codex", "progress", "Coast", "Mara", "X", "--since")
    assert "本章里没有“没有的字”" in room.run(*words, "1:没有的字", code=2)
    assert re.search("“the”.*[0-9]+ ?次", room.run(*words, "1:the", code=2))


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_examples_of_help_are_in_chinese(words: tuple[str, ...]) -> None:
    """Titles, names and texts are Chinese; commands, options, values and files are typed as they are."""
    found = re.search(r"例如：(.*?)\n\n", run(*words, "--help"), re.DOTALL)
    example = re.sub(r"\s+", " ", found[1]) if found is not None else ""
    quoted = "".join(re.findall(r'"[^"]*"', example))
    assert not re.search(r"[A-Za-z]", quoted.replace("content=", ""))
    assert not re.search(r"\b[A-Z][a-z]+|ch-\d|\bID\b|lantern|\blast\b", example)


def test_words_for_who_knows_and_from_when_are_typed_in_chinese(room: Room) -> None:
    assert room.read("codex", "edit", "Coast", "Grace Odell", "--known-to", "无人")["knownTo"] == []
    assert room.read("codex", "edit", "Coast", "Grace Odell", "--known-to", "读者")["knownTo"] == ["reader"]
    assert room.read("codex", "edit", "Coast", "Grace Odell", "--known-to", "所有人")["knownTo"] is None
    room.run("codex", "edit", "Coast", "Grace Odell", "--since", "2")
    assert room.read("codex", "edit", "Coast", "Grace Odell", "--since", "开头")["since"] is None
    for eyes in ("作者", "读者", "reader"):
        room.run("assemble", "Coast", "--eyes", eyes)
    assert "作者、读者、人物" in room.run("assemble", "Coast", "--eyes", "上帝", code=2)
    for words in (("codex", "know"), ("codex", "add"), ("constraint", "add"), ("assemble",), ("accept",)):
        assert not re.search(r"\b(reader|nobody|everybody|start|end|last)\b", run(*words, "--help"))


def test_a_book_of_hui_is_counted_in_hui(room: Room) -> None:
    room.run("new", "三国演义", "--language", "zh")
    for number, title in ((1, "第一回 宴桃园豪杰三结义"), (2, "第二回 张翼德怒鞭督邮"), (3, "第三回 议温明董卓叱丁原")):
        room.run("chapter", "new", "三国演义", title, "--text", "-", stdin=f"玄德来了。{number}")
    assert "全书有编号的共 3 回" in room.run("chapter", "show", "三国演义", "9", code=2)
    said = room.run("constraint", "add", "三国演义", "第二回之前不得提到孔明。")
    assert "第2回" in said.replace(" ", "")
    assert "章" not in said.replace("章节", "")
    assert "章" in room.run("chapter", "show", "Coast", "99", code=2)  # another book is counted in its own word


def test_jobs_titles_and_commands_are_named_in_chinese(room: Room) -> None:
    """A miss listed keys of jobs, an empty title was told of ids, commands to type had English placeholders."""
    said = room.run("jobs", "cancel", "Coast", "没有", code=2)
    assert ":" not in said.removeprefix("JOB_NOT_FOUND:")
    assert "编号" not in room.run("new", "", code=2)
    room.run("series", "new", "海之书")
    assert "fabula series new 标题" in room.run("series", "join", "Coast", "Coast", code=2)

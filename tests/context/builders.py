"""Small stories to assemble from, and what every assembly is held against.

The Chinese story is the one the scenarios of the context engine specification tell of: 林远, in the
first person, ten chapters. Its prose is put together from a few sentences in a fixed order, so that a
chapter is as long as a test needs and always the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import pytest
from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Level
from fabula.constraints import Constraint, ConstraintKind, ConstraintOrigin, Constraints
from fabula.context import (
    Code,
    Engine,
    EngineSettings,
    FabulaError,
    Fragment,
    Layer,
    Part,
    Project,
    Request,
    Result,
    Source,
    Tier,
    View,
)
from fabula.context.engine import DEFAULT_SETTINGS
from fabula.context.render import count_whole
from fabula.context.request import SourceRequest
from fabula.context.trace import Verdict
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory, MemoryNote, Preference
from fabula.search.corpus import Corpus
from fabula.text.tokens.models import find_model
from fabula.workspace.search_corpus import make_corpus
from fabula.workspace.sources import all_sources

PROJECT = "yuan"
WINDOW = 8192  # leaves 6144 for the prompt, as in the specification's scenarios

_DOES = (
    "我沿着石阶往下走，鞋底沾着潮气",
    "沈默站在闸门后面，手里拎着一盏灯",
    "林远的名字写在第三行，墨迹已经淡了",
    "水声从管道里传上来，一下一下地敲着铁皮",
    "他把钥匙放在桌上，没有看我",
    "窗外的探照灯扫过屋顶，停了片刻",
    "我数着步子，数到四十二的时候停下来",
    "苏晴在无线电里报了一串数字，声音很平",
)
_THEN = (
    "谁也没有开口。",
    "铁门合上了。",
    "我把手收回口袋。",
    "灯灭了一盏，又亮了。",
    "风从缝里钻进来。",
    "那张纸还在原处。",
    "我等了一会儿。",
)


_COMPASS = "\n\n　　青铜罗盘躺在抽屉里，指针卡在刻度七上，怎么拨都不肯动。我把它包进手帕，放回原处。"


def prose(seed: int, paragraphs: int) -> str:
    """Chinese prose, indented as books are; no two paragraphs of one seed are the same."""
    lines = []
    for n in range(paragraphs):
        first, second = _DOES[(seed + n) % 8], _DOES[(seed + 3 * n + 1) % 8]
        end = _THEN[(seed * 3 + n) % 7]
        lines.append(f"　　这是第{seed}日的第{n + 1}个时辰。{first}，{second}。{end}")
    return "\n\n".join(lines)


def chapters(many: int, *, last: int = 12) -> tuple[Document, ...]:
    """Chapters of a few paragraphs; the last one as long as asked for."""
    return tuple(
        Document(
            id=f"ch-{n:02}",
            title=f"第{n}章",
            text=prose(n, last if n == many else 6) + (_COMPASS if n == 3 else ""),
            synopsis=f"第{n}日，林远沿着旧水道往下走，又找到一段被抹去的航行记录。",
        )
        for n in range(1, many + 1)
    )


RULES = (
    Constraint(id="c-1", text="严格第一人称叙述", kind=ConstraintKind.NARRATIVE, priority=90),
    Constraint(
        id="c-2", text="林远性格冷静，不会大声喊叫", kind=ConstraintKind.CHARACTER, origin=ConstraintOrigin.GRAPH
    ),
    Constraint(id="c-3", text="本世界没有魔法", kind=ConstraintKind.WORLD, priority=80),
)
PREFERENCES = (Preference("m-1", "动作场景偏好短句", 0.9), Preference("m-2", "对白之后少用副词", 0.6))
ENTRIES = (
    Entry(
        id="linyuan",
        type="character",
        name="林远",
        level=Level.ALWAYS,
        description="水道测绘员，性格冷静，左手有旧伤。",
    ),
    Entry(id="shenmo", type="character", name="沈默", description="守闸人，话极少，灯从不离手。"),
    Entry(id="suqing", type="character", name="苏晴", description="电台值班员，数字过耳不忘。"),
)


def story(
    *,
    documents: Sequence[Document] = (),
    constraints: Iterable[Constraint] | None = RULES,
    preferences: Sequence[Preference] = PREFERENCES,
    entries: Sequence[Entry] = ENTRIES,
    episodes: Sequence[MemoryNote] = (),
    person: str = "第一人称",
) -> View:
    """The Chinese story, with whatever of it a test wants changed."""
    manuscript = Manuscript(tuple(documents) or chapters(10))
    corpus = make_corpus(PROJECT, manuscript)
    corpus.build_index()
    snapshots: dict[type, object] = {
        Manuscript: manuscript,
        Corpus: corpus,
        Direction: Direction(kind="长篇小说", person=person),
        Memory: Memory(PROJECT, preferences=preferences, episodes=episodes),
        Codex: Codex(PROJECT, "zh", entries),
    }
    if constraints is not None:
        snapshots[Constraints] = Constraints(PROJECT, constraints)
    return View(Project(id=PROJECT, title="旧水道", language="zh"), manuscript.timeline(), snapshots)


def ask(**wishes: object) -> Request:
    """A request to continue the story."""
    usual = Request(project_id=PROJECT, document_id="ch-10", skill_id="continue", window=WINDOW)
    return replace(usual, **wishes)


def engine(*, instead: Sequence[Source] = (), settings: EngineSettings = DEFAULT_SETTINGS) -> Engine:
    """The assembler's sources, some of them replaced by name."""
    by_name: dict[str, Source] = {source.name: source for source in all_sources()}
    by_name |= {source.name: source for source in instead}
    return Engine(by_name.values(), settings=settings)


class Failing(Struct, frozen=True, kw_only=True):
    """A source that raises, in an assembly and in a dry run."""

    name: str
    unavailable_code: Code = Code.SOURCE_UNAVAILABLE
    blocking: bool = False
    runs_first: bool = False

    def fragments(self, ask: SourceRequest, view: View) -> Iterable[Fragment]:
        raise ConnectionError("the service is gone")

    def explain_omitted(self, ask: SourceRequest, view: View) -> Iterable[Verdict]:
        raise ConnectionError("the service is gone")


def rule(text: str, *, source: str = "constraint:given", tier: Tier = Tier.USER) -> Fragment:
    return Fragment(source=source, layer=Layer.RULES, text=text, project_id=PROJECT, part=Part.CONSTRAINT, tier=tier)


def setting(text: str, score: float = 0.5, *, source: str = "") -> Fragment:
    return Fragment(
        source=source or f"memory:{text[:12]}", layer=Layer.SETTINGS, text=text, project_id=PROJECT, score=score
    )


def chunk(text: str, score: float, *, source: str = "", project: str = PROJECT) -> Fragment:
    return Fragment(
        source=source or f"search:{text[:12]}", layer=Layer.RETRIEVED, text=text, project_id=project, score=score
    )


def make_message(number: int, text: str) -> Fragment:
    """One message of a conversation; odd ones are the user's."""
    return Fragment(
        source=f"history:{number}",
        layer=Layer.IMMEDIATE,
        text=text,
        project_id=PROJECT,
        part=Part.HISTORY,
        role="user" if number % 2 else "assistant",
    )


@cache
def sized(tokens: int, *, seed: int = 1, model: str = "gpt-4o") -> str:
    """Prose of about so many tokens, never more."""
    count = find_model(model).tokenizer().count
    lines: list[str] = []
    used = 0
    for n in range(10_000):
        line = f"{_DOES[(seed + n) % 8]}，这是{seed}号卷宗的第{n}行。{_THEN[(seed + n) % 7]}"
        cost = count(line + "\n")
        if used + cost > tokens:
            break
        lines.append(line)
        used += cost
    return "\n".join(lines)


def verdicts(result: Result, layer: Layer | None = None) -> dict[str, Verdict]:
    """What became of each source."""
    return {verdict.source: verdict for verdict in result.trace if layer is None or verdict.layer is layer}


def included(result: Result) -> set[str]:
    """The sources that are in the prompt, whole or in part."""
    return {verdict.source for verdict in result.trace if verdict.included}


def codes(result: Result) -> list[str]:
    """The codes of the warnings."""
    return [warning.partition(":")[0] for warning in result.warnings]


def check_result(result: Result) -> None:
    """What is true of every result: it is counted as sent, and within its budget."""
    counted = count_whole(result.messages, result.model.tokenizer())
    if result.exact:
        assert result.token_count == counted + result.rendered.overhead
    assert result.token_count <= result.budget.total
    assert list(result.layers) == list(Layer)
    assert result.prompt == "\n\n".join(message.content for message in result.messages)


_WHAT_TO_DO = re.compile(
    r"\b(add|ask|check|choose|delete|did you mean|give|it has|keep|leave|load|merge|move|name|narrow|open|raise|remove"
    r"|rename|select|send|shorten|switch|the nearest|there are|try|use|must|may|belongs|write)\b",
    re.IGNORECASE,
)


def refused(code: Code, call: Callable[[], object]) -> FabulaError:
    """The call is refused with that code, and the sentence tells a person what to do."""
    with pytest.raises(FabulaError) as caught:
        call()
    error = caught.value
    assert error.code is code, str(error)
    assert str(error) == f"{code.value}: {error.sentence}"
    helpful(error.sentence)
    return error


def attempt(call: Callable[[], Result]) -> Result | FabulaError:
    """Where both an answer and a refusal would do: whichever comes."""
    try:
        return call()
    except FabulaError as error:
        return error


def warned(code: Code, result: Result) -> str:
    """The result carries that warning once, in a sentence; gives back the sentence."""
    found = [warning for warning in result.warnings if warning.startswith(f"{code.value}: ")]
    assert len(found) == 1, result.warnings
    sentence = found[0].removeprefix(f"{code.value}: ")
    if sentence.isascii():
        helpful(sentence)
    assert len(sentence) >= 6, f"too short to help anybody: {sentence!r}"
    return sentence


def helpful(sentence: str) -> None:
    """A sentence is more than a code in other words: it says what to do."""
    assert len(sentence) >= 30, f"too short to help anybody: {sentence!r}"
    assert sentence.rstrip().endswith((".", "?")), f"not a sentence: {sentence!r}"
    assert _WHAT_TO_DO.search(sentence), f"it does not say what to do: {sentence!r}"

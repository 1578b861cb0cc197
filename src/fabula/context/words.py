"""The engine's own words, in the project's language: headings, marks and warnings."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fabula.core.errors import Code
from fabula.core.view import Language


class Words(Struct, frozen=True, kw_only=True):
    """Everything the engine itself writes into a prompt or says beside it."""

    identity: str
    constraints: str
    rules: str
    settings: str
    retrieved: str
    late: str
    window: str
    left_out: str
    after: str
    desk: str
    not_yet: str
    first_turn: str
    image: str
    file: str
    unavailable: Mapping[Code, str]


_ENGLISH = Words(
    identity=(
        "You are the writing companion of this story's author. You know the craft: scene and summary, "
        "point of view, subtext, rhythm, the concrete detail that carries a feeling. You keep to the story's "
        "facts, its voice and its rules; you never reveal what the story has not revealed yet; what you are not "
        "told, you do not invent as established fact. The role you take this time is named at the end."
    ),
    constraints="[Writing constraints - do not break]",
    rules="[Project rules]",
    settings="[Preferences and style]",
    retrieved="[What may matter here]",
    late="[Also in this scene]",
    window="[The text up to the cursor]",
    left_out="[…]",
    after="[The text after the cursor]",
    desk="[On the desk; it may not be relevant, judge for yourself]",
    not_yet="(not to be revealed yet) ",
    first_turn="[Begin]",
    image="[Image: {name}] {description}",
    file="[File: {name}] {description}",
    unavailable={
        Code.KG_UNAVAILABLE: "the codex could not be read and was left out",
        Code.MEMORY_UNAVAILABLE: "memory could not be read and was left out",
        Code.RETRIEVAL_UNAVAILABLE: "search did not answer and was left out",
        Code.EDITOR_UNAVAILABLE: "the text being edited could not be read and was left out",
        Code.SOURCE_UNAVAILABLE: "the source {name} could not be read and was left out",
    },
)

_CHINESE = Words(
    identity=(
        "你是这部作品作者的写作伙伴，熟悉小说的手艺：场面与概述、视角、潜台词、节奏，以及承载情感的具体细节。"
        "你忠于作品的事实、语调与规则；作品尚未揭示的，你绝不透露；没有告诉你的，你不当作既定事实来编造。"
        "你这一次的角色在最后说明。"
    ),
    constraints="[创作约束 - 不可违反]",
    rules="[项目规则]",
    settings="[偏好与风格]",
    retrieved="[此处可能相关]",
    late="[本场景另外涉及]",
    window="[光标之前的正文]",
    left_out="[……]",
    after="[光标之后的正文]",
    desk="[案头状态，未必相关，请自行判断]",
    not_yet="（尚不可揭示）",
    first_turn="[开始]",
    image="[图片：{name}] {description}",
    file="[文件：{name}] {description}",
    unavailable={
        Code.KG_UNAVAILABLE: "知识图谱数据未注入",
        Code.MEMORY_UNAVAILABLE: "记忆数据未注入",
        Code.RETRIEVAL_UNAVAILABLE: "检索结果未注入",
        Code.EDITOR_UNAVAILABLE: "编辑器内容未注入",
        Code.SOURCE_UNAVAILABLE: "来源 {name} 的数据未注入",
    },
)

WORDS: Mapping[Language, Words] = {"en": _ENGLISH, "zh": _CHINESE}

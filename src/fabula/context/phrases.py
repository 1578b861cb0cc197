"""The engine's own texts in both languages: identity prompt (ctx-3), headings, marks and warnings."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fabula.core.errors import Code
from fabula.core.view import Language


class Phrases(Struct, frozen=True, kw_only=True):
    """Every text the engine writes into a prompt or into a warning, in one language."""

    identity: str
    constraints: str
    rules: str
    settings: str
    retrieved: str
    late: str
    window: str
    left_out: str
    after: str
    editor_state: str
    not_revealed: str
    first_turn: str
    image: str
    file: str
    nearest: str
    warnings: Mapping[Code, str]
    attachment_reasons: Mapping[str, str]  # why an attachment was neither sent nor described

    def format_warning(self, code: Code, **values: object) -> str:
        """A warning as results carry it: its code, what happened, and what to do."""
        return f"{code.value}: {self.warnings[code].format(**values)}"

    def format_unavailable(self, code: Code, name: str) -> str:
        """The warning that a source failed. It names the source, unless the code stands for that source alone."""
        sentence = self.warnings.get(code, self.warnings[Code.SOURCE_UNAVAILABLE]).format(name=name)
        named = code not in self.warnings or _USUAL_SOURCES.get(code, name) == name
        return f"{code.value}: {sentence}" if named else f"{code.value}: {sentence} ({name})"


_USUAL_SOURCES = {
    Code.KG_UNAVAILABLE: "codex",
    Code.MEMORY_UNAVAILABLE: "memory",
    Code.RETRIEVAL_UNAVAILABLE: "search",
    Code.EDITOR_UNAVAILABLE: "editor",
}


_ENGLISH = Phrases(
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
    editor_state="[On the desk; it may not be relevant, judge for yourself]",
    not_revealed="(not to be revealed yet) ",
    first_turn="[Begin]",
    image="[Image: {name}] {description}",
    file="[File: {name}] {description}",
    nearest=" Did you mean {near!r}?",
    warnings={
        Code.KG_UNAVAILABLE: "The codex could not be read and was left out. Ask again; `fabula doctor` may tell why.",
        Code.MEMORY_UNAVAILABLE: "Memory could not be read and was left out. Ask again; `fabula doctor` may tell why.",
        Code.RETRIEVAL_UNAVAILABLE: "Search did not answer and was left out. Ask again; `fabula doctor` may tell why.",
        Code.EDITOR_UNAVAILABLE: "The text being edited could not be read and was left out. Save it, and ask again.",
        Code.SOURCE_UNAVAILABLE: "The source {name} could not be read and was left out. Ask again, or check it.",
        Code.BUDGET_FALLBACK: "Counts are cautious and less fits, because {why}. Check it, or name another encoding.",
        Code.RULES_OVERBUDGET: (
            "Rules need {cost} tokens and their line is {line}, so those that may go were left out as far as need be. "
            "Shorten or switch off some, or give rules a larger share."
        ),
        Code.FIXED_PROMPT_DROPPED: "{name} does not fit and was left out. Shorten it, or use a larger window.",
        Code.RETRIEVED_CHUNK_LIMIT: (
            "{count} chunks were offered and the best {limit} were kept. Narrow the search, or raise the limit."
        ),
        Code.NAME_UNKNOWN: "Nothing called {name!r} could be pulled in. Check the name, or its level.",
        Code.SOURCE_NOT_IN_RECIPE: (
            "No recipe names the source {name!r}, so it was not asked.{near} Add it to the sources of a recipe."
        ),
        Code.RECIPE_SOURCE_MISSING: (
            "The recipe {recipe!r} names the source {name!r}, which this engine does not have.{near} "
            "Add the source, or correct the recipe."
        ),
        Code.PRESET_ANCHOR_MISSING: (
            "{name} asks for the anchor {anchor!r}, which this preset does not have, and stands where it is listed. "
            "Add the anchor, or name another."
        ),
        Code.ATTACHMENT_DROPPED: "{name} was left out: {why}.",
    },
    attachment_reasons={
        "room": "there is no room for it; use a larger window",
        "image": "this model takes no images, and it has no description; describe it, or use another model",
        "file": "this model takes no files, and it has no description; describe it, or use another model",
        "nothing": "it has neither text nor description; give it one",
    },
)

_CHINESE = Phrases(
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
    editor_state="[案头状态，未必相关，请自行判断]",
    not_revealed="（尚不可揭示）",
    first_turn="[开始]",
    image="[图片：{name}] {description}",
    file="[文件：{name}] {description}",
    nearest="您是否想用“{near}”？",
    warnings={
        Code.KG_UNAVAILABLE: "知识图谱数据未注入",
        Code.MEMORY_UNAVAILABLE: "记忆数据未注入",
        Code.RETRIEVAL_UNAVAILABLE: "检索结果未注入",
        Code.EDITOR_UNAVAILABLE: "编辑器内容未注入",
        Code.SOURCE_UNAVAILABLE: "来源 {name} 的数据未注入",
        Code.BUDGET_FALLBACK: "计数改用保守估计，能放入的内容会变少（{why}）。请检查分词器，或指定别的编码。",
        Code.RULES_OVERBUDGET: (
            "规则需要 {cost} 个词元，上限是 {line}，可以让位的已按需省去。请精简或停用一些规则，或提高规则的份额。"
        ),
        Code.FIXED_PROMPT_DROPPED: "窗口放不下“{name}”，已省去。请缩短它，或使用更大的窗口。",
        Code.RETRIEVED_CHUNK_LIMIT: "提供了 {count} 个片段，只保留最好的 {limit} 个。请缩小检索范围，或提高上限。",
        Code.NAME_UNKNOWN: "没有名为“{name}”的内容可以加入。请检查名称，或它的级别。",
        Code.SOURCE_NOT_IN_RECIPE: "没有配方列出来源“{name}”，因此没有询问它。{near}请把它加入某个配方的来源。",
        Code.RECIPE_SOURCE_MISSING: "配方“{recipe}”列出的来源“{name}”不在此引擎中。{near}请添加该来源，或改正配方。",
        Code.PRESET_ANCHOR_MISSING: (
            "{name} 请求的锚点“{anchor}”不在此预设中，已留在列表原处。请添加该锚点，或改用别的锚点。"
        ),
        Code.ATTACHMENT_DROPPED: "“{name}”未附上：{why}。",
    },
    attachment_reasons={
        "room": "窗口放不下，请使用更大的窗口",
        "image": "该模型不接收图片，而它又没有说明；请为它写一段说明，或换用别的模型",
        "file": "该模型不接收文件，而它又没有说明；请为它写一段说明，或换用别的模型",
        "nothing": "它既没有正文也没有说明，请补上其一",
    },
)

PHRASES: Mapping[Language, Phrases] = {"en": _ENGLISH, "zh": _CHINESE}

"""A skill: a role and an instruction that stand at the end of a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fabula.core.story import Eyes
from fabula.core.view import Language


class Skill(Struct, frozen=True, kw_only=True):
    """One thing the model can be asked to do. `eyes` overrides whose knowledge it may use."""

    id: str
    says: Mapping[Language, str]
    eyes: Eyes | None = None


SKILLS = {
    skill.id: skill
    for skill in (
        Skill(
            id="continue",
            says={
                "en": "You are the writer. Continue the text from exactly where it stops, in its voice. "
                "Write prose only, without headings or comments.",
                "zh": "你现在是作者。从正文停下之处接着写，保持原有语调。只写正文，不加标题和说明。",
            },
        ),
        Skill(
            id="rewrite",
            says={
                "en": "You are the editor. Rewrite the selected text as asked, keeping its facts. "
                "Answer with the new text only.",
                "zh": "你现在是编辑。按要求改写选中的文字，保留事实。只给出改写后的文字。",
            },
        ),
        Skill(
            id="critique",
            eyes=Eyes.AUTHOR,
            says={
                "en": "You are the critic. Say what works in this text, what does not, and why, with quotations.",
                "zh": "你现在是评论者。指出这段文字哪里成立、哪里不成立以及原因，并引用原文。",
            },
        ),
        Skill(
            id="plan",
            eyes=Eyes.AUTHOR,
            says={
                "en": "You are the author's partner in planning. Propose what could happen next; you may use what is "
                "not revealed yet, and say so where you do.",
                "zh": "你现在是作者的构思伙伴。提出接下来可能发生的情节；可以使用尚未揭示的内容，用到时请说明。",
            },
        ),
        Skill(id="chat", says={"en": "", "zh": ""}),
    )
}

"""The engine's own texts in the project's language: identity prompt (ctx-3), headings, marks and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from fabula.core.errors import Code
from fabula.core.messages import Sentence, message

IDENTITY = message(
    "You are the writing companion of this story's author. You know the craft: scene and summary, "
    "point of view, subtext, rhythm, the concrete detail that carries a feeling. You keep to the story's "
    "facts, its voice and its rules; you never reveal what the story has not revealed yet; what you are not "
    "told, you do not invent as established fact. The role you take this time is named at the end."
)
NOT_REVEALED = message("(not to be revealed yet) ")
FIRST_TURN = message("[Begin]")
HEADINGS = {
    "constraints": message("[Writing constraints - do not break]"),
    "rules": message("[Project rules]"),
    "fixed_prompts": message("[To keep in mind in this conversation]"),
    "settings": message("[Preferences and style]"),
    "retrieved": message("[What may matter here]"),
    "late": message("[Also in this scene]"),
    "earlier_end": message("[End of what was said earlier]"),
    "window": message("[The text up to the cursor]"),
    "left_out": message("[…]"),
    "after": message("[The text after the cursor]"),
    "editor_state": message("[On the desk; it may not be relevant, judge for yourself]"),
}
WARNINGS = {
    Code.KG_UNAVAILABLE: message(
        "The codex could not be read, so the prompt goes without it. Try again; a check of the store may tell why."
    ),
    Code.MEMORY_UNAVAILABLE: message(
        "Memory could not be read, so the prompt goes without it. Try again; a check of the store may tell why."
    ),
    Code.RETRIEVAL_UNAVAILABLE: message(
        "Search did not answer, so the prompt goes without it. Try again; a check of the store may tell why."
    ),
    Code.EDITOR_UNAVAILABLE: message(
        "The text being edited could not be read, so the prompt goes without it. Save it, and try again."
    ),
    Code.SOURCE_UNAVAILABLE: message(
        "The source {name} could not be read ({error}), so the prompt goes without it. Try again, or check the source."
    ),
    Code.BUDGET_FALLBACK: message(
        "Tokens are counted cautiously and less text fits, because {why}. Check it, or name another encoding."
    ),
    Code.RULES_OVERBUDGET: message(
        "The rules need {cost} tokens and their limit is {line}, so less important ones were left out. "
        "Shorten or switch off some rules, or give rules a larger share."
    ),
    Code.FIXED_PROMPT_DROPPED: message(
        "{name} does not fit into the window and was left out. Shorten it, or use a larger window."
    ),
    Code.RETRIEVED_CHUNK_LIMIT: message(
        "{count} passages and entries were offered, and the best {limit} were kept. "
        "Narrow the search, or raise the limit."
    ),
    Code.NAME_UNKNOWN: message("Nothing called {name!r} could be included. Check the name, or the level of the entry."),
    Code.INCLUDE_HIDDEN: message(
        "{name} was to be included and is not in the prompt: {why}. Change that, or do not include it."
    ),
    Code.SOURCE_NOT_IN_RECIPE: message(
        "No recipe names the source {name!r}, so it was not asked.{near} Add it to the sources of a recipe."
    ),
    Code.RECIPE_SOURCE_MISSING: message(
        "The recipe {recipe!r} names the source {name!r}, which this engine does not have.{near} "
        "Add the source, or correct the recipe."
    ),
    Code.PRESET_ANCHOR_MISSING: message(
        "{name} asks for the anchor {anchor!r}, which this preset does not have, and stands where it is listed. "
        "Add the anchor, or name another."
    ),
    Code.MACRO_UNKNOWN: message(
        "{names} means nothing here and stands in the prompt as it is written. Take it out of the text, or leave it."
    ),
    Code.ATTACHMENT_DROPPED: message("{name} was left out: {why}."),
    Code.SPEAKER_ABSENT: message("The prompt is for {name}, who {why}."),
}
_USUAL_SOURCES = {
    Code.KG_UNAVAILABLE: "codex",
    Code.MEMORY_UNAVAILABLE: "memory",
    Code.RETRIEVAL_UNAVAILABLE: "search",
    Code.EDITOR_UNAVAILABLE: "editor",
}


class Phrases(Struct, frozen=True, kw_only=True):
    """The texts the engine writes into a prompt, and its warnings, in one language."""

    language: str
    identity: str
    headings: Mapping[str, str]
    not_revealed: str
    first_turn: str

    def format_warning(self, code: Code, **values: object) -> str:
        """A warning as results carry it: its code, what happened, and what to do."""
        return f"{code.value}: {Sentence(WARNINGS[code].template, values).render(self.language)}"

    def format_unavailable(self, code: Code, name: str, error: str = "") -> str:
        """The warning that a source failed, with the type of the error.

        It names the source, unless the code stands for that source alone.
        """
        values = {"name": name, "error": error}
        sentence = Sentence(WARNINGS.get(code, WARNINGS[Code.SOURCE_UNAVAILABLE]).template, values)
        is_named = code not in WARNINGS or _USUAL_SOURCES.get(code, name) == name
        return f"{code.value}: {sentence.render(self.language)}" + ("" if is_named else f" ({name})")


@cache
def load_phrases(language: str) -> Phrases:
    """The engine's texts in a language."""
    return Phrases(
        language=language,
        identity=IDENTITY.render(language),
        headings={name: heading.render(language) for name, heading in HEADINGS.items()},
        not_revealed=NOT_REVEALED.render(language),
        first_turn=FIRST_TURN.render(language),
    )

"""Conditions of preset messages: keywords, patterns, counts, chance, sticky and cooldown (inj-6).

A message whose condition does not hold does not exist for this request, and costs no budget. The
caller passes in everything a condition depends on, also since when a message is active. Chance is
seeded by names and counts, so the same request gives the same answer. Sticky and cooldown count
messages, not time: a message that became active at message 5 with sticky 3 is active at 6 and 7 too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from random import Random
from typing import Literal

import msgspec
from msgspec import Struct

from fabula.core.messages import Sentence, join_alternatives, join_names, message
from fabula.text.js_regex import JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex
from fabula.text.word_boundaries import contains_word

MAX_KEYWORD_CHARACTERS = 200
MAX_KEYWORDS = 200
MAX_PATTERN_CHARACTERS = 1000
MAX_SEARCHED_CHARACTERS = 100_000  # of each text: a pattern is searched in its end
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)


class Condition(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The condition of a message: every field that is set must hold; a default requires nothing."""

    keywords: tuple[str, ...] = ()
    logic: Literal["any", "all", "none"] = "any"
    pattern: str = ""
    case_sensitive: bool = False
    scan_depth: int | None = None  # newest messages to search, the input being one; None: the text nearby
    min_messages: int | None = None
    max_messages: int | None = None
    modes: tuple[str, ...] = ()  # names of recipes, skills, modes of conversation
    models: tuple[str, ...] = ()  # names, * matching any rest
    probability: float = 100.0  # percent
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    group: str = ""  # of the conditions of a group that hold, one is drawn
    group_weight: int = 100

    def find_flaw(self) -> Sentence | None:
        """Describe what is invalid about the condition; None when it can be used."""
        if len(self.keywords) > MAX_KEYWORDS or any(len(word) > MAX_KEYWORD_CHARACTERS for word in self.keywords):
            return message(
                "it has more than {words} keywords, or one longer than {characters} characters",
                words=MAX_KEYWORDS,
                characters=MAX_KEYWORD_CHARACTERS,
            )
        if any(not word.strip() for word in self.keywords):
            return message("one of its keywords is empty")
        counts = (self.scan_depth, self.min_messages, self.max_messages, self.sticky, self.cooldown, self.delay)
        if any(count is not None and not 0 <= count <= 1_000_000 for count in (*counts, self.group_weight)):
            return message("its counts must be from 0 to 1,000,000")
        if self.min_messages is not None and self.max_messages is not None and self.min_messages > self.max_messages:
            return message("it asks for more messages than it allows")
        if not 0 <= self.probability <= 100:
            return message(
                "its probability is {probability}; give a percentage from 0 to 100", probability=self.probability
            )
        if len(self.pattern) > MAX_PATTERN_CHARACTERS:
            return message("its pattern is longer than {characters} characters", characters=MAX_PATTERN_CHARACTERS)
        regex = _compile(self.pattern, ignore_case=not self.case_sensitive) if self.pattern else None
        return message("its pattern cannot be used: {problem}", problem=regex) if isinstance(regex, Sentence) else None


class ConditionContext(Struct, frozen=True, kw_only=True):
    """What conditions depend on."""

    project_id: str
    scope: str  # the conversation, or the document
    messages: Sequence[str] = ()  # the conversation with the input, oldest first
    nearby_texts: Sequence[str] = ()
    modes: frozenset[str] = frozenset()
    model: str = ""
    active_since: Mapping[str, int] = {}  # by message and condition: the message count at which it became active

    @property
    def message_count(self) -> int:
        """How many messages there are, the input counting as one."""
        return len(self.messages)


class ConditionResult(Struct, frozen=True):
    """Which conditions hold, why the others do not, and the state for the next request."""

    met: frozenset[str]
    unmet: Mapping[str, Sentence]
    active_since: Mapping[str, int]


def evaluate_conditions(conditions: Mapping[str, Condition], context: ConditionContext) -> ConditionResult:
    """Evaluate every condition, by the name of its message."""
    unmet: dict[str, Sentence] = {}
    active_since: dict[str, int] = {}
    sticky: set[str] = set()
    met: list[str] = []
    count = context.message_count
    for name, condition in conditions.items():
        began = context.active_since.get(_state_key(name, condition))
        elapsed = None if began is None else count - began
        ends = condition.sticky + condition.cooldown
        if elapsed is not None and 0 < elapsed < condition.sticky:
            sticky.add(name)
            met.append(name)
        elif elapsed is not None and 0 < elapsed < ends:
            wanted = count - elapsed + ends
            unmet[name] = message(
                "it rests until there are {wanted} messages, and there are {count}", wanted=wanted, count=count
            )
        elif reason := _explain_unmet(name, condition, context):
            unmet[name] = reason
            continue
        else:
            met.append(name)
            began = count
        if began is not None and ends:
            active_since[_state_key(name, condition)] = began
    for name, winner in _draw_groups(conditions, met, sticky, context).items():
        met.remove(name)
        unmet[name] = message(
            "{winner} was drawn from the group {group!r}", winner=winner, group=conditions[name].group
        )
        active_since.pop(_state_key(name, conditions[name]), None)
    return ConditionResult(frozenset(met), unmet, active_since)


def _state_key(name: str, condition: Condition) -> str:
    """The key of a message's state; an edited condition gets another."""
    return f"{name}#{sha256(msgspec.json.encode(condition)).hexdigest()[:12]}"


def _explain_unmet(name: str, condition: Condition, context: ConditionContext) -> Sentence | None:
    """Why a condition does not hold, the cheapest check first; None where it holds."""
    count, least, most = context.message_count, condition.min_messages, condition.max_messages
    if count < condition.delay:
        return message("it waits for {wanted} messages, and there are {count}", wanted=condition.delay, count=count)
    if least is not None and count < least:
        return message("it asks for {wanted} messages or more, and there are {count}", wanted=least, count=count)
    if most is not None and count > most:
        return message("it asks for {wanted} messages or fewer, and there are {count}", wanted=most, count=count)
    if condition.modes and context.modes.isdisjoint(condition.modes):
        wanted, modes = join_alternatives(condition.modes), join_names(sorted(context.modes))
        return message("it is for {wanted}, and this is {modes}", wanted=wanted, modes=modes)
    if condition.models and not any(fnmatchcase(context.model, model) for model in condition.models):
        wanted = join_alternatives(condition.models)
        return message("it is for {wanted}, and the model is {model}", wanted=wanted, model=context.model)
    if reason := _explain_no_match(condition, context):
        return reason
    drawn = 0.0 if condition.probability >= 100 else _seeded_random(context, name).random() * 100
    if drawn >= condition.probability:
        return message(
            "chance drew {drawn:.0f}, and it comes in below {limit:g}", drawn=drawn, limit=condition.probability
        )
    return None


def _explain_no_match(condition: Condition, context: ConditionContext) -> Sentence | None:
    """Why keywords and pattern do not match; None where they do."""
    depth, messages = condition.scan_depth, context.messages
    texts = context.nearby_texts if depth is None else messages[max(len(messages) - depth, 0) :]
    ignore_case = not condition.case_sensitive
    if condition.keywords:
        searched = [text.lower() for text in texts] if ignore_case else texts
        found = [word for word in condition.keywords if _is_mentioned(word.strip(), searched, ignore_case)]
        if condition.logic == "none" and found:
            return message("{word!r} is mentioned", word=found[0])
        if condition.logic == "any" and not found:
            return message("none of its keywords is mentioned")
        if condition.logic == "all" and len(found) < len(condition.keywords):
            missing = next(word for word in condition.keywords if word not in found)
            return message("{word!r} is not mentioned", word=missing)
    if not condition.pattern:
        return None
    regex, work = _compile(condition.pattern, ignore_case=ignore_case), WorkBudget()
    if isinstance(regex, Sentence):
        return message("its pattern cannot be used: {problem}", problem=regex)
    try:
        matched = any(regex.is_found_in(RegexText(text[-MAX_SEARCHED_CHARACTERS:]), work) for text in texts)
    except TooMuchWorkError:
        return message("looking for its pattern here would take too long, so it counts as not found")
    return None if matched else message("its pattern does not occur")


def _is_mentioned(word: str, texts: Sequence[str], ignore_case: bool) -> bool:
    word = word.lower() if ignore_case else word
    return any(contains_word(text, word) for text in texts)


def _draw_groups(
    conditions: Mapping[str, Condition], met: Sequence[str], sticky: set[str], context: ConditionContext
) -> dict[str, str]:
    """Draw one message of each group; return the losers with their winner. A sticky one loses to sticky ones only."""
    groups: dict[str, list[str]] = {}
    for name in met:
        if conditions[name].group:
            groups.setdefault(conditions[name].group, []).append(name)
    losers: dict[str, str] = {}
    for group, names in groups.items():
        running = [name for name in names if name in sticky] or names
        weights = [conditions[name].group_weight for name in running]
        random = _seeded_random(context, f"group:{group}")
        winner = random.choices(running, weights)[0] if any(weights) else running[0]
        losers |= {name: winner for name in names if name != winner}
    return losers


def _seeded_random(context: ConditionContext, name: str) -> Random:
    return Random("\x1f".join((context.project_id, context.scope, str(context.message_count), name)))


def _compile(pattern: str, *, ignore_case: bool) -> JsRegex | Sentence:
    """Compile a pattern, bare or between slashes with flags of its own; a text says why it cannot be."""
    slashed = _SLASHED.fullmatch(pattern)
    return compile_regex(slashed[1], slashed[2]) if slashed else compile_regex(pattern, "i" if ignore_case else "")

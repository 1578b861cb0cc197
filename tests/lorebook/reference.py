"""A second, simple implementation of SillyTavern's activation, to compare the real one with.

It shares nothing with `fabula.lorebook`: a case is plain data, and regular expressions are Python's. It supports
only what the cases need (one global book, no filters, no decorators, no texts besides the chat).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

Entry = Mapping[str, Any]
Effects = dict[str, dict[int, tuple[int, int, bool]]]
_COUNT: dict[str, Callable[[str], int]] = {"words": lambda text: len(text.split()), "codepoints": len}
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "g": 0, "u": 0}


def compute_answers(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What SillyTavern would say, a turn at a time."""
    effects: Effects = {"sticky": {}, "cooldown": {}}
    said: list[Mapping[str, str]] = []
    told = []
    for messages in (case["messages"], *case["more"]):
        said = [*said, *messages]
        told.append(_Turn(case, said, effects).answer())
    return told


def _sorted(entries: Sequence[Entry]) -> list[Entry]:
    """By descending order; an absent one makes every comparison a tie."""

    def compare(one: Entry, other: Entry) -> int:
        return int(other["order"] - one["order"]) if "order" in one and "order" in other else 0

    return sorted(entries, key=cmp_to_key(compare))


def _pattern(source: str, flags: str) -> re.Pattern[str] | None:
    """A pattern that means the same in JavaScript and Python; None for one that is broken."""
    try:
        return re.compile(source, sum(_FLAGS[flag] for flag in flags) | re.ASCII * ("i" not in flags))
    except re.error:
        return None


class _Turn:
    def __init__(self, case: Mapping[str, Any], said: Sequence[Mapping[str, str]], effects: Effects) -> None:
        self.settings, self.length, self.effects = case["settings"], len(said), effects
        named = self.settings["include_names"]
        lines = [f"{one['name']}: {one['mes']}" if named else one["mes"] for one in reversed(said)]
        self.lines = [line.strip() for line in lines]
        self.entries = _sorted(list(case["book"]["entries"].values()))
        self.queue, self.count = list(case["random"]), _COUNT[case["tokenizer"]]
        share = int(self.settings["budget"] * case["max_context"] / 100 + 0.5) or 1
        cap = self.settings["budget_cap"]
        self.budget = cap if 0 < cap < share else share
        self.active: list[Entry] = []
        self.failed: set[int] = set()
        self.buffer: list[str] = []
        self.overflow = False
        self.skew, self.kind, self.level = 0, "first", 0

    def answer(self) -> dict[str, Any]:
        self.begin_effects()
        self.passes()
        self.start_effects()
        return self.placed()

    def random(self) -> float:
        return self.queue.pop(0) if self.queue else 0.5

    # Timed effects.

    def begin_effects(self) -> None:
        by_uid = {entry["uid"]: entry for entry in self.entries}
        for kind in ("sticky", "cooldown"):
            for uid, (start, end, protected) in list(self.effects[kind].items()):
                if self.length <= start and not protected:
                    del self.effects[kind][uid]
                elif self.length >= end:
                    del self.effects[kind][uid]
                    rest = by_uid[uid].get("cooldown")
                    if kind == "sticky" and rest:
                        self.effects["cooldown"][uid] = (self.length, self.length + rest, True)

    def start_effects(self) -> None:
        for entry in self.active:
            for kind in ("sticky", "cooldown"):
                if entry.get(kind) and entry["uid"] not in self.effects[kind]:
                    self.effects[kind][entry["uid"]] = (self.length, self.length + entry[kind], False)

    def sticky(self, entry: Entry) -> bool:
        return entry["uid"] in self.effects["sticky"]

    # Passes.

    def passes(self) -> None:
        levels = sorted({int(entry["delayUntilRecursion"]) for entry in self.entries if "delayUntilRecursion" in entry})
        self.level = levels.pop(0) if levels else 0
        done, most = 0, self.settings["max_recursion_steps"]
        while not most or done < most:
            done += 1
            fresh = self.one_pass()
            kind = self.another(fresh)
            if kind is None and levels:
                self.level, kind = levels.pop(0), "recursion"
            if kind is None:
                return
            self.skew += kind == "minimum"
            self.kind = kind

    def another(self, fresh: bool) -> str | None:
        settings = self.settings
        if self.overflow:
            return None
        if settings["recursive"] and (fresh or (self.kind == "minimum" and self.buffer)):
            return "recursion"
        depth, deepest = settings["depth"] + self.skew, settings["min_activations_depth_max"]
        wanted = len(self.active) < settings["min_activations"]
        if wanted and not (deepest and depth > deepest) and depth <= self.length:
            return "minimum"
        return None

    def one_pass(self) -> bool:
        found = [entry for entry in self.entries if self.enters(entry)]
        found = [entry for entry in found if self.sticky(entry)] + [entry for entry in found if not self.sticky(entry)]
        self.groups(found)
        before = self.count("".join(text + "\n" for text in self.buffer))
        running, told = "", []
        for entry in found:
            if self.overflow and not entry.get("ignoreBudget"):
                told.append(entry)
                continue
            if not self.lucky(entry):
                self.failed.add(entry["uid"])
                continue
            running += entry["content"] + "\n"
            told.append(entry)
            if not entry.get("ignoreBudget") and before + self.count(running) >= self.budget:
                self.overflow = True
                continue
            self.active.append(entry)
        texts = [entry["content"] for entry in told if not entry.get("preventRecursion")]
        if texts:
            self.buffer.append("\n".join(texts))
        return bool(texts)

    def lucky(self, entry: Entry) -> bool:
        chance = entry.get("probability")
        if not entry.get("useProbability") or chance == 100 or self.sticky(entry):
            return True
        rolled = self.random() * 100
        return chance is not None and rolled <= chance

    # The gate.

    def enters(self, entry: Entry) -> bool:
        uid, sticky = entry["uid"], self.sticky(entry)
        if entry in self.active or uid in self.failed or entry.get("disable"):
            return False
        if self.length < entry.get("delay", 0) or (uid in self.effects["cooldown"] and not sticky):
            return False
        recursion, level = self.kind == "recursion", int(entry.get("delayUntilRecursion", 0))
        if level and not sticky and not (recursion and level <= self.level):
            return False
        if recursion and self.settings["recursive"] and entry.get("excludeRecursion") and not sticky:
            return False
        return bool(entry.get("constant")) or sticky or self.mentioned(entry)

    def mentioned(self, entry: Entry) -> bool:
        text = self.text(entry, buffer=self.kind != "minimum")
        first, second = self.hits(entry, "key", text), self.hits(entry, "keysecondary", text)
        if not any(first):
            return False
        if not entry.get("selective") or not second:
            return True
        return (any(second), not all(second), not any(second), all(second))[entry.get("selectiveLogic", 0)]

    def hits(self, entry: Entry, field: str, text: str | None) -> list[bool]:
        keys = [key.strip() for key in entry.get(field, ())]
        return [text is not None and self.hit(key, entry, text) for key in keys]

    def hit(self, key: str, entry: Entry, text: str) -> bool:
        slashed = re.fullmatch(r"/((?:\\.|[^/\\])+)/([gimsu]*)", key)
        if slashed and (pattern := _pattern(slashed[1], slashed[2])):
            return pattern.search(text) is not None
        if not entry.get("caseSensitive", self.settings["case_sensitive"]):
            key, text = key.lower(), text.lower()
        if not key or not entry.get("matchWholeWords", self.settings["match_whole_words"]) or " " in key:
            return bool(key) and key in text
        return re.search(rf"(?:^|\W){re.escape(key)}(?:$|\W)", text, re.ASCII) is not None

    def text(self, entry: Entry, *, buffer: bool) -> str | None:
        depth = entry.get("scanDepth", self.settings["depth"] + self.skew)
        if depth <= 0:
            return None
        return "\n".join("\x01" + part for part in (*self.lines[:depth], *(self.buffer if buffer else ())))

    # Groups.

    def groups(self, found: list[Entry]) -> None:
        groups: dict[str, list[Entry]] = {}
        for entry in found:
            for name in dict.fromkeys(re.split(r",\s*", entry.get("group", ""))):
                if name:
                    groups.setdefault(name, []).append(entry)

        def drop(entry: Entry) -> None:
            # Who is gone already takes the last one along.
            if entry in found:
                found.remove(entry)
            elif found:
                found.pop()

        held = {name for name, those in groups.items() if any(map(self.sticky, those))}
        for name, those in groups.items():
            for entry in those:
                if name in held and not self.sticky(entry):
                    drop(entry)
            for entry in those:
                if entry["uid"] in self.effects["cooldown"]:
                    drop(entry)
        free = {name: those for name, those in groups.items() if name not in held}
        for those in free.values():
            scores = {entry["uid"]: self.score(entry) for entry in those}
            for entry in list(those):
                if self.scored(entry) and scores[entry["uid"]] < max(scores.values()):
                    drop(entry)
                    those.remove(entry)
        for name, those in free.items():
            if any(name == entry.get("group") for entry in self.active):
                losers = those
            elif len(those) > 1:
                winner = self.winner(those)
                losers = [entry for entry in those if entry is not winner]
            else:
                losers = []
            for entry in losers:
                drop(entry)

    def winner(self, those: Sequence[Entry]) -> Entry:
        first = [entry for entry in those if entry.get("groupOverride")]
        if first:
            return _sorted(first)[0]
        weights = [entry.get("groupWeight", 100) for entry in those]
        mark, walked = self.random() * sum(weights), 0
        for entry, weight in zip(those, weights, strict=True):
            walked += weight
            if mark <= walked:
                return entry
        return those[-1]

    def scored(self, entry: Entry) -> bool:
        return bool(entry.get("useGroupScoring", self.settings["use_group_scoring"]))

    def score(self, entry: Entry) -> int:
        text = self.text(entry, buffer=True)
        first, second = self.hits(entry, "key", text), self.hits(entry, "keysecondary", text)
        if not first:
            return 0
        logic = entry.get("selectiveLogic", 0)
        return sum(first) + (sum(second) if logic == 0 or (logic == 3 and all(second)) else 0)

    # Places.

    def placed(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"activated": [entry["uid"] for entry in self.active]}
        flat: dict[int, list[str]] = {0: [], 1: [], 2: [], 3: []}
        answer |= {"depth": [], "em": [], "outlets": {}}
        for entry in _sorted(self.active):
            text, position = entry["content"], entry.get("position", 0)
            if not text:
                continue
            if position < 4:
                flat[position].insert(0, text)
            elif position == 4:
                here = (entry.get("depth", 4), entry.get("role", 0))
                known = [block for block in answer["depth"] if (block.get("depth"), block["role"]) == here]
                if not known:
                    known = [{"role": here[1], "entries": []} | ({"depth": here[0]} if "depth" in entry else {})]
                    answer["depth"] += known
                known[0]["entries"].insert(0, text)
            elif position < 7:
                answer["em"].insert(0, {"position": position - 5, "content": text})
            elif entry.get("outletName"):
                answer["outlets"].setdefault(entry["outletName"], []).append(text)
        before, after = "\n".join(flat[0]), "\n".join(flat[1])
        return answer | {"before": before, "after": after, "an_top": flat[2], "an_bottom": flat[3]}

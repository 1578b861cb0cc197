"""Random cases for the exact rules: a book, its settings and a conversation that grows, all from one seed.

Every field is present in some cases and absent in others. Edge cases (equal orders, group names written in
several ways, empty texts, budgets that are almost enough) are frequent enough to occur together.
"""

from __future__ import annotations

from random import Random
from typing import Any

WORDS = ("Nell", "otter", "ford", "Wren Hall", "江", "白鹭", "naïve", "naï", "Ilya", "ODD", "cot", "the")
FILLER = ("went by", "at noon", "otters", "fordable", "_cot_", "江水", "NELL", ",", "。", "N", "he said", "𠮷")
PATTERNS = (
    "/c.t/",
    "/c.t/i",
    "/^N/",
    "/^N/im",
    "/for(d|t)/i",
    "/(江|白鹭)/",
    "/ott\\ber/i",
    "/cot$/m",
    "/o(tter/",
    "/a/b/",
)
NAMES = ("Pia", "Quin")


def make_case(seed: int) -> dict[str, Any]:
    """One case."""
    random = Random(seed)
    crowded = random.random() < 0.5  # many timed, grouped and budgeted entries
    entries = [_entry(random, uid, crowded=crowded) for uid in range(random.randint(2, 12))]
    return {
        "id": seed,
        "book": {"entries": {str(entry["uid"]): entry for entry in entries}},
        "settings": _settings(random),
        "max_context": random.choice((150, 333, 401, 1000, 4000)),
        "tokenizer": random.choice(("words", "codepoints")),
        "user": NAMES[0],
        "char": NAMES[1],
        "messages": [_message(random) for _ in range(random.randint(1, 8))],
        "more": [[_message(random) for _ in range(random.randint(0, 2))] for _ in range(random.choice((0, 1, 4)))],
        "random": [round(random.random(), 3) for _ in range(random.choice((0, 5, 40)))],
    }


def _settings(random: Random) -> dict[str, Any]:
    return {
        "depth": random.choice((0, 1, 2, 2, 4, 8)),
        "budget": random.choice((1, 3, 7, 13, 25, 100)),
        "budget_cap": random.choice((0, 0, 0, 25, 60)),
        "recursive": random.random() < 0.6,
        "case_sensitive": random.random() < 0.2,
        "match_whole_words": random.random() < 0.5,
        "use_group_scoring": random.random() < 0.3,
        "include_names": random.random() < 0.6,
        "character_strategy": 1,
        "min_activations": random.choice((0, 0, 2, 4)),
        "min_activations_depth_max": random.choice((0, 0, 2, 3, 6)),
        "max_recursion_steps": random.choice((0, 0, 0, 2, 3)),
    }


def _message(random: Random) -> dict[str, str]:
    return {"name": random.choice(NAMES), "mes": _text(random, random.randint(1, 8))}


def _text(random: Random, length: int) -> str:
    words = [random.choice(random.choice((WORDS, FILLER))) for _ in range(length)]
    return "".join(word + random.choice((" ", " ", " ", "\n")) for word in words)


def _keys(random: Random, most: int) -> list[str]:
    keys = [random.choice(WORDS) for _ in range(random.randint(0, most))]
    odd = (lambda key: f" {key} ", str.upper, lambda key: "", lambda key: random.choice(PATTERNS))
    return [random.choice(odd)(key) if random.random() < 0.2 else key for key in keys]


def _entry(random: Random, uid: int, *, crowded: bool) -> dict[str, Any]:
    often, seldom = (0.4, 0.2) if crowded else (0.1, 0.07)
    text = random.choice(("", f"E{uid} ", "Nell\n", "cot\n\nN ")) if random.random() < 0.3 else f"E{uid} "
    entry: dict[str, Any] = {
        "uid": uid,
        "content": text + _text(random, random.randint(1, 7)).strip() if text else "",
        "key": _keys(random, 3),
        "keysecondary": _keys(random, 3) if random.random() < 0.4 else [],
        "selective": random.random() < 0.9,
        "selectiveLogic": random.choice((0, 0, 0, 1, 2, 3)),
        "constant": random.random() < 0.15,
        "order": random.choice((10, 50, 100, 100, 100, 200, random.randint(1, 300))),
        "position": random.choice((0, 0, 1, 2, 3, 4, 4, 5, 6, 7)),
        "depth": random.choice((4, 4, 0, 1, 9)),
        "role": random.choice((0, 0, 1, 2)),
        "disable": random.random() < 0.04,
        "probability": random.choice((100, 100, 100, 0, 25, 50, 99)),
        "useProbability": random.random() < 0.95,
    }
    absent = [name for name in entry if name not in ("uid", "content", "key") and random.random() < 0.05]
    further: dict[str, tuple[float, tuple[Any, ...]]] = {
        "outletName": (0.8 if entry["position"] == 7 else 0.0, ("left", "right", "")),
        "ignoreBudget": (seldom, (True,)),
        "excludeRecursion": (seldom, (True,)),
        "preventRecursion": (0.1, (True,)),
        "delayUntilRecursion": (seldom, (True, 1, 2, 3)),
        "scanDepth": (0.12, (0, 1, 3, 6)),
        "caseSensitive": (0.12, (True, False)),
        "matchWholeWords": (0.12, (True, False)),
        "useGroupScoring": (seldom, (True, False)),
        "group": (0.6 if crowded else 0.15, ("g", "g", "h", "g,h", "g, h", " g , h ", "h,g,")),
        "groupOverride": (seldom, (True, False)),
        "groupWeight": (0.3, (0, 1, 50, 100)),
        "sticky": (often, (1, 2, 3, 4)),
        "cooldown": (often, (1, 2, 3, 4)),
        "delay": (0.07, (1, 2, 3, 5)),
    }
    for name, (share, values) in further.items():
        if random.random() < share:
            entry[name] = random.choice(values)
    return {name: value for name, value in entry.items() if name not in absent}

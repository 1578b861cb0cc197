"""Compare lorebook activation under SillyTavern's rules with recorded answers of SillyTavern.

Each line of the data is a book, its settings and a conversation that grows turn by turn. A turn
counts as exact if the active entries, their order and every placed text are the expected ones.

    python -m benchmarks.lorebook --data activation.jsonl [--json]
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from benchmarks.figures import arguments, percentile, report, show
from fabula.lorebook.activation import activate
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.keys import KeyIndex
from fabula.lorebook.model import Activation, CardCharacter, ScanContext, ScanMessage, TimedEffects
from fabula.lorebook.parsing import parse_book, parse_settings
from fabula.text.macros import fill_in_names


class CaseTokenizer:
    """The tokenizers of the cases: runs of non-white space, or code points."""

    exact = additive = True

    def __init__(self, name: str) -> None:
        self.name = name

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return len(text.split()) if self.name == "words" else len(text)


def describe_activation(answer: Activation) -> dict[str, Any]:
    """Return an activation in the form of the recorded answers."""
    return {
        "activated": list(answer.active_uids),
        "before": answer.texts.before,
        "after": answer.texts.after,
        "depth": [
            {"entries": list(block.texts), "role": block.role} | ({} if block.depth is None else {"depth": block.depth})
            for block in answer.texts.depth
        ],
        "an_top": list(answer.texts.note_top),
        "an_bottom": list(answer.texts.note_bottom),
        "em": [{"position": example.position, "content": example.content} for example in answer.texts.examples],
        "outlets": {name: list(texts) for name, texts in answer.texts.outlets.items()},
    }


def scan_turns(case: Mapping[str, Any], times: list[float]) -> Iterator[Activation]:
    """The answers to one case, a turn at a time."""
    book, settings = parse_book(case["book"]), parse_settings(case["settings"])
    scene = ScanContext(max_context=case["max_context"], user=case["user"], character=CardCharacter(name=case["char"]))
    tokenizer, timed = CaseTokenizer(case["tokenizer"]), TimedEffects()
    history: list[ScanMessage] = []
    index = KeyIndex([book], settings, lambda text: fill_in_names(text, scene.user, scene.character.name))
    for messages in (case["messages"], *case["more"]):
        history += [ScanMessage(one["name"], one["mes"]) for one in messages]
        start = time.perf_counter()
        answer = activate(
            [book],
            history,
            tokenizer=tokenizer,
            random_source=chain(case["random"], repeat(0.5)).__next__,
            settings=settings,
            context=scene,
            timed_effects=timed,
            index=index,
        )
        times.append((time.perf_counter() - start) * 1000)
        timed = answer.timed_effects
        yield answer


def time_own_rules(case: Mapping[str, Any]) -> float:
    """Return the milliseconds of a first turn under Fabula's own rules."""
    book, settings = parse_book(case["book"]), parse_settings(case["settings"])
    scene = ScanContext(max_context=case["max_context"], user=case["user"], character=CardCharacter(name=case["char"]))
    history = [ScanMessage(one["name"], one["mes"]) for one in case["messages"]]
    tokenizer, chance = CaseTokenizer(case["tokenizer"]), chain(case["random"], repeat(0.5)).__next__
    start = time.perf_counter()
    activate([book], history, tokenizer=tokenizer, random_source=chance, settings=settings, context=scene, rules=FABULA)
    return (time.perf_counter() - start) * 1000


def read_cases(data: Path) -> Iterator[dict[str, Any]]:
    """Read the cases of a file, or of every such file in a folder."""
    for file in [data] if data.is_file() else sorted(data.rglob("activation*.jsonl")):
        with file.open(encoding="utf-8") as rows:
            yield from map(json.loads, rows)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    if options.data is None:
        raise SystemExit("Name a file of cases: --data activation.jsonl")
    exact = total = 0
    times: list[float] = []
    own: list[float] = []
    wrong: list[tuple[object, int, str]] = []
    for row in read_cases(options.data):
        case, expected = row["case"], row["expected"]
        for number, (answer, wanted) in enumerate(zip(scan_turns(case, times), expected, strict=True)):
            got = describe_activation(answer)
            total += 1
            exact += got == wanted
            if got != wanted:
                wrong.append((case["id"], number, ", ".join(key for key in wanted if got.get(key) != wanted[key])))
        own.append(time_own_rules(case))
    if wrong:
        show("turns that differ", ("case", "turn", "in"), wrong[:20])
    show(
        "milliseconds a turn",
        ("rules", "median", "95 %", "longest"),
        [
            (name, percentile(those, 0.5), percentile(those, 0.95), max(those))
            for name, those in (("exact", times), ("fabula", own))
        ],
    )
    figures = {"turns": total, "exact": exact, "exact_share": exact / total if total else 0.0}
    report(figures | {"turn_ms": percentile(times, 0.5) if times else 0.0}, as_json=options.json)


if __name__ == "__main__":
    main()

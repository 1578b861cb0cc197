"""Lorebooks read by SillyTavern's rules, against what SillyTavern answered.

Each line of the data is a book, its settings and a conversation that grows turn by turn; a turn
counts as exact when the activated entries, their order and every placed text are the expected ones.

    python -m benchmarks.lorebook --data activation.jsonl [--json]
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import arguments, percentile, report, show
from fabula.lorebook.activation import activate
from fabula.lorebook.model import Activation, Said, Scene, Timed
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.parsing import read_book, read_settings
from fabula.lorebook.random_source import Queue


class Words:
    """The cases' own tokenizers: runs of non-white space, or code points."""

    exact = additive = True

    def __init__(self, name: str) -> None:
        self.name = name

    def count(self, text: str) -> int:
        """How many."""
        return len(text.split()) if self.name == "words" else len(text)


def told(answer: Activation) -> dict[str, Any]:
    """An answer in the shape of the data."""
    return {
        "activated": list(answer.activated),
        "before": answer.before,
        "after": answer.after,
        "depth": [
            {"entries": list(block.entries), "role": block.role}
            | ({} if block.depth is None else {"depth": block.depth})
            for block in answer.depth
        ],
        "an_top": list(answer.an_top),
        "an_bottom": list(answer.an_bottom),
        "em": [{"position": example.position, "content": example.content} for example in answer.em],
        "outlets": {name: list(texts) for name, texts in answer.outlets.items()},
    }


def turns(case: Mapping[str, Any], times: list[float]) -> Iterator[Activation]:
    """The answers to one case, a turn at a time."""
    book, settings = read_book(case["book"]), read_settings(case["settings"])
    scene = Scene(max_context=case["max_context"], user=case["user"], character=case["char"])
    tokenizer, timed = Words(case["tokenizer"]), Timed()
    said: list[Said] = []
    for messages in (case["messages"], *case["more"]):
        said += [Said(one["name"], one["mes"]) for one in messages]
        start = time.perf_counter()
        answer = activate(
            [book],
            said,
            tokenizer=tokenizer,
            chance=Queue(case["random"]),
            settings=settings,
            scene=scene,
            timed=timed,
        )
        times.append((time.perf_counter() - start) * 1000)
        timed = answer.timed
        yield answer


def ours(case: Mapping[str, Any]) -> float:
    """Milliseconds a first turn takes by our own rules."""
    book, settings = read_book(case["book"]), read_settings(case["settings"])
    scene = Scene(max_context=case["max_context"], user=case["user"], character=case["char"])
    said = [Said(one["name"], one["mes"]) for one in case["messages"]]
    tokenizer, chance = Words(case["tokenizer"]), Queue(case["random"])
    start = time.perf_counter()
    activate([book], said, tokenizer=tokenizer, chance=chance, settings=settings, scene=scene, rules=FABULA)
    return (time.perf_counter() - start) * 1000


def lines(data: Path) -> Iterator[dict[str, Any]]:
    """The cases of a file, or of every such file in a folder."""
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
    for row in lines(options.data):
        case, expected = row["case"], row["expected"]
        for number, (answer, wanted) in enumerate(zip(turns(case, times), expected, strict=True)):
            got = told(answer)
            total += 1
            exact += got == wanted
            if got != wanted:
                wrong.append((case["id"], number, ", ".join(key for key in wanted if got.get(key) != wanted[key])))
        own.append(ours(case))
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

"""Our diff beside `difflib` and `rapidfuzz` on chapters that were edited at random.

    python -m benchmarks.diff --data FOLDER --json

In chapters of real novels, words are deleted, doubled and replaced at random places
(the seed is fixed). Reported are the time for one chapter, and how many of the characters that the editing left alone
each diff recognises as unchanged.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path
from time import perf_counter

from benchmarks.novels import chapters
from fabula.text.diff import find_edits

Blocks = list[tuple[int, int, int]]  # start in the old text, start in the new one, length: what is unchanged
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|.", re.DOTALL)


def read_chapters(data: Path | None, novel: str, most: int) -> list[str]:
    """Some chapters of a novel; without data, of the English sample."""
    found = [text for _, text in chapters(data, novel) if text]
    return random.Random(1).sample(found, min(most, len(found)))


def edit_text(text: str, share: float, rng: random.Random) -> tuple[str, int]:
    """Change a share of the words; return the new text, and how many characters of the old one were left alone."""
    words = _WORD.findall(text)
    parts, untouched = [], 0
    for word in words:
        if rng.random() >= share:
            parts.append(word)
            untouched += len(word)
            continue
        match rng.randrange(3):
            case 0:
                continue
            case 1:
                parts += [word, word]
                untouched += len(word)
            case _:
                parts.append(rng.choice(words))
    return "".join(parts), untouched


def match_ours(old: str, new: str) -> Blocks:
    """What `fabula.text.diff` leaves unchanged."""
    blocks, at_old, at_new = [], 0, 0
    for edit in [*find_edits(old, new), None]:
        end = len(old) if edit is None else edit.start
        blocks.append((at_old, at_new, end - at_old))
        if edit is not None:
            at_old, at_new = edit.old_end, edit.new_end
    return blocks


def match_difflib(old: str, new: str) -> Blocks:
    """What `difflib` leaves unchanged, compared by words."""
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    blocks = SequenceMatcher(None, old_words, new_words, autojunk=False).get_matching_blocks()
    return [(block.a, block.b, sum(map(len, old_words[block.a : block.a + block.size]))) for block in blocks]


def list_methods() -> Iterator[tuple[str, Callable[[str, str], Blocks]]]:
    """The diffs that this environment has."""
    yield "fabula", match_ours
    yield "difflib", match_difflib
    try:
        levenshtein = import_module("rapidfuzz.distance").Levenshtein
    except ImportError:
        return

    def match_rapidfuzz(old: str, new: str) -> Blocks:
        blocks = levenshtein.opcodes(old, new).as_matching_blocks()
        return [(block.a, block.b, block.size) for block in blocks]

    yield "rapidfuzz", match_rapidfuzz


def measure(texts: Sequence[str], share: float) -> dict[str, dict[str, float]]:
    """Milliseconds for a chapter, and the share of untouched characters that each diff recognises."""
    rng = random.Random(2)
    pairs = [(chapter, *edit_text(chapter, share, rng)) for chapter in texts]
    result: dict[str, dict[str, float]] = {}
    for name, match in list_methods():
        seconds, recognised, untouched = 0.0, 0, 0
        for old, new, left_alone in pairs:
            began = perf_counter()
            blocks = match(old, new)
            seconds += perf_counter() - began
            recognised += min(sum(size for _, _, size in blocks), left_alone)
            untouched += left_alone
        result[name] = {"ms": round(1000 * seconds / len(pairs), 2), "recognised": round(recognised / untouched, 4)}
    return result


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of chapters.jsonl; the sample if left out")
    parser.add_argument("--novels", nargs="+", default=["war_and_peace", "hongloumeng"])
    parser.add_argument("--chapters", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, dict[str, dict[str, float]]] = {}
    for novel in options.novels if options.data is not None else ["sample"]:
        texts = read_chapters(options.data, novel, options.chapters)
        for share in (0.01, 0.1):
            result[f"{novel}, {share:.0%} of words"] = measure(texts, share) if texts else {}
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, methods in result.items():
        for method, figures in methods.items():
            print(f"{name:32} {method:10} {figures['ms']:8.2f} ms  {figures['recognised']:.2%} recognised")


if __name__ == "__main__":
    main()

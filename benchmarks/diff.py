"""Our diff beside `difflib` and `rapidfuzz` on chapters that were edited at random.

    python -m benchmarks.diff --data FOLDER --json

In chapters of real novels, words are deleted, doubled and replaced at random places (the seed is fixed). A text has
`--characters` characters, of one chapter or of several. Reported are the processor time for one text, and the share of
the characters the editing left alone that each diff keeps in place: it leaves them unchanged, and at the right offset.
`difflib` takes seconds for a long text, and is measured on fewer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from time import process_time

from benchmarks.novels import chapters
from fabula.text.diff import find_edits

Blocks = list[tuple[int, int, int]]  # start in the old text, start in the new one, length: what is unchanged
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|.", re.DOTALL)
_SLOW = {"difflib": 1}  # how many texts it is measured on


def read_texts(data: Path | None, novel: str, characters: int, most: int) -> list[str]:
    """Texts of so many characters, of chapters of a novel in random order; without data, of the English sample."""
    found = [text for _, text in chapters(data, novel) if text]
    whole = "\n".join(random.Random(1).sample(found, len(found)))
    starts = range(0, max(len(whole) - characters, 0) + 1, characters)
    return [whole[start : start + characters] for start in starts[:most]]


def edit_text(text: str, share: float, rng: random.Random) -> tuple[str, Blocks]:
    """Change a share of the words; return the new text, and the words that were left alone."""
    words = _WORD.findall(text)
    parts: list[str] = []
    untouched: Blocks = []
    at_old = at_new = 0
    for word in words:
        part = word
        if rng.random() >= share:
            untouched.append((at_old, at_new, len(word)))
        else:
            part = ("", word + word, rng.choice(words))[rng.randrange(3)]
        parts.append(part)
        at_old, at_new = at_old + len(word), at_new + len(part)
    return "".join(parts), untouched


def match_ours(old: str, new: str) -> Blocks:
    """What `fabula.text.diff` leaves unchanged."""
    blocks, at_old, at_new = [], 0, 0
    for edit in find_edits(old, new):
        blocks.append((at_old, at_new, edit.start - at_old))
        at_old, at_new = edit.old_end, edit.new_end
    return [*blocks, (at_old, at_new, len(old) - at_old)]


def match_difflib(old: str, new: str) -> Blocks:
    """What `difflib` leaves unchanged, compared by words."""
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    old_starts, new_starts = ([*accumulate(map(len, words), initial=0)] for words in (old_words, new_words))
    blocks = SequenceMatcher(None, old_words, new_words, autojunk=False).get_matching_blocks()
    return [(old_starts[i], new_starts[j], old_starts[i + size] - old_starts[i]) for i, j, size in blocks]


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


def count_in_place(blocks: Blocks, untouched: Blocks) -> int:
    """How many of the untouched characters the blocks keep at the offset where they are."""
    starts = [start for start, _, _ in blocks]
    count = 0
    for start, new_start, size in untouched:
        for at in range(start, start + size):
            old_start, block_start, block_size = blocks[bisect_right(starts, at) - 1]
            count += at < old_start + block_size and at - old_start + block_start == at - start + new_start
    return count


def measure(texts: Sequence[str], share: float) -> dict[str, dict[str, float]]:
    """Milliseconds for a text, and the share of untouched characters that each diff keeps in place."""
    rng = random.Random(2)
    pairs = [(text, *edit_text(text, share, rng)) for text in texts]
    result: dict[str, dict[str, float]] = {}
    for name, match in list_methods():
        times, in_place, total = [], 0, 0
        for old, new, untouched in pairs[: _SLOW.get(name)]:
            began = process_time()
            blocks = match(old, new)
            times.append(1000 * (process_time() - began))
            in_place += count_in_place(blocks, untouched)
            total += sum(size for _, _, size in untouched)
        mean = sum(times) / len(times)
        result[name] = {"ms": round(mean, 1), "worst_ms": round(max(times), 1), "in_place": round(in_place / total, 4)}
    return result


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of chapters.jsonl; the sample if left out")
    parser.add_argument("--novels", nargs="+", default=["war_and_peace", "moby_dick", "红楼梦", "三国演义"])
    parser.add_argument("--characters", type=int, default=30_000, help="of one text")
    parser.add_argument("--texts", type=int, default=10, help="of one novel")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, dict[str, dict[str, float]]] = {}
    for novel in options.novels if options.data is not None else ["sample"]:
        texts = read_texts(options.data, novel, options.characters, options.texts)
        for share in (0.01, 0.1):
            result[f"{novel}, {share:.0%} of words"] = measure(texts, share) if texts else {}
    if options.json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return
    for name, methods in result.items():
        for method, figures in methods.items():
            print(f"{name:32} {method:10} {figures['ms']:8.2f} ms  {figures['in_place']:.2%} in place")


if __name__ == "__main__":
    main()

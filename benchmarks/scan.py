"""The time to find a hundred thousand names in a text, and to add one more.

python -m benchmarks.scan [--names 100000] [--json]
"""

from __future__ import annotations

import time
from functools import partial
from random import Random
from statistics import median

from benchmarks.figures import arguments, milliseconds, report, show, timed
from fabula.text.names.matcher import NameMatcher

SYLLABLES = tuple("kalomiraventorseldarinabelostwyern"[n : n + 2] for n in range(0, 34, 2))
CHINESE = "林远江陈慕白沈云舟顾青柳如烟秦岳苏晚叶孤城楚天阔程野方寸许知行"


def make_names(number: int, random: Random) -> dict[str, tuple[str, ...]]:
    """Made-up names: Latin ones of two or three syllables, and every fifth Chinese."""
    found: dict[str, tuple[str, ...]] = {}
    while len(found) < number:
        if len(found) % 5:
            name = "".join(random.choices(SYLLABLES, k=random.randint(2, 4))).capitalize()
            name += " " + "".join(random.choices(SYLLABLES, k=2)).capitalize() if random.random() < 0.5 else ""
        else:
            name = "".join(random.choices(CHINESE, k=random.randint(2, 4)))
        found.setdefault(name, (name,))
    return found


def make_prose(known: list[str], characters: int, random: Random) -> str:
    """Ordinary words with a name now and then."""
    words, size = [], 0
    common = ("the", "of", "and", "to", "a", "in", "that", "it", "was", "he", "for", "on", "they", "with", "this")
    while size < characters:
        word = random.choice(known) if random.random() < 0.02 else random.choice(common)
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:characters]


def count_by_loop(known: list[str], text: str) -> int:
    """A plain loop: is each name in there?"""
    return sum(name in text for name in known)


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--names", type=int, default=100_000)
    options = parser.parse_args()
    random = Random(1)
    known = make_names(options.names, random)
    listed = list(known)
    texts = [make_prose(listed, 10_000, random) for _ in range(60)]
    start = time.perf_counter()
    ours = NameMatcher(known)
    built = (time.perf_counter() - start) * 1000
    for text in texts[:20]:
        ours.find(text)
    scanned = median(timed([partial(ours.find, text) for text in texts[20:]]))
    added = []
    for number in range(5):
        text = f"Then Zebulon Quist{number} came in, and {texts[number][:9000]}"
        added.append(milliseconds(partial(_add, ours, number, text)))
    looped = milliseconds(partial(count_by_loop, listed, texts[0]))
    rows: list[tuple[str, float]] = [("fabula, build", built), ("fabula, 10k characters", scanned)]
    rows += [("fabula, one name more, to the next answer", median(added)), ("a plain loop, 10k characters", looped)]
    rows += _pyahocorasick(listed, texts)
    show(f"{options.names:,} names, milliseconds", ("what", "ms"), rows)
    report(
        {"scan_10k_chars_ms": scanned, "add_one_name_ms": median(added), "build_ms": built, "naive_loop_ms": looped},
        as_json=options.json,
    )


def _add(before: NameMatcher, number: int, text: str) -> None:
    hits = before.with_changes({f"new{number}": (f"Zebulon Quist{number}",)}).find(text)
    assert hits[0].owner.startswith("new")


def _pyahocorasick(listed: list[str], texts: list[str]) -> list[tuple[str, float]]:
    """A well-known peer, where it is installed: it finds strings, and checks nothing."""
    try:
        import ahocorasick
    except ImportError:
        return []
    machine = ahocorasick.Automaton()
    start = time.perf_counter()
    for name in listed:
        machine.add_word(name, name)
    machine.make_automaton()
    built = (time.perf_counter() - start) * 1000
    scanned = median(timed([partial(list, machine.iter(text)) for text in texts[20:]]))
    return [("pyahocorasick, build (needed for one name more, too)", built), ("pyahocorasick, 10k characters", scanned)]


if __name__ == "__main__":
    main()

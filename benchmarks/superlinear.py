"""Time every reader and scanner at n, 2n and 4n on hostile shapes: none may grow more than 2.5 times per doubling.

Times are processor seconds, the best of several runs, because other programs run on the same machine.

    python -m benchmarks.superlinear [--only NAME] [--json]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import arguments, report, show
from benchmarks.hostile import CASES, read_hostile
from fabula.lorebook.activation import activate
from fabula.lorebook.model import LorebookSettings, ScanMessage
from fabula.lorebook.parsing import parse_book
from fabula.text.diff import find_edits
from fabula.text.js_regex import JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex
from fabula.text.names.matcher import NameMatcher
from fabula.text.sentences import find_sentence_starts
from fabula.text.tokens.tokenizer import load_encoding

MAX_RATIO = 2.5
_LEAST_SECONDS = 0.02  # the size grows until the first time is at least this
_RUNS = 3


def _scan_book(entries: list[dict[str, object]], text: str) -> None:
    book = parse_book({"entries": [{"uid": uid, "content": "x", **entry} for uid, entry in enumerate(entries)]})
    activate(
        [book],
        [ScanMessage("", text)],
        tokenizer=load_encoding("o200k_base"),
        random_source=lambda: 0.5,
        settings=LorebookSettings(recursive=True, match_whole_words=True),
    )


def _match(pattern: str, text: str) -> None:
    regex = compile_regex(pattern, "")
    if isinstance(regex, JsRegex):
        with suppress(TooMuchWorkError):
            regex.is_found_in(RegexText(text), WorkBudget())


SCANNERS: dict[str, Callable[[int], object]] = {
    "lorebook: entries": lambda n: _scan_book([{"key": [f"k{k}"]} for k in range(n)], "k1 " * 500),
    "lorebook: chain": lambda n: _scan_book(
        [{"key": [f"k{k}"], "content": f"then k{k + 1} comes"} for k in range(n)], "k0"
    ),
    "lorebook: nested keys": lambda n: _scan_book([{"key": ["a" * (k + 1)]} for k in range(n)], "a" * n),
    "lorebook: patterns": lambda n: _scan_book([{"key": [f"/a{k}b/"]} for k in range(n)], "a1b " * 100),
    "lorebook: text": lambda n: _scan_book([{"key": ["harbour"]}], "harbours and " * n),
    "js_regex: brackets": lambda n: compile_regex("[" * min(n, 10_000), ""),
    "js_regex: repetition": lambda n: _match("(a+)+$", "a" * n + "b"),
    "names: overlapping": lambda n: NameMatcher({"x": ["Ann", "Ann Ann", "Ann Ann Ann"]}).find("Ann " * n),
    "names: many": lambda n: NameMatcher({str(k): [f"Name{k}"] for k in range(n)}).find("Name1 " * 100),
    "diff: nothing in common": lambda n: find_edits("a b " * n, "c d " * n),
    "diff: repeated words": lambda n: find_edits("a b " * n, "b a " * n),
    "sentences: full stops": lambda n: find_sentence_starts("." * n),
    "sentences: quotes": lambda n: find_sentence_starts('"a. ' * n),
}


def measure(run: Callable[[int], object], size: int) -> float:
    """Return the processor seconds at a size, the best of several runs."""
    best = float("inf")
    for _ in range(_RUNS):
        begin = time.process_time()
        run(size)
        best = min(best, time.process_time() - begin)
    return best


def measure_growth(run: Callable[[int], object], size: int) -> tuple[int, list[float]]:
    """Return the size that is large enough to be timed, and the times at it, twice and four times it."""
    while measure(run, size) < _LEAST_SECONDS and size < 1 << 20:
        size *= 2
    return size, [measure(run, size * factor) for factor in (1, 2, 4)]


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    options = parser.parse_args()
    rows: list[tuple[str, int, float, float, float, float]] = []
    with TemporaryDirectory() as folder:

        def read_case(name: str, size: int) -> None:
            ending, make = CASES[name]
            path = Path(folder) / f"{size}{ending}"
            if not path.exists():
                path.write_bytes(make(size))
            read_hostile(path)

        shapes: dict[str, Callable[[int], object]] = {
            **{f"import: {name}": partial(read_case, name) for name in CASES},
            **SCANNERS,
        }
        for name, run in shapes.items():
            if options.only in name:
                size, (one, two, four) = measure_growth(run, 1 if name.startswith("import") else 100)
                rows.append((name, size, one, two, four, max(two / one, four / two)))
    show("growth per doubling", ("shape", "n", "n s", "2n s", "4n s", "largest ratio"), rows)
    over = [row for row in rows if row[-1] > MAX_RATIO]
    report({"shapes": len(rows), "worst_ratio": max(row[-1] for row in rows), "over": len(over)}, as_json=options.json)


if __name__ == "__main__":
    main()

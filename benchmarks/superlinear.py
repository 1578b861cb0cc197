"""Time every reader and scanner at n, 2n and 4n on hostile shapes: none may grow more than 2.5 times per doubling.

Times are processor seconds of the thread, the least of several runs, because other programs run on the same machine.
The size of a shape grows until it takes long enough to be timed, and at most to its largest size: what is still too
fast then is bounded and has no ratio. Where what a shape holds no longer fits into the processor's cache, its time
jumps once; so a shape over the limit is timed again at twice the size. Growth stays over the limit there.

    python -m benchmarks.superlinear [--only NAME] [--json]
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import arguments, report, show
from benchmarks.hostile import CASES, get_reader
from fabula.codex import Codex
from fabula.codex.entry import Entry
from fabula.codex.facts.find import FactNames, find_fact_sentences
from fabula.constraints import Constraint
from fabula.constraints.banned_words import find_banned_words
from fabula.constraints.checks import check_text
from fabula.constraints.narration import find_missing_person, find_narration
from fabula.constraints.rule_parser import read_rule
from fabula.constraints.sentence_length import find_sentences
from fabula.conversation.mentions import find_mentions
from fabula.core.errors import FabulaError
from fabula.formats.manuscripts.markdown import parse_text, split_at_scene_breaks
from fabula.formats.manuscripts.model import TooManySectionsError
from fabula.formats.manuscripts.plain_text import split_plain_text, tidy_paragraphs
from fabula.formats.manuscripts.prose import parse_blocks, render_markdown
from fabula.lorebook.activation import activate
from fabula.lorebook.model import LorebookSettings, ScanMessage
from fabula.lorebook.parsing import parse_book
from fabula.search.dates import find_date_references
from fabula.search.index.index import SearchIndex
from fabula.search.index.passages import DocumentText, cut_into_passages
from fabula.skills.template import render_template, validate_template
from fabula.text.diff import find_edits
from fabula.text.extraction import propose_entries
from fabula.text.js_regex import JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex
from fabula.text.names.matcher import NameMatcher
from fabula.text.names.unknown import find_unknown_names
from fabula.text.sentences import find_sentence_starts
from fabula.text.summaries import extract_summary
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import load_encoding

MAX_RATIO = 2.5
_LEAST_SECONDS = 0.05  # the size grows until the first time is at least this
_GIVE_UP = 20.0  # seconds of one run, after which a shape is not measured at its larger sizes
_RUNS = 5  # fewer where one takes long
_MAX_SIZES = {"import": 25, "rule": 100, "template": 1_000}  # of n; the rest of a rule or template is refused
_MAX_SIZE = 400_000
_NUMBERS = count()
_HAN = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉"


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


def _read_rule(beginning: str, repeated: str, size: int) -> None:
    read_rule((beginning + repeated * size)[:size])


def _check(rule: str, text: str) -> None:
    check_text(text, [Constraint(id="c", text=rule)], "en")


_CODEX = Codex("p", "en", [Entry(id="al", type="character", name="Al")])
_FACT_NAMES = FactNames({"al": frozenset({"al"})})


def _find_facts(text: str) -> None:
    find_fact_sentences(text, _CODEX.name_matcher.find(text), _FACT_NAMES)


def _index(text: str) -> None:
    SearchIndex([cut_into_passages(DocumentText("d", "", text))])


def _extract(text: str, language: str = "en") -> None:
    propose_entries([("", text)], language=language)


def _use_template(template: str, **values: object) -> None:
    template += f"{{# {next(_NUMBERS)} #}}"  # else it would come from the cache
    with suppress(FabulaError):
        validate_template(template)
        render_template(template, {"beats": [], "instruction": "", **values})


def _split_text(text: str) -> None:
    with suppress(TooManySectionsError):
        split_plain_text(text)


def _parse_text(text: str) -> None:
    with suppress(TooManySectionsError):
        parse_text(text)


def _spell(number: int) -> str:
    """A word of letters for a number, so that words differ and begin with a capital."""
    word = ""
    while number or not word:
        number, digit = divmod(number, 20)
        word += "bcdfghjklmnpqrstvwxz"[digit] + "a"
    return word.capitalize()


def _spell_chinese(number: int) -> str:
    return f"王{_HAN[number % 20]}{_HAN[number // 20 % 20]}"


SCANNERS: dict[str, Callable[[int], object]] = {
    "lorebook: entries": lambda n: _scan_book([{"key": [f"k{k}"]} for k in range(n)], "k1 " * 500),
    "lorebook: chain": lambda n: _scan_book(
        [{"key": [f"k{k}"], "content": f"then k{k + 1} comes"} for k in range(n)], "k0"
    ),
    "lorebook: nested keys": lambda n: _scan_book([{"key": ["a" * (k + 1)]} for k in range(min(n, 2_000))], "a" * n),
    "lorebook: patterns": lambda n: _scan_book([{"key": [f"/a{k}b/"]} for k in range(n)], "a1b " * 100),
    "lorebook: text": lambda n: _scan_book([{"key": ["harbour"]}], "harbours and " * n),
    "js_regex: brackets": lambda n: compile_regex("[" * min(n, 10_000), ""),
    "js_regex: groups": lambda n: compile_regex("(?:a|" * min(n, 2_000) + ")" * min(n, 2_000), ""),
    "js_regex: repetition": lambda n: _match("(a+)+$", "a" * n + "b"),
    "names: overlapping": lambda n: NameMatcher({"x": ["Ann", "Ann Ann", "Ann Ann Ann"]}).find("Ann " * n),
    "names: lines without an end": lambda n: Paragraphs("a\n" * n).mention_cache.find_between(
        NameMatcher({"x": ["Ann"]}).find, 2 * n - 9, 2 * n
    ),
    "names: many": lambda n: NameMatcher({str(k): [f"Name{k}"] for k in range(n)}).find("Name1 " * 100),
    "names: unknown": lambda n: find_unknown_names(" ".join(f"the {_spell(k)}" for k in range(n)), "en", [], []),
    "names: unknown in a row": lambda n: find_unknown_names("the " + "Monday " * n, "en", [], []),
    "names: unknown beside known": lambda n: find_unknown_names(
        "the Anna " * n, "en", [(9 * k, 9 * k + 3) for k in range(n)], []
    ),
    "diff: nothing in common": lambda n: find_edits("a b " * n, "c d " * n),
    "diff: repeated words": lambda n: find_edits("a b " * n, "b a " * n),
    "diff: new text in one line": lambda n: find_edits("", "王" * n),
    "diff: another line": lambda n: find_edits("王甲" * n, "乙" * n),
    "search: one Chinese line": lambda n: _index("王小明走进了港口的雾里看见灯塔" * (n // 15)),
    "search: one line of many characters": lambda n: _index("".join(map(_spell_chinese, range(n // 3)))),
    "search: emoji": lambda n: _index("🏮" * n),
    "search: full stops": lambda n: _index("他说。" * (n // 3)),
    "search: blanks": lambda n: _index("王" + " " * n + "王"),
    "facts: a name a sentence": lambda n: _find_facts("Al. " * n),
    "facts: prose": lambda n: _find_facts("Al had a scar on his chin. " * n),
    "facts: open quotes": lambda n: _find_facts("“Al had a scar. " * n),
    "facts: one sentence": lambda n: _find_facts("Al, who had a scar, " * n),
    "facts: pronouns": lambda n: _find_facts("Al came. He had a scar. " * n),
    "facts: names": lambda n: _find_facts("Al " * n),
    "sentences: full stops": lambda n: find_sentence_starts("." * n),
    "sentences: quotes": lambda n: find_sentence_starts('"a. ' * n),
    "summary: sentences": lambda n: extract_summary("Mara went home. " * n),
    "summary: open quotes": lambda n: extract_summary("“a. " * n),
    "dates: numbers": lambda n: find_date_references("1 " * n, "2026-01-01"),
    "dates: digits": lambda n: find_date_references("1" * n, "2026-01-01"),
    "mentions: signs": lambda n: find_mentions("@" * n, {"a": ["Ann"]}),
    "mentions: names": lambda n: find_mentions("@Ann, " * n, {"a": ["Ann"]}),
    "mentions: text before": lambda n: find_mentions("x @Ann, " * n, {"a": ["Ann"]}),
    "mentions: code": lambda n: find_mentions("`@a` @Ann " * n, {"a": ["Ann"]}),
    "mentions: people": lambda n: find_mentions("@x " * n, {f"p{k}": [f"x{k}"] for k in range(n)}),
    "mentions: one name": lambda n: find_mentions("@Ann " * 50, {f"p{k}": ["ann", "ANN"] for k in range(n)}),
    "mentions: long name": lambda n: find_mentions("@a" * n, {"a": ["a@" * n]}),
    "rule: negations": lambda n: _read_rule("", "no ", n),
    "rule: quotations": lambda n: _read_rule("never use ", '"a" ', n),
    "rule: names": lambda n: _read_rule("Never mention ", "Ann ", n),
    "rule: name list": lambda n: _read_rule("Never mention ", "Ann, ", n),
    "rule: mentions": lambda n: _read_rule("", "never mention ", n),
    "rule: chapters": lambda n: _read_rule("No commas ", "in chapter 1 ", n),
    "rule: person": lambda n: _read_rule("", "first person ", n),
    "rule: length": lambda n: _read_rule("", "under 20 words ", n),
    "rule: blanks": lambda n: _read_rule("no", " a", n),
    "rule: Chinese bans": lambda n: _read_rule("", "不", n),
    "rule: Chinese mentions": lambda n: _read_rule("", "不要提", n),
    "rule: Chinese openings": lambda n: _read_rule("", "请在全文中都", n),
    "rule: Chinese marks": lambda n: _read_rule("", "，", n),
    "rule: Chinese words": lambda n: _read_rule("不要用", "很、", n),
    "rule: Chinese names": lambda n: _read_rule("不要提到", "王甲、", n),
    "rule: Chinese around names": lambda n: _read_rule("不要提", "的名字", n),
    "rule: Chinese numbers": lambda n: _read_rule("每句", "一", n),
    "rule: Chinese chapters": lambda n: _read_rule("不要用逗号", "第一章", n),
    "check: text": lambda n: _check("No exclamation marks.", "a! " * n),
    "check: names": lambda n: _check("Never mention Ann.", "Ann " * n),
    "check: words": lambda n: find_banned_words("a b " * 100, [f"w{next(_NUMBERS)}" for _ in range(n)]),
    "check: Chinese words": lambda n: find_banned_words("王甲" * 500, [_spell_chinese(k) + str(k) for k in range(n)]),
    "check: marks": lambda n: find_banned_words("!? " * n, ["!", "?", "!?"]),
    "check: sentences": lambda n: list(find_sentences("a.\n" * n)),
    "check: blanks": lambda n: list(find_sentences("a. " + " " * n + "b")),
    "narration: open quotes": lambda n: find_narration("「" * n + '"' * n),
    "narration: lines": lambda n: find_narration("“a\n" * n),
    "narration: apostrophes": lambda n: find_narration("'a 'b " * n),
    "narration: thought": lambda n: find_narration("*" + "a " * n),
    "narration: thoughts": lambda n: find_narration("*a _b " * n),
    "narration: missing person": lambda n: find_missing_person("He went. " * n, "first", "en"),
    "template: text": lambda n: _use_template("a {{ title }} " * n, title="x"),
    "template: conditions": lambda n: _use_template(
        "{% if title %}" * (n // 20) + "{% endif %}" * (n // 20), title="x"
    ),
    "template: brackets": lambda n: _use_template("{{ " + "(" * n + "title" + ")" * n + " }}", title="x"),
    "template: open braces": lambda n: _use_template("{{" * n),
    "template: open comments": lambda n: _use_template("{#" * n),
    "template: open strings": lambda n: _use_template("{{ '" + "\\'" * n),
    "template: blanks": lambda n: _use_template("{{ title }}" + " " * n * 4 + "{% if title %}{% endif %}", title="x"),
    "template: operators": lambda n: _use_template("{{ " + "not " * n + "title }}", title="x"),
    "template: values": lambda n: _use_template("{{ instruction | upper }}", instruction="x" * n),
    "template: beats": lambda n: _use_template("{% for b in beats %}{{ b }}{% endfor %}", beats=["x"] * n),
    "extraction: one name": lambda n: _extract("said Mara. " * n),
    "extraction: many names": lambda n: _extract("".join(f"I saw {_spell(k)} go. " * 3 for k in range(n))),
    "extraction: long name": lambda n: _extract(f"I saw {' '.join(map(_spell, range(n)))} go. " * 3),
    "extraction: titles": lambda n: _extract("I saw " + "Mr. " * n + "Tarn go. "),
    "extraction: kinds of titles": lambda n: _extract(
        "".join(f"I saw {'Captain ' * (k % 60 + 1)}{'Sir ' * (k // 60 % 60)}Tarn. " for k in range(n))
    ),
    "extraction: surnames": lambda n: _extract("".join(f"I saw {_spell(k)} Tarn go. " * 3 for k in range(n))),
    "extraction: capitals": lambda n: _extract("A" * n),
    "extraction: hyphens": lambda n: _extract("x Ab-" * n),
    "extraction: lines": lambda n: _extract("Ab\n\n" * n),
    "extraction: Chinese names": lambda n: _extract("".join(f"{_spell_chinese(k)}说道。" for k in range(n)), "zh"),
    "extraction: Chinese repeated": lambda n: _extract("王王" * n, "zh"),
    "markdown: stars": lambda n: parse_blocks("*" * n + "a"),
    "markdown: emphasis": lambda n: render_markdown(parse_blocks("*a* b " * n)),
    "markdown: open emphasis": lambda n: parse_blocks("*a " * n),
    "markdown: emphasis in lines": lambda n: render_markdown(parse_blocks("*a* **b** _c\n" * n)),
    "markdown: underscores": lambda n: parse_blocks("_a_b" * n),
    "markdown: backslashes": lambda n: parse_blocks("\\" * n),
    "markdown: escapes": lambda n: render_markdown(parse_blocks("\\*a\n" * n)),
    "markdown: Chinese stars": lambda n: parse_blocks("“*甲*”" * n),
    "markdown: quotations": lambda n: parse_blocks("> " * n),
    "markdown: headings": lambda n: _parse_text("# a\nb\n" * n),
    "markdown: hashes": lambda n: parse_text("#" * n + "\n" + "# #" * n),
    "markdown: underlines": lambda n: _parse_text("a\n===\n" * n),
    "markdown: fences": lambda n: _parse_text("```\n# a\n" * n),
    "markdown: kinds": lambda n: parse_text("# a" + " {.scene}" * n),
    "markdown: front matter": lambda n: parse_text("---\n" + "a: [b, c]\n" * n + "---\nx"),
    "markdown: open front matter": lambda n: parse_text("---\n" * n),
    "chapters: headings": lambda n: _split_text("Chapter 1\n\nx\n\n" * n),
    "chapters: contents": lambda n: _split_text("Chapter 1\n" * n),
    "chapters: long contents": lambda n: _split_text("".join(f"Chapter {k}\n" for k in range(n)) * 2),
    "chapters: gaps": lambda n: _split_text(("Chapter 1" + "\n" * 50) * n),
    "chapters: numbers": lambda n: _split_text("1\n\n" * n),
    "chapters: Chinese": lambda n: _split_text("第一章 甲\n" * n),
    "chapters: repeated titles": lambda n: _split_text("序\n" * n + "x"),
    "chapters: ambiguous lines": lambda n: _split_text("book one " + "a " * 30 + "\nbook one x.\n" * n),
    "chapters: scene breaks": lambda n: split_at_scene_breaks("* * *\nx\n" * n),
    "chapters: nearly scene breaks": lambda n: split_at_scene_breaks(("* " * 35 + "x\n") * n),
    "chapters: blank lines": lambda n: tidy_paragraphs("x" + "\n" * n + "x" + "\n \t" * n + "x"),
    "chapters: blanks": lambda n: tidy_paragraphs("x\n" + " " * n + "x"),
    "chapters: wrapped lines": lambda n: tidy_paragraphs(("word " * 12 + "\n") * n),
}


def measure(run: Callable[[int], object], size: int) -> float:
    """Return the processor seconds at a size, the least of several runs."""
    least, spent = float("inf"), 0.0
    for _ in range(_RUNS):
        gc.collect()
        gc.disable()  # its passes fall into one run or the other
        begin = time.thread_time()
        run(size)
        least = min(least, time.thread_time() - begin)
        gc.enable()
        spent += least
        if spent > 1:
            break
    return least


def measure_growth(run: Callable[[int], object], largest: int) -> tuple[int, list[float]]:
    """Return the first size that takes long enough to be timed, and the times at it, twice and four times it."""
    size = max(1, largest // 64)
    times = [measure(run, size)]
    while times[0] < _LEAST_SECONDS and size < largest:
        size = min(size * 2, largest)
        times = [measure(run, size)]
    for factor in (2, 4):
        times.append(measure(run, size * factor) if times[-1] < _GIVE_UP else float("inf"))
    while find_ratio(times) > MAX_RATIO and times[-1] < _GIVE_UP / 4 and size <= largest:
        size *= 2
        times = [*times[1:], measure(run, size * 4)]
    return size, times


def find_ratio(times: list[float]) -> float:
    """Return the largest growth per doubling; nothing where all times are too short."""
    return max(after / before for before, after in pairwise(times)) if times[-1] >= _LEAST_SECONDS else 0.0


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    options = parser.parse_args()
    rows: list[tuple[str, int, float, float, float, float]] = []
    with TemporaryDirectory() as folder:

        def make_reading(name: str) -> Callable[[int], object]:
            ending, make = CASES[name]

            def read(size: int) -> None:
                with suppress(FabulaError):
                    path = paths[size] if size in paths else write(size)
                    get_reader(path)(path)

            def write(size: int) -> Path:
                paths[size] = Path(folder) / f"{size}{ending}"
                paths[size].write_bytes(make(size))
                return paths[size]

            paths: dict[int, Path] = {}
            return read

        shapes = {**{f"import: {name}": make_reading(name) for name in CASES}, **SCANNERS}
        for name, run in shapes.items():
            if options.only in name:
                size, times = measure_growth(run, _MAX_SIZES.get(name.split(":")[0], _MAX_SIZE))
                rows.append((name, size, times[0], times[1], times[2], find_ratio(times)))
    show("growth per doubling", ("shape", "n", "n s", "2n s", "4n s", "largest ratio"), rows)
    over = [row for row in rows if row[-1] > MAX_RATIO]
    report({"shapes": len(rows), "worst_ratio": max(row[-1] for row in rows), "over": len(over)}, as_json=options.json)


if __name__ == "__main__":
    main()

"""Read rules in plain words, half of them with conditions, and check texts that break them.

python -m benchmarks.rules [--data FILE] [--json]

A line of the file is `{"text", "language", "conditional": bool, "breaks": "a text that breaks it"}`. Each text that
breaks a rule is checked at every chapter of a long book and without a place, as it is, as dialogue and as narration.
`enforced_without_condition` counts rules with a condition that are broken everywhere, so that the condition made no
difference. `understood_share` is the share of rules without a condition whose violation is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.figures import arguments, report, show
from fabula.constraints.checks import check_text
from fabula.constraints.model import Constraint
from fabula.constraints.rule_parser import read_rule
from fabula.core.story import Position, Timeline, TimelineEntry
from fabula.core.view import Language

BUNDLED = Path(__file__).with_name("rules.jsonl")
CHAPTERS = 120
BOOK = Timeline(
    [
        TimelineEntry("prologue", divisions=()),
        *(
            TimelineEntry(
                f"ch-{n}",
                divisions=(("volume", 1 + n // 40), ("part", 1 + n // 40), ("act", 1 + n // 40), ("chapter", n)),
            )
            for n in range(1, CHAPTERS + 1)
        ),
    ]
)
_MARKS = re.compile('[“”"「」『』]')


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule in plain words, and a text that breaks it."""

    text: str
    language: Language
    conditional: bool
    breaks: str


def find_places(rule: Rule) -> tuple[int, int]:
    """Count the places where a rule's own violation is found, and all places that were tried."""
    constraint = Constraint(id="rule", text=rule.text)
    bare = _MARKS.sub("", rule.breaks)
    texts = dict.fromkeys((rule.breaks, bare, f"“{bare}”"))
    positions = [None, *(Position(entry.document) for entry in BOOK.entries)]
    tried = [(text, position) for text in texts for position in positions]
    found = [
        bool(check_text(text, [constraint], rule.language, position=position, timeline=BOOK))
        for text, position in tried
    ]
    return sum(found), len(found)


def is_found(rule: Rule) -> bool:
    """Whether the violation of a rule is found in its own text, somewhere in the book."""
    constraint = Constraint(id="rule", text=rule.text)
    return bool(check_text(rule.breaks, [constraint], rule.language, position=Position("ch-1"), timeline=BOOK))


def main() -> None:
    """Read all rules, and print how they fare."""
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--data", type=Path, default=BUNDLED, help="rules as JSON, one a line")
    options = parser.parse_args()
    rules = [msgspec.json.decode(line, type=Rule) for line in options.data.read_bytes().splitlines() if line.strip()]
    rows: list[tuple[str, str, str]] = []
    enforced = 0
    for rule in (rule for rule in rules if rule.conditional):
        found, tried = find_places(rule)
        if found:
            rows.append((rule.language, rule.text, "everywhere" if found == tried else "where its condition holds"))
        enforced += found == tried
    plain = [rule for rule in rules if not rule.conditional]
    missed = [rule for rule in plain if not is_found(rule)]
    rows += [(rule.language, rule.text, describe(rule)) for rule in missed]
    if not options.json:
        show("Rules", ("language", "rule", "enforced"), rows)
    report(
        {
            "rules": len(rules),
            "enforced_without_condition": enforced,
            "understood_share": share(len(plain) - len(missed), plain),
            **{
                f"understood_share_{language}": share(
                    sum(rule.language == language and rule not in missed for rule in plain),
                    [rule for rule in plain if rule.language == language],
                )
                for language in ("en", "zh")
            },
        },
        as_json=options.json,
    )


def share(count: int, rules: Sequence[Rule]) -> float:
    """Return a count as a share of some rules."""
    return count / max(len(rules), 1)


def describe(rule: Rule) -> str:
    """Say why the violation of a rule without a condition is not found."""
    return "no: not understood" if read_rule(rule.text).check is None else "no: understood otherwise"


if __name__ == "__main__":
    main()

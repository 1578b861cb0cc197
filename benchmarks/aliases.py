"""Aliases in a novel with many people: how many mentions have one owner, and how many have several.

python -m benchmarks.aliases --aliases FILE --data FILE [--novel NAME] [--json]

ALIASES is a list of people, each with `name` and other names; DATA holds chapters as in the other benchmarks.
Every occurrence of an alias in the novel that is not part of a longer listed name is looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from benchmarks.figures import arguments, report, show
from benchmarks.names import make_longest_finder
from fabula.text.names.disambiguation import resolve_mentions
from fabula.text.names.matcher import NameMatcher, NameRules


def read_people(path: Path) -> dict[str, tuple[str, ...]]:
    """Everybody's names, by the first of them."""
    found: dict[str, tuple[str, ...]] = {}
    for row in json.loads(path.read_text("utf-8")):
        flat = [name for value in row.values() for name in _flatten(value)]
        names = tuple(dict.fromkeys(name for name in flat if 2 <= len(name) <= 6))
        if names:
            found[f"{names[0]}#{len(found)}"] = names
    return found


def _flatten(value: object) -> list[str]:
    """The names in a name, a list of them, or rows that hold one each."""
    if isinstance(value, list):
        return [name for one in value for name in _flatten(one)]
    if isinstance(value, dict):
        return _flatten(value.get("name"))
    return [value.strip()] if isinstance(value, str) and value.strip() else []


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--aliases", type=Path, required=True)
    parser.add_argument("--novel", default="三国演义")
    options = parser.parse_args()
    people = read_people(options.aliases)
    known = NameMatcher(people, rules=dict.fromkeys(people, NameRules(is_person=True)))
    file = options.data / "chapters.jsonl" if options.data.is_dir() else options.data
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    texts = [row["text"] for row in rows if options.novel in row["novel"]]
    certain: Counter[str] = Counter()
    several: Counter[str] = Counter()
    wrong = 0
    owners: dict[str, set[str]] = {}
    for person, names in people.items():
        for name in names:
            owners.setdefault(name, set()).add(person)
    anywhere = make_longest_finder(set(owners))
    missed: Counter[str] = Counter()
    for text in texts:
        found = resolve_mentions(known.find(text))
        for mention in found:
            wrong += set(mention.owners) != owners[mention.surface]
            (certain if mention.is_certain else several)[mention.surface] += 1
        seen = {(mention.start, mention.end) for mention in found}
        missed.update(text[start:end] for start, end in anywhere(text) - seen)
    top = [(name, count, "one") for name, count in certain.most_common(8)]
    top += [(name, count, f"one of {len(owners[name])}") for name, count in several.most_common(8)]
    show(f"{options.novel}, {len(people)} people", ("alias", "mentions", "means"), top)
    report(
        {
            "resolved": certain.total(),
            "ambiguous": several.total(),
            "wrong": wrong,
            "left_out": missed.total(),  # taken for pieces of other words
            "people": len(people),
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()

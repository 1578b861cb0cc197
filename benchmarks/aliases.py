"""Aliases of a large cast: how often each mention means one person, and how often one of several.

python -m benchmarks.aliases --aliases FILE --data FILE [--novel NAME] [--json]

ALIASES is a list of people, each with `name` and other names; DATA holds chapters as in the other benchmarks.
Every occurrence of an alias in the novel that is not part of a longer listed name is looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from benchmarks.figures import arguments, report, show
from benchmarks.names import longest
from fabula.text.names.disambiguation import mentions
from fabula.text.names.matcher import Names, Rules


def people(path: Path) -> dict[str, tuple[str, ...]]:
    """Everybody's names, by the first of them."""
    found: dict[str, tuple[str, ...]] = {}
    for row in json.loads(path.read_text("utf-8")):
        flat = [name for value in row.values() for name in _flat(value)]
        names = tuple(dict.fromkeys(name for name in flat if 2 <= len(name) <= 6))
        if names:
            found[f"{names[0]}#{len(found)}"] = names
    return found


def _flat(value: object) -> list[str]:
    """The names in a name, a list of them, or rows that hold one each."""
    if isinstance(value, list):
        return [name for one in value for name in _flat(one)]
    if isinstance(value, dict):
        return _flat(value.get("name"))
    return [value.strip()] if isinstance(value, str) and value.strip() else []


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--aliases", type=Path, required=True)
    parser.add_argument("--novel", default="三国演义")
    options = parser.parse_args()
    cast = people(options.aliases)
    known = Names(cast, rules=dict.fromkeys(cast, Rules(person=True)))
    file = options.data / "chapters.jsonl" if options.data.is_dir() else options.data
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    texts = [row["text"] for row in rows if options.novel in row["novel"]]
    certain: Counter[str] = Counter()
    several: Counter[str] = Counter()
    wrong = 0
    owners: dict[str, set[str]] = {}
    for person, names in cast.items():
        for name in names:
            owners.setdefault(name, set()).add(person)
    anywhere = longest(set(owners))
    missed: Counter[str] = Counter()
    for text in texts:
        found = mentions(known.find(text))
        for mention in found:
            wrong += set(mention.owners) != owners[mention.surface]
            (certain if mention.certain else several)[mention.surface] += 1
        seen = {(mention.start, mention.end) for mention in found}
        missed.update(text[start:end] for start, end in anywhere(text) - seen)
    top = [(name, count, "one") for name, count in certain.most_common(8)]
    top += [(name, count, f"one of {len(owners[name])}") for name, count in several.most_common(8)]
    show(f"{options.novel}, {len(cast)} people", ("alias", "mentions", "means"), top)
    report(
        {
            "resolved": certain.total(),
            "ambiguous": several.total(),
            "wrong": wrong,
            "left_out": missed.total(),  # taken for pieces of other words
            "people": len(cast),
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()

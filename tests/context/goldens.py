"""Golden prompts: what the engine is held to, byte for byte.

A golden is a file in `tests/golden`: a short head (tokens, stable prefix, roles, warnings), a line, and
the prompt. `tests/golden/prefixes.json` holds, for each scenario, the chain of stable prefix hashes of
its requests, so a prefix that moves is seen even where nobody reads the prompts.
`FABULA_GOLDEN=write` writes both anew; read the difference before you keep it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from fabula.context import Result

FOLDER = Path(__file__).parent.parent / "golden"
PREFIXES = FOLDER / "prefixes.json"
WRITING = os.environ.get("FABULA_GOLDEN") == "write"
_LINE = "\n" + "=" * 80 + "\n"


def golden_text(result: Result) -> str:
    """The file's content."""
    roles = " ".join(message.role for message in result.messages)
    head = [
        f"tokens: {result.token_count} of {result.budget.total}",
        f"stable prefix: {result.stable_prefix_hash}",
        f"unchanged: {'yes' if result.stable_prefix_unchanged else 'no'}",
        f"roles: {roles}",
        *(f"warning: {warning}" for warning in result.warnings),
    ]
    return "\n".join(head) + _LINE + result.prompt + "\n"


def file_names(name: str, results: Sequence[Result]) -> list[str]:
    """One file a request; numbered where a scenario has several."""
    return [f"{name}.txt"] if len(results) == 1 else [f"{name}-{n}.txt" for n in range(1, len(results) + 1)]


def same_as_golden(name: str, results: Sequence[Result]) -> None:
    """Every prompt is the golden one, byte for byte."""
    for file, result in zip(file_names(name, results), results, strict=True):
        path, text = FOLDER / file, golden_text(result)
        if WRITING:
            path.write_bytes(text.encode())
        assert path.exists(), f"there is no golden {file}; run with FABULA_GOLDEN=write and read it"
        assert text == path.read_bytes().decode(), f"{file} differs; if it should, run with FABULA_GOLDEN=write"


def same_prefixes(name: str, results: Sequence[Result]) -> None:
    """The stable prefixes are those the chain of hashes names."""
    chain = [result.stable_prefix_hash for result in results]
    known: dict[str, list[str]] = json.loads(PREFIXES.read_text("utf-8")) if PREFIXES.exists() else {}
    if WRITING and known.get(name) != chain:
        known[name] = chain
        PREFIXES.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", "utf-8")
    assert known.get(name) == chain, (
        f"the stable prefix of {name!r} moved: every request after this change pays for its whole prompt again. "
        "If that is meant, run with FABULA_GOLDEN=write and say why in the commit."
    )

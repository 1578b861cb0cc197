"""What tests of bad input share: a good request, and the proof that nothing was half done.

"Nothing half done" means here: the same engine answers the next good request exactly as an engine that
never saw the bad one.
"""

from __future__ import annotations

from functools import cache

from fabula.context import (
    Code,
    Engine,
    FabulaError,
    Result,
    View,
)
from tests.context.builders import (
    ask,
    engine,
    refused,
    story,
)

GOOD = ask()
SAME = story()  # nothing changes a view


@cache
def good() -> Result:
    """What an engine that never saw anything bad answers."""
    return engine().assemble(GOOD, SAME)


def unharmed(assembler: Engine, expected: Result | None = None) -> None:
    """The engine answers the next good request exactly as before."""
    expected = expected or good()
    result = assembler.assemble(GOOD, SAME)
    assert result.messages == expected.messages
    assert result.token_count == expected.token_count
    assert result.warnings == expected.warnings
    assert result.continuity == expected.continuity


def refuses(code: Code, view: View | None = None, *, assembler: Engine | None = None, **wishes: object) -> FabulaError:
    """A request is refused, and the engine is none the worse for it."""
    assembler = assembler or engine()
    error = refused(code, lambda: assembler.assemble(ask(**wishes), view or SAME))
    unharmed(assembler)
    return error

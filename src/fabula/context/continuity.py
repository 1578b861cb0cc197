"""Continuity: what one request hands to the next, as an explicit value (ctx-8).

The engine keeps no state between requests. Where a window began, what the retrieved layer held and
in which order: all of that comes out with a result, and goes in with the next request of the same
document or conversation, recipe, model and vantage. Losing it costs cached tokens and nothing else.
"""

from __future__ import annotations

from msgspec import Struct


class Continuity(Struct, frozen=True, kw_only=True):
    """The state after a request, for the next one."""

    prefix_hash: str = ""
    document: str = ""  # conversation and document of the request
    window_start: int | None = None
    window_checksum: int = 0  # of the first characters of the text window
    window_budget: int = 0
    history_start: str | None = None
    retrieved: tuple[str, ...] = ()
    retrieved_tokens: int = 0
    late: tuple[str, ...] = ()
    late_tokens_spent: int = 0
    resend_tokens: int = 0
    unused_requests: dict[str, int] = {}  # by source: for how many requests it was not needed
    rules_left_out: tuple[str, ...] = ()
    source_state: dict[str, bytes] = {}  # by source: the state it saved

    @property
    def is_empty(self) -> bool:
        """Whether no request came before, so that there is no prefix to preserve."""
        return not self.document


NO_CONTINUITY = Continuity()

"""The text before the cursor: where its window begins, and when that moves by a step (bud-3, pre-3)."""

from __future__ import annotations

from fabula.context.candidates import Candidates
from fabula.context.continuity import Continuity
from fabula.context.fit.selection import Selection
from fabula.context.measure import Measure
from fabula.context.recipes.model import Recipe
from fabula.context.trace import Reason
from fabula.core.fragment import Layer
from fabula.core.messages import message
from fabula.text.tokens.paragraphs import NEVER_FITS
from fabula.text.windows import WindowCut


def fit_window(
    candidates: Candidates,
    available: int,
    minimum: int,
    recipe: Recipe,
    before: Continuity,
    measure: Measure,
    selection: Selection,
    *,
    same_place: bool,
) -> None:
    """Decide where the text before the cursor begins: where it began in the last request, or after a step."""
    window, window_tokens, tokenizer = candidates.window, candidates.window_tokens, measure.tokenizer
    if window is None:
        return
    selection.window_budget = available
    start = before.window_start if same_place else None
    # A first request has no cached prefix to preserve: it fills all tokens.
    step = 0.0 if before.is_empty else recipe.window_step
    stepped = max(min(minimum, available), int(available * (1 - step)))
    cut: WindowCut | None = None
    if start is not None and window.still_begins_at(start, before.window_checksum):
        tokens = window.count_tokens_from(tokenizer, start)
        cut = WindowCut(start, tokens) if tokens <= available else None
    # A window that stepped returns to the beginning only where it need not step again soon.
    if window_tokens <= (available if cut is None else stepped):
        cut = WindowCut(window.begin, window_tokens)
    elif cut is None:
        cut = window.fit(tokenizer, stepped) or window.fit(tokenizer, available)
    selection.window_stepped |= start is not None and cut is not None and cut.start != start
    selection.window_cut = cut
    if cut is None:
        selection.outcomes.append((window, Reason.NO_ROOM, 0, ""))
        selection.truncated_layers.add(Layer.IMMEDIATE)
    elif cut.start > window.begin:
        count = window_tokens - cut.tokens
        if count >= NEVER_FITS:
            detail = message("far more than fits")
        elif window.begin > window.paragraphs.starts[0]:  # only a part of the text was counted
            detail = message("at least {count:,} tokens left out", count=count)
        else:
            detail = message("{count:,} tokens left out", count=count)
        selection.outcomes.append((window, Reason.SHORTENED, cut.tokens, detail))
        selection.truncated_layers.add(Layer.IMMEDIATE)
    else:
        selection.outcomes.append((window, Reason.KEPT, cut.tokens, ""))

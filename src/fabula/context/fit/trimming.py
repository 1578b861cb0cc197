"""The trimming order: which part of a prompt over budget gives up tokens first, and how far (bud-3, bud-5).

Over budget, layers are trimmed in one order: retrieved, settings, then of the immediate layer the conversation, the
text after the cursor and the text furthest before it. Of the retrieved layer a recipe may keep some kinds longer than
the conversation. Rules are never cut as text.
"""

from __future__ import annotations

from fabula.context.budget import Budget
from fabula.context.candidates import Candidates, count_fixed
from fabula.context.continuity import Continuity
from fabula.context.fit.droppable import DroppableList
from fabula.context.fit.history import HistoryFit
from fabula.context.fit.retrieved import RetrievedFit, drop_shown_messages, split_kinds
from fabula.context.fit.selection import Selection
from fabula.context.fit.text_after import TextAfterFit
from fabula.context.fit.text_before import fit_window
from fabula.context.measure import Measure, MeasuredFragment
from fabula.context.recipes.model import Recipe
from fabula.context.rules_limit import fit_rules
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer, Tier
from fabula.core.messages import message
from fabula.core.relevance import NEEDED

_LEAST_RETRIEVED = 0.25  # of the retrieved share, which a conversation that will grow leaves until it has grown


def fit(
    candidates: Candidates,
    budget: Budget,
    measure: Measure,
    recipe: Recipe,
    before: Continuity,
    *,
    same_place: bool,
    reselect: bool,
    step_history: bool = False,
) -> Selection:
    """Select within the budget. `same_place`: the last request was of the same document or conversation.

    `step_history`: the conversation gives way to a retrieved layer that is too full.
    """
    selection = Selection()
    fixed = count_fixed(candidates, measure)
    available = budget.layer_tokens - fixed
    if available < 0:
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            message(
                "The instruction and the selection need {fixed} tokens, and this window leaves {left}. "
                "Select less, shorten the instruction, or use a model with a larger window.",
                fixed=fixed,
                left=max(budget.layer_tokens, 0),
            ),
            tokens=fixed,
        )
    last = before if same_place else None
    rules = fit_rules(
        candidates.constraints, candidates.rules, budget, measure, available, last, candidates.rule_blocks
    )
    selection.rules = rules.blocks
    selection.included += (rules.constraints, rules.rules)
    selection.warnings += rules.warnings
    selection.drop(rules.dropped, Reason.RULES_OVERBUDGET, Layer.RULES)
    selection.rules_left_out = tuple(piece.fragment.source for piece in rules.dropped)
    available -= rules.tokens

    own_prompts, others_of_settings = _split_fixed(candidates.settings)
    while own_prompts and sum([piece.tokens for piece in own_prompts]) > available:
        dropped = own_prompts.pop()
        name = dropped.fragment.display_name
        selection.warnings.append(measure.phrases.format_warning(Code.FIXED_PROMPT_DROPPED, name=name))
        selection.drop([dropped], Reason.NO_ROOM, Layer.SETTINGS)
    available -= sum([piece.tokens for piece in own_prompts])

    minimum = budget.profile.immediate.minimum
    late = measure.headings["late"].tokens
    if any(piece.heading for piece in candidates.retrieved):
        late += measure.headings["earlier_end"].tokens
    headings = measure.headings["retrieved"].tokens + late
    if not reselect:  # each block of late joiners has a heading, and may split a message in two
        blocks = len({*before.late_after.values()})
        headings += blocks * (late + 2 * measure.model.tokens_per_message)
        headings += sum(
            piece.heading.tokens
            for piece in candidates.retrieved
            if piece.heading is not None and piece.fragment.source in before.late_after
        )
    retrieved, kept_longest = split_kinds(candidates.retrieved, recipe.kept_longest)
    settings = DroppableList(others_of_settings, measure.settings_tokens)
    editor_state = DroppableList(candidates.editor_state, measure.headings["editor_state"].tokens)
    longest = DroppableList(kept_longest, headings)
    after = TextAfterFit(candidates.after, measure)
    history = HistoryFit(candidates.history, recipe)

    # What the immediate layer is sure to get: its share, and its minimum at the least.
    sure = max(budget.shares[Layer.IMMEDIATE] - fixed - editor_state.tokens - after.tokens, minimum)
    history_share = sure if candidates.window is None else sure // 4
    window = min(candidates.window_tokens, max(sure - min(history.wanted, history_share), minimum))
    others = settings.tokens + editor_state.tokens + after.tokens + longest.tokens + window
    if history.wanted:
        # Beyond its share the conversation costs nothing that is needed now: its window steps before. Settings go.
        needed = sum([piece.tokens for piece in retrieved if piece.fragment.score >= NEEDED])
        room = available - (others - settings.tokens)
        room -= min(needed + headings if needed else 0, budget.shares[Layer.RETRIEVED])
        room = max(room, history_share, history.newest)  # without what was said last, the rest means little
        if before.history_start is not None and same_place:
            selection.window_stepped |= history.move(before.history_start, room, recipe, must_step=step_history)
            selection.history_steps_soon = history.steps_soon and candidates.window is None
        else:
            history.begin(room)

    excess = others + history.reserved - available
    if excess > 0:
        excess -= settings.drop(excess, budget.profile.settings.minimum)
        immediate = fixed + editor_state.tokens + history.reserved + after.tokens + window
        for floor in (minimum, 0):  # first down to the minimum of the immediate layer, then as far as needed
            wanted = min(excess, max(immediate - floor, 0))
            freed = 0
            for part in (editor_state, history):
                freed += part.drop(wanted - freed)
            if not floor:
                excess -= longest.drop(excess - freed)
                wanted = min(wanted, excess)
            freed += after.drop(wanted - freed)
            from_window = min(max(wanted - freed, 0), window)
            window -= from_window
            immediate, excess = immediate - freed - from_window, excess - freed - from_window
            if floor:
                excess -= settings.drop(excess, 0)
    spent = settings.tokens + editor_state.tokens + after.tokens + longest.tokens + history.reserved + window
    # Fragments are dropped whole. What that freed too much goes to the most important that it holds.
    left = max(available - spent, 0)
    left -= history.settle(left)
    for part in (longest, editor_state, settings):
        left -= part.restore(left)

    retrieved = drop_shown_messages(retrieved, history.shown, selection)
    spare = 0 if before.is_empty else int(budget.layer_tokens * recipe.spare_ratio)
    heading = 0 if longest.tokens else headings
    chosen = RetrievedFit(retrieved, left - heading, available - heading, heading)
    least = int(budget.shares[Layer.RETRIEVED] * _LEAST_RETRIEVED)
    joining = least if history.growth else 0  # for what later requests find
    growth = min(history.growth + joining, max(left - heading - spare - least, 0))
    chosen.choose(spare, before, selection, growth=growth, reselect=reselect)
    left -= chosen.tokens
    fit_window(candidates, window + left, minimum, recipe, before, measure, selection, same_place=same_place)
    unused = window + left - (selection.window_cut.tokens if selection.window_cut is not None else 0)
    if unused > left:  # the text stepped
        freed = chosen.add_needed(unused)
        unused, selection.window_budget = unused - freed, selection.window_budget - freed
    selection.history = history.select(unused, selection)
    selection.retrieved = chosen.select(unused, selection)
    if longest.tokens:
        kept = {id(piece) for piece in (*selection.retrieved, *longest.kept)}
        selection.retrieved = [piece for piece in candidates.retrieved if id(piece) in kept]
    longest.select(Layer.RETRIEVED, unused, selection, is_included=False)
    selection.settings = [*settings.select(Layer.SETTINGS, unused, selection), *own_prompts]
    selection.included.append(own_prompts)
    selection.editor_state = editor_state.select(Layer.IMMEDIATE, unused, selection)
    selection.after = after.select(selection)
    selection.included += (candidates.scene, candidates.cursor, candidates.instruction)
    return selection


def _split_fixed(pieces: list[MeasuredFragment]) -> tuple[list[MeasuredFragment], list[MeasuredFragment]]:
    """The fixed prompts among the settings, which are dropped only where they cannot fit (cnv-7), and the rest."""
    fixed = [piece for piece in pieces if piece.fragment.tier == Tier.FIXED]
    return fixed, [piece for piece in pieces if piece.fragment.tier != Tier.FIXED] if fixed else pieces

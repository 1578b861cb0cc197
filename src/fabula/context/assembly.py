"""One assembly, step by step: prepare → gather → select → finish; no input is dropped silently (ctx-14).

    prepare   identity, conditions of the preset, budget, attachments
    gather    sources that run first; what is near the cursor; whether the retrieved layer is reselected
    select    the other sources → gate → fit → order → place → render, again if a window stepped
    finish    trace, continuity and result

Past the sources everything is a pure function of its inputs (ctx-8).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.context.attachments import AttachmentResult, fit_attachments
from fabula.context.budget import Budget, BudgetProfile, Limits, compute_budget
from fabula.context.candidates import (
    Candidates,
    apply_limits,
    drop_attachments,
    drop_summaries,
    fragment_names,
    limit_injected,
    sort_candidates,
)
from fabula.context.continuity import Continuity, find_held_knowers
from fabula.context.fit import Selection, fit
from fabula.context.gate import Gate
from fabula.context.gather import (
    GatheredFragments,
    Gatherer,
    SourceGroup,
    collect_source_state,
    describe_failure,
    explain_offered,
    find_character_name,
)
from fabula.context.measure import Measure
from fabula.context.nearby import Nearby, find_nearby
from fabula.context.order import (
    RetrievedOrder,
    count_unused_requests,
    find_first_offsets,
    order_retrieved,
    select_previously_included,
)
from fabula.context.place import PlacedPrompt, place, trace_preset
from fabula.context.preset_macros import expand_preset
from fabula.context.reasons import explain_gate
from fabula.context.recipes import CompletePreset, Recipe
from fabula.context.recipes.conditions import ConditionContext, ConditionResult, evaluate_conditions
from fabula.context.render import RenderedPrompt, render
from fabula.context.request import HistoryWindow, Request, SourceRequest, has_limits
from fabula.context.result import Result
from fabula.context.trace import EXPLANATIONS, Reason, Trace, Verdict
from fabula.context.vantage import at_stored_position
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.messages import Sentence, join_names, plural
from fabula.core.relevance import PREVIOUSLY_INCLUDED
from fabula.core.story import Vantage
from fabula.core.view import View
from fabula.text.macros import MacroExpander
from fabula.text.offsets import normalise
from fabula.text.windows import TextWindow

log = logging.getLogger("fabula.context")

MAX_LOGGED_RULES = 1_000  # sets of rules of projects

_CONDITION_STATE = "preset:timed"  # the key in the source state for messages that are active or resting
_VARIABLE_STATE = "macros"  # and for the variables of macros
_UNLIMITED = 1 << 40
_HIDING = (Reason.NOT_KNOWN, Reason.NOT_YET, Reason.NO_LONGER, Reason.EXCLUDED)  # what is to be included all the same
_MAX_FITS = 10  # fits tried where token counts do not add up,
_SMALL_STEPS = 6  # of which the first leave out little; what is cut may be cut in large pieces


class RecipeSources(Struct, frozen=True):
    """The sources of a recipe: those that run first, and the others."""

    first: SourceGroup
    others: SourceGroup


class _Prepared(Struct, frozen=True):
    measure: Measure
    identity: str
    preset: CompletePreset  # without the messages whose condition does not hold
    conditions: ConditionResult | None
    budget: Budget
    attachments: AttachmentResult
    source_request: SourceRequest


class _Selected(Struct, frozen=True):
    candidates: Candidates
    selection: Selection
    order: RetrievedOrder
    placed: PlacedPrompt
    rendered: RenderedPrompt


class LoggedRules:
    """The sets of rules that were logged as left out of a project, so that each is logged once; few are remembered."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, frozenset[str]], None] = {}

    def is_new(self, project_id: str, rules: Sequence[str]) -> bool:
        """Whether a set of rules was not logged yet for a project; it counts as logged from now on."""
        key = project_id, frozenset(rules)
        if key in self._logged:
            return False
        if len(self._logged) >= MAX_LOGGED_RULES:
            self._logged.clear()
        self._logged[key] = None
        return True


class Assembly(Struct, kw_only=True):
    """One assembly: what stays the same in all its steps."""

    request: Request
    view: View
    recipe: Recipe
    preset: CompletePreset
    fragments: Sequence[Fragment]
    before: Continuity
    sources: RecipeSources
    gatherer: Gatherer
    limits: Limits
    logged_rules: LoggedRules
    dry_run: bool
    vantage: Vantage
    place: str  # the conversation and document of the request, as a continuity names them
    same_place: bool  # the last request was of the same conversation and document

    def run(self, measure: Measure, profile: BudgetProfile, warnings: Sequence[str]) -> Result:
        """Assemble the prompt; `warnings` are those of the engine."""
        prepared = self.prepare(measure, profile)
        first, source_request = self.gather(prepared)
        source_request, selected, more = self.select(prepared, first, source_request)
        unknown = source_request.macros.unknown
        if unknown:
            names = join_names([f"{{{{{name}}}}}" for name in unknown])
            more.append(measure.phrases.format_warning(Code.MACRO_UNKNOWN, names=names))
        return self.finish(prepared, source_request, selected, (*warnings, *more))

    def prepare(self, measure: Measure, profile: BudgetProfile) -> _Prepared:
        """Everything that is known before a source is asked for material."""
        request, recipe = self.request, self.recipe
        own = self.view.project.identity if request.identity is None else request.identity
        identity = measure.phrases.identity if own is None else own
        conditional = self.preset.conditions
        preset, conditions = self.preset.without_nodes(conditional) if conditional else self.preset, None
        budget = compute_budget(measure, recipe, preset, identity, profile, request.reply_tokens)
        source_request = SourceRequest(
            request=request,
            vantage=self.vantage,
            language=self.view.project.language,
            tokenizer=measure.tokenizer,
            token_shares=budget.shares,
            available_tokens=budget.layer_tokens,
            macros=MacroExpander(request.macros, self._load_variables()),
        )
        if conditional:
            context = self._condition_context(source_request, measure)
            conditions = evaluate_conditions(conditional, context)
            preset = self.preset.without_nodes(conditions.unmet)
        expanded, own = expand_preset(preset, identity, source_request.macros)
        if conditional or expanded is not preset:
            preset, identity = expanded, own
            budget = compute_budget(measure, recipe, preset, identity, profile, request.reply_tokens)
        # A share is at least its minimum, which in a small window may be more than there is.
        available = min(budget.shares[Layer.IMMEDIATE], budget.layer_tokens) // 2
        attachments = fit_attachments(request.attachments, request.project_id, measure, available)
        if attachments.tokens or request.added_tokens:
            budget = budget.reserve(attachments.tokens + request.added_tokens)
        if budget.shares is not source_request.token_shares:
            source_request = replace(source_request, token_shares=budget.shares, available_tokens=budget.layer_tokens)
        return _Prepared(measure, identity, preset, conditions, budget, attachments, source_request)

    def gather(self, prepared: _Prepared) -> tuple[GatheredFragments, SourceRequest]:
        """Ask the sources that run first, and complete the request for the others."""
        before, recipe, share = self.before, self.recipe, prepared.budget.shares[Layer.RETRIEVED]
        history_window = HistoryWindow(
            recipe.history_tokens,
            recipe.history_messages,
            recipe.history_characters,
            before.history_start if self.same_place else None,
            recipe.step_kinds,
        )
        first_request = replace(prepared.source_request, history_window=history_window)
        first = self._ask(self.sources.first, first_request, prepared.measure)
        fragments = [*self.fragments, *chain.from_iterable(first.groups)]
        nearby, text = self._find_nearby(fragments, first_request.vantage)
        # A retrieved layer beyond its share is reduced with a new chapter, and far beyond it at any time.
        only_recent = before.retrieved_tokens > (2 * share if self.same_place else share)
        window = next((one for one in fragments if isinstance(one, TextWindow)), None)
        vantage = at_stored_position(first_request.vantage, window)
        source_request = replace(
            first_request,
            vantage=vantage,
            nearby=nearby,
            text_before_cursor=text,
            previously_included=self._previously_included(vantage, only_recent=only_recent),
            previously_placed=frozenset(before.placed),
            reselect=only_recent or self._must_reselect(text, prepared.measure),
            source_state=before.source_state if self.same_place else {},
            warnings=[],
        )
        warnings = [*prepared.attachments.warnings, *first.warnings, *first_request.warnings]
        return GatheredFragments([fragments], warnings, first.input_rendered), source_request

    def select(
        self, prepared: _Prepared, first: GatheredFragments, source_request: SourceRequest
    ) -> tuple[SourceRequest, _Selected, list[str]]:
        """Ask the other sources, and select, order, place and render what they offer.

        The sources are asked again where the outcome differs from what they were told: a window stepped or the
        retrieved layer is too full, so the layer is selected anew; or the history begins with another message.
        """
        measure = prepared.measure
        excluded = frozenset(name for name in self.request.exclude if name)
        is_first_try, step_history, described = True, False, prepared.attachments.described
        while True:
            others = self._ask(self.sources.others, source_request, measure)
            groups = [*first.groups, *others.groups, described]
            if not (first.input_rendered or others.input_rendered):
                groups.append(self._render_input(groups))
            gate = Gate(self.request.project_id, source_request.vantage, self.view.timeline)
            candidates = sort_candidates(groups, gate, measure, excluded)
            limited = drop_attachments(candidates, prepared.budget.layer_tokens, measure) if described else []
            limited += limit_injected(candidates, self.recipe.injected_characters, measure)
            drop_summaries(candidates)
            limited += apply_limits(candidates, self.limits, measure, source_request.previously_included)
            selected = self._fit(prepared, candidates, reselect=source_request.reselect, step_history=step_history)
            selection, window = selected.selection, source_request.history_window
            first_shown = selection.history[0].fragment.source if selection.history else ""
            must_reselect = not source_request.reselect and (selection.window_stepped or selection.retrieved_crowded)
            is_cut = len(selection.history) < len(candidates.history)
            if not must_reselect and not (is_first_try and is_cut and first_shown != window.first_shown):
                own = dict.fromkeys(source_request.warnings)
                warnings = [*first.warnings, *others.warnings, *own, *limited, *selection.warnings]
                warnings += [
                    *selected.placed.warnings,
                    *self._warn_of_includes(groups, candidates, source_request, measure),
                ]
                return source_request, selected, warnings
            is_first_try = False
            source_request = replace(
                source_request, history_window=replace(window, first_shown=first_shown), warnings=[]
            )
            if must_reselect:
                # All behind a layer that is selected anew is sent anew: a conversation that steps soon steps now.
                step_history = selection.retrieved_crowded and selection.history_steps_soon
                only_recent = selection.retrieved_crowded and not step_history
                included = self._previously_included(source_request.vantage, only_recent=only_recent)
                source_request = replace(source_request, reselect=True, previously_included=included)

    def finish(
        self, prepared: _Prepared, source_request: SourceRequest, selected: _Selected, warnings: tuple[str, ...]
    ) -> Result:
        """The result, with its trace and the continuity for the next request."""
        measure, selection, order, rendered = prepared.measure, selected.selection, selected.order, selected.rendered
        without_anchor = selected.placed.without_anchor
        outcomes = [*prepared.attachments.outcomes, *selected.candidates.outcomes, *selection.outcomes]
        outcomes += [(piece.fragment, Reason.LATE, piece.tokens, "") for piece in order.late]
        lost = [piece for piece in order.main if piece.fragment.source in without_anchor] if without_anchor else []
        outcomes += [(piece.fragment, Reason.ANCHOR_MISSING, piece.tokens, "") for piece in lost]
        selection.included.append([piece for piece in order.main if piece not in lost] if lost else order.main)
        left_out = selection.rules_left_out
        if left_out and self.logged_rules.is_new(self.request.project_id, left_out):
            log.warning("rules left out of project %s: %s", self.request.project_id, ", ".join(left_out))
        continuity = self.before if self.dry_run else self._make_continuity(prepared, source_request, selected)
        omitted = self._explain_omitted(source_request) if self.dry_run else []
        unmet = prepared.conditions.unmet if prepared.conditions is not None else {}

        sources = (*self.sources.first.sources, *self.sources.others.sources)

        def explain(fragment: Fragment, reason: Reason) -> Sentence | None:
            names = partial(find_character_name, sources, view=self.view)
            vantage, timeline = source_request.vantage, self.view.timeline
            return explain_gate(fragment.visibilities, reason, vantage, timeline, names, made_of=fragment.made_of)

        def purposes() -> dict[str, Sentence]:
            return explain_offered(sources, source_request, self.view)

        def more_verdicts() -> list[Verdict]:
            expanded = dict(zip(prepared.preset.names, prepared.preset.nodes, strict=True))
            nodes = [expanded.get(*named) for named in zip(self.preset.names, self.preset.nodes, strict=True)]
            preset = replace(self.preset, nodes=tuple(nodes))
            return [*trace_preset(preset, unmet, without_anchor, measure), *omitted]

        return Result(
            rendered=rendered,
            stable_prefix_unchanged=rendered.prefix_hash == self.before.prefix_hash,
            truncated_layers=selection.truncated_layers,
            retrieved_count=len(order.main) + len(order.late),
            warnings=warnings,
            unknown_macros=tuple(source_request.macros.unknown),
            trace=Trace(
                outcomes, selection.included, selected.candidates.not_revealed, more_verdicts, explain, purposes
            ),
            continuity=continuity,
            budget=prepared.budget,
            vantage=source_request.vantage,
            model=measure.model,
            exact=measure.tokenizer.exact,
        )

    def _load_variables(self) -> dict[str, str]:
        """The variables of macros after the last request of this place."""
        state = self.before.source_state.get(_VARIABLE_STATE) if self.same_place else None
        try:
            return msgspec.json.decode(state, type=dict[str, str]) if state else {}
        except msgspec.DecodeError:
            return {}

    def _ask(self, group: SourceGroup, source_request: SourceRequest, measure: Measure) -> GatheredFragments:
        return self.gatherer.gather(group, source_request, self.view, measure.phrases)

    def _previously_included(self, vantage: Vantage, *, only_recent: bool) -> tuple[str, ...]:
        offset = _offset_of(vantage) if self.same_place else None
        return select_previously_included(
            self.before, offset, only_recent=only_recent, unused_limit=self.recipe.unused_limit
        )

    def _condition_context(self, source_request: SourceRequest, measure: Measure) -> ConditionContext:
        """What conditions depend on. All messages that may be known here count, however far back."""
        request, recipe = self.request, self.recipe
        offered = self._ask(self.sources.first, replace(source_request, available_tokens=_UNLIMITED), measure)
        fragments = self._omit_hidden([*self.fragments, *chain.from_iterable(offered.groups)], source_request.vantage)
        messages = [fragment.text for fragment in fragments if fragment.part is Part.HISTORY]
        if request.additional_input.strip():
            messages.append(request.additional_input)
        state = self.before.source_state.get(_CONDITION_STATE, b"") if self.same_place else b""
        return ConditionContext(
            project_id=request.project_id,
            scope=request.conversation_id or request.document_id,
            messages=messages,
            nearby_texts=[nearby.text for nearby in self._find_nearby(fragments, source_request.vantage)[0]],
            modes=frozenset(name for name in (recipe.name, request.skill_id, request.mode) if name),
            model=request.model,
            active_since=msgspec.json.decode(state, type=dict[str, int]) if state else {},
        )

    def _find_nearby(
        self, fragments: Sequence[Fragment], vantage: Vantage
    ) -> tuple[tuple[Nearby, ...], TextWindow | None]:
        """The nearby texts that may be known here: names in others lead to nothing (ctx-12)."""
        return find_nearby(self._omit_hidden(fragments, vantage), self.request.additional_input)

    def _omit_hidden(self, fragments: Sequence[Fragment], vantage: Vantage) -> Sequence[Fragment]:
        """The fragments that the gate lets pass."""
        gate = Gate(self.request.project_id, vantage, self.view.timeline)
        limited = [fragment for fragment in fragments if not fragment.is_unrestricted]
        hidden = {id(one) for one in limited if gate.judge(one) not in (None, Reason.NOT_REVEALED)}
        return [fragment for fragment in fragments if id(fragment) not in hidden] if hidden else fragments

    def _must_reselect(self, text: TextWindow | None, measure: Measure) -> bool:
        """Whether the retrieved layer is selected anew: in another place, or where the text window must step."""
        before, start = self.before, self.before.window_start
        if not self.same_place or text is None or start is None:
            return not self.same_place
        if not text.still_begins_at(start, before.window_checksum):
            return True
        return text.count_tokens_from(measure.tokenizer, start) > before.window_budget

    def _render_input(self, groups: Iterable[Sequence[Fragment]]) -> list[Fragment]:
        """The input as the last user message, unless it is already an instruction or the newest message (ctx-14)."""
        text = normalise(self.request.additional_input).strip()
        if not text:
            return []
        fragments = list(chain.from_iterable(groups))
        messages = [fragment for fragment in fragments if fragment.part is Part.HISTORY]
        instructions = [fragment for fragment in fragments if fragment.part is Part.INSTRUCTION]
        if any(fragment.text.strip() == text for fragment in (*instructions, *messages[-1:])):
            return []
        return [
            Fragment(
                source="input",
                layer=Layer.IMMEDIATE,
                text=text,
                project_id=self.request.project_id,
                part=Part.INSTRUCTION,
                score=1.0,
            )
        ]

    def _fit(self, prepared: _Prepared, candidates: Candidates, *, reselect: bool, step_history: bool) -> _Selected:
        """Fit, order, place and render; again with fewer tokens where the counts did not add up."""
        request, recipe, budget, measure = self.request, self.recipe, prepared.budget, prepared.measure
        attachments = prepared.attachments
        late_joiners = recipe.late_joiners if request.late_joiners is None else request.late_joiners
        for attempt in range(_MAX_FITS):
            selection = fit(
                candidates,
                budget,
                measure,
                recipe,
                self.before,
                same_place=self.same_place,
                reselect=reselect,
                step_history=step_history,
            )
            order = order_retrieved(
                selection.retrieved,
                self.before,
                selection.history,
                reselect=reselect,
                late_joiners=late_joiners,
                last_kinds=recipe.last_kinds,
            )
            placed = place(prepared.preset, candidates, selection, order, measure, prepared.identity)
            rendered = render(placed.slots, recipe, measure, attachments.sent, attachments.tokens, request.added_tokens)
            excess = rendered.tokens - budget.total
            if excess <= 0:
                return _Selected(candidates, selection, order, placed, rendered)
            budget = budget.reserve((excess + 1) << max(attempt - _SMALL_STEPS + 1, 0))
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            plural(
                excess,
                "What cannot be left out needs one token more than this window has. Use a larger window, "
                "a shorter instruction or fewer rules.",
                "What cannot be left out needs {count} tokens more than this window has. Use a larger window, "
                "a shorter instruction or fewer rules.",
            ),
        )

    def _warn_of_includes(
        self,
        groups: Iterable[Sequence[Fragment]],
        candidates: Candidates,
        source_request: SourceRequest,
        measure: Measure,
    ) -> list[str]:
        """Warn of names to include that no fragment has, or whose fragments may not be known here (ctx-14).

        A principal with limits is told of both in the same words.
        """
        if not self.request.include:
            return []
        offered = list(chain.from_iterable(groups))
        hidden = {id(one): reason for one, reason, *_ in candidates.outcomes if reason in _HIDING}
        sources = (*self.sources.first.sources, *self.sources.others.sources)
        names_of = partial(find_character_name, sources, view=self.view)
        warnings: list[str] = []
        for number, name in enumerate(self.request.include):
            own = [fragment for fragment in offered if name in fragment_names(fragment)]
            if own and any(id(one) not in hidden for one in own):
                continue
            if not own or has_limits(self.request.principal):
                warnings.append(measure.phrases.format_warning(Code.NAME_UNKNOWN, name=name))
                continue
            reason = hidden[id(own[0])]
            limits, vantage = own[0].visibilities, source_request.vantage
            timeline, made_of = self.view.timeline, own[0].made_of
            why = explain_gate(limits, reason, vantage, timeline, names_of, made_of=made_of) or EXPLANATIONS[reason]
            called = self.request.include_names[number : number + 1]  # its title may be what must not be known
            warnings.append(
                measure.phrases.format_warning(Code.INCLUDE_HIDDEN, name=called[0] if called else name, why=why)
            )
        return warnings

    def _make_continuity(self, prepared: _Prepared, source_request: SourceRequest, selected: _Selected) -> Continuity:
        selection, order, rendered = selected.selection, selected.order, selected.rendered
        cut, window = selection.window_cut, selected.candidates.window
        shown = (cut.tokens if cut is not None else 0) + sum([piece.tokens for piece in selection.history])
        # Late joiners are sent again with each request where a text before them grows, or no message is before them.
        resent = [piece for piece in order.late if cut is not None or not order.late_after[piece.fragment.source]]
        late_tokens = 0
        if resent and not source_request.reselect:
            late_tokens = self.before.late_tokens_spent + sum([piece.tokens for piece in resent])
        main, late = [piece.fragment for piece in order.main], [piece.fragment for piece in order.late]
        layer = (*main, *late)
        sources = [one.source for one in layer]
        common = [one for one in layer if one.placement is None]
        state = collect_source_state(self.sources.others.stateful, source_request, self.view)
        if prepared.conditions is not None and prepared.conditions.active_since:
            state[_CONDITION_STATE] = msgspec.json.encode(prepared.conditions.active_since)
        if source_request.macros.variables:
            state[_VARIABLE_STATE] = msgspec.json.encode(source_request.macros.variables)
        followed = [*(piece.fragment for piece in selection.history), *common, *([] if window is None else [window])]
        held = [one.source for one in common if one.score == PREVIOUSLY_INCLUDED]
        return Continuity(
            prefix_hash=rendered.prefix_hash,
            document=self.place,
            window_start=cut.start if cut is not None else None,
            window_checksum=window.checksum_at(cut.start) if window is not None and cut is not None else 0,
            window_budget=selection.window_budget,
            history_start=selection.history[0].fragment.source if selection.history else None,
            retrieved=tuple(sources[: len(main)]),
            placed=tuple([one.source for one in main if one.placement is not None]) if len(common) < len(layer) else (),
            retrieved_tokens=rendered.tokens_of("retrieved"),
            selection_count=self.before.selection_count + source_request.reselect,
            late=tuple(sources[len(main) :]),
            late_after=order.late_after,
            late_tokens_spent=late_tokens,
            resend_tokens=shown,
            unused_requests=count_unused_requests(layer, self.before),
            included_at=find_first_offsets(
                sources, self.before, self._find_last_offset(source_request.vantage), same_place=self.same_place
            ),
            rules_left_out=selection.rules_left_out,
            source_state=state,
            known_to=self._find_knowers(followed),
            held_known_to=find_held_knowers(self.before, held),
            followed_documents=self._list_documents(followed, has_held=bool(held)),
        )

    def _find_last_offset(self, vantage: Vantage) -> int:
        """The offset up to which the request shows its document: the selected text may stand behind the cursor."""
        return max(_offset_of(vantage), *(self.request.selection or (0,)))

    def _list_documents(self, fragments: Iterable[Fragment], *, has_held: bool) -> tuple[str, ...]:
        """Return the documents whose text a speaker's prompt tells, and of which its selection followed before."""
        if not self.request.speaker_id:
            return ()
        own = frozenset[str]().union(*(one.made_of for one in fragments))
        return tuple(sorted(own.union(self.before.followed_documents) if has_held else own))

    def _find_knowers(self, fragments: Iterable[Fragment]) -> tuple[str, ...] | None:
        """Return who knows the input and all fragments in the common part of the prompt; None: everybody."""
        audience = self.request.input_known_to
        known = {one.known_to for one in fragments if one.placement is None}
        limits = [one for one in (*known, None if audience is None else frozenset(audience)) if one is not None]
        return tuple(sorted(frozenset.intersection(*limits))) if limits else None

    def _explain_omitted(self, source_request: SourceRequest) -> list[Verdict]:
        """For a dry run: what sources did not offer. Blocking sources are not asked."""
        omitted: list[Verdict] = []
        first, others = self.sources.first, self.sources.others
        for source in (*first.sources, *others.sources):
            if source in first.blocking or source in others.blocking:
                continue
            try:
                omitted.extend(source.explain_omitted(source_request, self.view))
            except Exception as error:
                log.warning("source %s could not say what it left out: %s", source.name, describe_failure(error))
        return omitted


def _offset_of(vantage: Vantage) -> int:
    """The offset of a vantage in its document; 0 for one without a place in the story."""
    return vantage.position.offset if vantage.position is not None else 0

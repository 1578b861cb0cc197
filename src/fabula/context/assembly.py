"""Run: one assembly under way, step by step.

A run holds what stays the same while windows step and sums are made again: the request, the view, and
what the last request left. Everything it decides goes out with the result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from fabula.context.attachments import attach
from fabula.context.budget import Budget, Limits, Profile, make_budget, reply_reserve
from fabula.context.candidates import Offer, names_of, shape
from fabula.context.continuity import NOTHING, Continuity
from fabula.context.fit import Fitting, fit
from fabula.context.gate import Gate
from fabula.context.gather import Gathered, Gatherer, Line, left_by
from fabula.context.measure import Measure
from fabula.context.nearby import nearby
from fabula.context.order import Order, arrange, held_over, next_idle
from fabula.context.place import place
from fabula.context.preset_trace import preset_verdicts
from fabula.context.recipes import Preset, Recipe
from fabula.context.recipes.conditions import Moment, Settled, settle
from fabula.context.recipes.preset import conditional
from fabula.context.render import Rendered, render
from fabula.context.request import Ask, Request, Talk
from fabula.context.result import Result
from fabula.context.trace import Outcome, Reason, Trace, Verdict
from fabula.context.vantage import placed, vantage_of
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.relevance import NEEDED
from fabula.core.view import View
from fabula.text.windows import Stretch

log = logging.getLogger("fabula.context")
_TIMED = "preset:timed"  # among what is left behind: which messages stick or rest
_WIDE_OPEN = 1 << 40
_TRIES = 6  # refits allowed where counts do not add up


class Run:
    """One assembly under way: what stays the same while windows step and sums are made again."""

    def __init__(
        self,
        request: Request,
        view: View,
        recipe: Recipe,
        preset: Preset,
        given: Sequence[Fragment],
        before: Continuity,
        *,
        sources: tuple[Line, Line],  # those asked ahead, and the rest
        gatherer: Gatherer,
        limits: Limits,
        dry: bool,
    ) -> None:
        self.request = request
        self.view = view
        self.recipe = recipe
        self.preset = preset
        self.given = given
        self.before = before
        self.sources = sources
        self.gatherer = gatherer
        self.limits = limits
        self.dry = dry
        self.vantage = vantage_of(request, view)
        self.place = f"{request.conversation_id}\x1f{request.document_id}"
        self.same_place = before is not NOTHING and before.document == self.place

    def result(self, measure: Measure, profile: Profile, warnings: list[str]) -> Result:
        request, before, recipe = self.request, self.before, self.recipe
        identity = self.view.project.identity or measure.words.identity
        preset, settled = self._preset(measure, profile, identity)
        key = (preset, recipe.name, identity, request.reply_tokens, profile)
        budget = measure.budgets.get(key)
        if budget is None:
            if len(measure.budgets) > 64:
                measure.budgets.clear()
            budget = measure.budgets[key] = self._budget(measure, profile, preset, identity)
        # A share is at least its minimum, which in a small window may be more than there is.
        room = min(budget.shares[Layer.IMMEDIATE], budget.layers) // 2
        attached = attach(request.attachments, request.project_id, measure, room)
        if attached.tokens:
            budget = budget.less(attached.tokens)

        ask = Ask(
            request=request,
            vantage=self.vantage,
            language=self.view.project.language,
            tokenizer=measure.tokenizer,
            room=budget.shares,
            window=budget.layers,
        )
        ahead = self._gather(self.sources[0], ask, measure)
        desk = [fragment for group in (self.given, *ahead.groups) for fragment in group]
        near, text = nearby(request, desk)
        fresh = self._fresh(text, measure)
        self.vantage = placed(self.vantage, text)
        # A layer that has outgrown its share is tidied up with a new chapter, and far beyond it at any time.
        share = budget.shares[Layer.RETRIEVED]
        tidy = before.retrieved_tokens > (2 * share if self.same_place else share)
        fresh = fresh or tidy
        talk = Talk(recipe.history_tokens, recipe.history_messages, recipe.history_characters)
        talk = replace(talk, since=before.history_start) if self.same_place else talk
        asked = 0
        while True:
            held = held_over(before, tidy=tidy, patience=self.recipe.patience)
            told = Ask(
                request=request,
                vantage=self.vantage,
                language=ask.language,
                tokenizer=ask.tokenizer,
                room=ask.room,
                window=ask.window,
                near=near,
                text=text,
                talk=talk,
                held=held,
                fresh=fresh,
                left=before.left if self.same_place else {},
            )
            rest = self._gather(self.sources[1], told, measure)
            noted = [*warnings, *attached.warnings, *ahead.warnings, *rest.warnings, *dict.fromkeys(told.notes)]
            offered = [desk, *rest.groups, attached.described] if attached.described else [desk, *rest.groups]
            outcomes: list[Outcome] = [*attached.outcomes]
            offer, unrevealed = self._sift(offered, measure, outcomes, noted, frozenset(held))
            fitting, order, rendered, placed_warnings, unanchored = self._settle(
                offer, budget, measure, preset, identity, fresh, attached.sent, attached.tokens
            )
            asked += 1
            moved = not fresh and (fitting.stepped or fitting.crowded)
            begins = fitting.history[0].fragment.source if fitting.history else ""
            unheard = asked == 1 and begins != talk.since and len(fitting.history) < len(offer.history)
            if not moved and not unheard:
                break
            if moved:  # A window stepped, or the layer has no room left: choose it anew, in the same breath.
                fresh, tidy = True, fitting.crowded
            talk = replace(talk, since=begins)  # what the conversation does not show may be found
        noted += fitting.warnings + placed_warnings + self._unheard(offered, measure)
        outcomes += fitting.outcomes
        order.settle(fitting.kept, outcomes, unanchored)
        if fitting.rules_left_out and fitting.rules_left_out != before.rules_left_out:
            log.warning("rules left out of project %s: %s", request.project_id, ", ".join(fitting.rules_left_out))
        told_last = self._continuity(fitting, order, offer, rendered, told, settled, fresh=fresh)
        absent = self._absent(told) if self.dry else []

        def beside() -> list[Verdict]:
            return [*preset_verdicts(self.preset, settled, unanchored, measure), *absent]

        return Result(
            rendered=rendered,
            stable_prefix_unchanged=rendered.prefix_hash == before.prefix_hash,
            truncated=fitting.truncated,
            chunks=len(order.settled) + len(order.late),
            warnings=tuple(noted),
            trace=Trace(outcomes, fitting.kept, unrevealed, beside),
            continuity=before if self.dry else told_last,
            budget=budget,
            vantage=self.vantage,
            model=measure.model,
            exact=measure.tokenizer.exact,
        )

    def _preset(self, measure: Measure, profile: Profile, identity: str) -> tuple[Preset, Settled | None]:
        """The preset as it is for this request: without the messages whose condition does not hold."""
        waiting = conditional(self.preset)
        if not waiting:
            return self.preset, None
        budget = self._budget(measure, profile, self.preset.without(waiting), identity)
        ask = Ask(
            request=self.request,
            vantage=self.vantage,
            language=self.view.project.language,
            tokenizer=measure.tokenizer,
            room=budget.shares,
            window=budget.layers,
        )
        desk = [f for group in (self.given, *self._gather(self.sources[0], ask, measure).groups) for f in group]
        # All that was said counts, however far back: the window is wide open for the conversation alone.
        talk = Line.of(source for source in self.sources[0].sources if source.name == "conversation")
        talked = self._gather(talk, replace(ask, window=_WIDE_OPEN), measure).groups
        settled = settle(
            {name: node.condition for name, node in waiting.items() if node.condition is not None},
            self._moment(desk, [f.text for group in (self.given, *talked) for f in group if f.part is Part.HISTORY]),
        )
        return self.preset.without(settled.unmet), settled

    def _moment(self, desk: Sequence[Fragment], talk: Sequence[str]) -> Moment:
        request = self.request
        spoken = request.additional_input
        left = self.before.left.get(_TIMED, b"") if self.same_place else b""
        return Moment(
            project=request.project_id,
            place=request.conversation_id or request.document_id,
            said=(*talk, spoken) if spoken.strip() else tuple(talk),
            near=tuple(near.text for near in nearby(request, desk)[0]),
            modes=frozenset(name for name in (self.recipe.name, request.skill_id, request.mode) if name),
            model=request.model,
            timed=msgspec.json.decode(left, type=dict[str, int]) if left else {},
        )

    def _budget(self, measure: Measure, profile: Profile, preset: Preset, identity: str) -> Budget:
        """The sums before any fragment: identity, preset messages and what messages cost around their text."""
        model, recipe = measure.model, self.recipe
        fixed = measure.piece(identity.strip()) + model.per_reply
        runs, last = 1, "system"
        for node in preset.nodes:
            if node.content.strip():
                fixed += measure.piece(node.content.strip())
                if node.injection_strategy is not None:
                    runs += 2
            if node.role != last or not (recipe.merge_same_role or recipe.alternate):
                runs += 1
                last = node.role
        runs += 1
        if recipe.alternate:
            fixed += measure.piece(measure.words.first_turn)
            runs += 1
        fixed += runs * model.per_message
        if model.window <= 0:
            raise FabulaError(
                Code.REQUEST_INVALID,
                f"A window of {model.window} tokens holds nothing. Give the size of the model's window, in tokens.",
            )
        reply = reply_reserve(model.window, profile, self.request.reply_tokens)
        if not 0 <= reply < max(model.window, 1):
            raise FabulaError(
                Code.REQUEST_INVALID,
                f"{reply} tokens cannot be kept for the answer in a window of {model.window}. Ask for fewer.",
            )
        budget = make_budget(model.window, reply, fixed, profile)
        if budget.layers <= 0:
            raise FabulaError(
                Code.RULES_TOO_LARGE,
                f"The identity prompt and the preset need {fixed} tokens, and a window of {model.window} with {reply} "
                f"kept for the answer leaves {budget.total}. Use a larger window or a shorter preset. "
                "Nothing was changed.",
            )
        return budget

    def _gather(self, line: Line, ask: Ask, measure: Measure) -> Gathered:
        return self.gatherer.gather(line, ask, self.view, measure.words)

    def _fresh(self, text: Stretch | None, measure: Measure) -> bool:
        """Is the retrieved layer to be chosen anew: another place, or a window that must step?"""
        before = self.before
        start = before.window_start
        if not self.same_place or text is None or start is None:
            return not self.same_place
        return not text.begins(start, before.window_words) or text.cost(measure.tokenizer, start) > before.window_room

    def _sift(
        self,
        offered: Sequence[Sequence[Fragment]],
        measure: Measure,
        outcomes: list[Outcome],
        noted: list[str],
        held: frozenset[str],
    ) -> tuple[Offer, set[int]]:
        """Scope, gate, shape and the limits on what may be asked of one prompt."""
        excluded = frozenset(name for name in self.request.exclude if name)
        gate = Gate(self.request.project_id, self.vantage, self.view.timeline)
        offer, dropped, unrevealed = shape(offered, gate, measure, excluded)
        outcomes += dropped
        self._check_size(offer, measure, held)
        most = self.limits.retrieved_chunks
        if len(offer.retrieved) > most:
            best = sorted(range(len(offer.retrieved)), key=lambda at: -offer.retrieved[at].fragment.score)
            keep = set(best[:most])
            outcomes += [
                (piece.fragment, Reason.CHUNK_LIMIT, piece.tokens, "")
                for at, piece in enumerate(offer.retrieved)
                if at not in keep
            ]
            noted.append(measure.words.warn(Code.RETRIEVED_CHUNK_LIMIT, many=len(offer.retrieved), most=most))
            offer.retrieved = [piece for at, piece in enumerate(offer.retrieved) if at in keep]
        return offer, unrevealed

    def _unheard(self, offered: Sequence[Sequence[Fragment]], measure: Measure) -> list[str]:
        """Names pulled in by hand that nothing answered to."""
        if not self.request.include:
            return []
        heard = {name for group in offered for fragment in group for name in names_of(fragment)}
        lost = [name for name in self.request.include if name not in heard]
        return [measure.words.warn(Code.NAME_UNKNOWN, name=name) for name in lost]

    def _check_size(self, offer: Offer, measure: Measure, held: frozenset[str]) -> None:
        """Refuse what nobody could choose from. Text and what was told before make way instead of counting."""
        most = self.limits.input_tokens
        size = offer.tokens()
        if size > most and held:
            size -= sum(p.tokens for p in offer.retrieved if p.fragment.source in held and p.fragment.score < NEEDED)
        if size > most:
            raise FabulaError(
                Code.INPUT_TOO_LARGE,
                f"{size} tokens were gathered and {most} is the most one prompt is chosen from. "
                "Narrow the search, shorten what is asked, or raise the limit. Nothing was changed.",
                tokens=size,
                most=most,
            )
        if offer.window is not None and offer.window_tokens > most - size:
            cut = offer.window.fit(measure.tokenizer, most - size, paragraphs_only=True)
            if cut is not None:
                offer.window, offer.window_tokens = replace(offer.window, begin=cut.start), cut.tokens

    def _settle(
        self,
        offer: Offer,
        budget: Budget,
        measure: Measure,
        preset: Preset,
        identity: str,
        fresh: bool,
        attachments: tuple[str, ...],
        attached: int,
    ) -> tuple[Fitting, Order, Rendered, list[str], set[str]]:
        """Fit, order, place and render; again with less room where the counts did not add up."""
        late = self.recipe.late_joiners if self.request.late_joiners is None else self.request.late_joiners
        for _ in range(_TRIES):
            fitting = fit(offer, budget, measure, self.recipe, self.before, same_place=self.same_place, fresh=fresh)
            order = arrange(fitting.retrieved, self.before, fresh=fresh, late=late)
            fitting.retrieved = order.settled
            placed = place(preset, offer, fitting, order.late, measure, identity)
            rendered = render(placed.slots, self.recipe, measure, attachments, attached)
            over = rendered.tokens - budget.total
            if over <= 0:
                return fitting, order, rendered, placed.warnings, placed.unanchored
            budget = budget.less(over + 1)
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            f"What cannot be left out needs {over} tokens more than this window has. Use a larger window, "
            "a shorter instruction or fewer rules. Nothing was changed.",
        )

    def _continuity(
        self,
        fitting: Fitting,
        order: Order,
        offer: Offer,
        rendered: Rendered,
        told: Ask,
        settled: Settled | None,
        *,
        fresh: bool,
    ) -> Continuity:
        late_tokens = sum([piece.tokens for piece in order.late])
        shown = fitting.cut.tokens if fitting.cut is not None else 0
        shown += sum([piece.tokens for piece in fitting.history])
        return Continuity(
            prefix_hash=rendered.prefix_hash,
            document=self.place,
            window_start=fitting.cut.start if fitting.cut is not None and offer.window is not None else None,
            window_words=offer.window.words_at(fitting.cut.start) if offer.window and fitting.cut else 0,
            window_room=fitting.window_room,
            history_start=fitting.history[0].fragment.source if fitting.history else None,
            retrieved=tuple([piece.fragment.source for piece in order.settled]),
            late=tuple([piece.fragment.source for piece in order.late]),
            retrieved_tokens=rendered.tokens_of("retrieved"),
            late_spent=self.before.late_spent + late_tokens if order.late and not fresh else 0,
            resend=shown,
            idle=next_idle(order.all, self.before),
            rules_left_out=fitting.rules_left_out,
            left={} if self.dry else left_by(self.sources[1].leaving, told, self.view) | _left(settled),
        )

    def _absent(self, ask: Ask) -> list[Verdict]:
        absent: list[Verdict] = []
        for source in (*self.sources[0].sources, *self.sources[1].sources):
            if source.waits:
                continue
            try:
                absent.extend(source.absent(ask, self.view))
            except Exception as error:
                log.warning("source %s could not say what it left out: %s", source.name, type(error).__name__)
        return absent


def _left(settled: Settled | None) -> dict[str, bytes]:
    return {_TIMED: msgspec.json.encode(settled.timed)} if settled is not None and settled.timed else {}

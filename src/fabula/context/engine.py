"""The engine: from everything known about a story to one prompt under an exact budget.

    request → gather → gate → shape → fit → place → render → prompt + trace + continuity

Past `gather` it is a pure function of its inputs: no clock, no I/O, no memory. What it keeps between
calls (token counts, rendered lists, a queue) changes how fast an answer comes, never the answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.attachments import attach
from fabula.context.budget import Budget, Limits, Profile, make_budget, reply_reserve
from fabula.context.continuity import NOTHING, Continuity
from fabula.context.fit import Fitting, fit
from fabula.context.gate import gate
from fabula.context.gather import Gathered, Gatherer, Source
from fabula.context.near import nearby
from fabula.context.order import Order, arrange, held_over, next_idle
from fabula.context.place import place
from fabula.context.recipes import RECIPES, Preset, Recipe, prepare
from fabula.context.render import Rendered, render
from fabula.context.request import Ask, Request
from fabula.context.result import LayerReport, Result
from fabula.context.shape import Offer, Shape, names_of, shape
from fabula.context.trace import Outcome, Reason, Trace, Verdict
from fabula.context.turnstile import Turnstile
from fabula.context.vantage import placed, shown_from, vantage_of
from fabula.context.words import WORDS
from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import LAYERS, Fragment, Layer
from fabula.core.scale import NEEDED
from fabula.core.story import Vantage
from fabula.core.view import Language, Project, View
from fabula.text.models import Model, find_model
from fabula.text.tokens import Cautious, Encoding, Guarded, Scaled, Tokenizer, TokenizerError
from fabula.text.windows import Stretch

log = logging.getLogger("fabula.context")
_TRIES = 6  # refits allowed where counts do not add up


class Settings(Struct, frozen=True, kw_only=True):
    """What the owner of an engine may choose."""

    profile: Profile = Profile()
    limits: Limits = Limits()
    debug: bool = True


DEFAULTS = Settings()


class Engine:
    """Assembles prompts from sources, or from fragments handed in."""

    def __init__(
        self,
        sources: Iterable[Source] = (),
        *,
        settings: Settings = DEFAULTS,
        recipes: Mapping[str, Recipe] = RECIPES,
        tokenizer_for: Callable[[Model], Tokenizer] = Model.tokenizer,
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self._settings = settings
        self._profile, self._profile_warnings = _sound(settings.profile)
        self._recipes = recipes
        self._tokenizer_for = tokenizer_for
        self._gatherer = Gatherer(settings.limits)
        # Python runs one thread at a time: where no source waits on anything, threads that take turns
        # finish sooner than threads that elbow each other.
        self._may_wait = any(source.waits for source in self._sources.values())
        self._taking_turns = threading.Lock()
        self._turnstile = Turnstile(settings.limits.at_once, settings.limits.waiting)
        self._shapes: dict[tuple[str, int | None, str | None, Language], Shape] = {}
        self._presets: dict[tuple[str, Preset | None], Preset] = {}

    def assemble(
        self,
        request: Request,
        view: View | None = None,
        *,
        fragments: Iterable[Fragment] = (),
        continuity: Continuity = NOTHING,
    ) -> Result:
        """One prompt. `fragments` are offered beside what the sources know."""
        place = f"{request.project_id}\x1f{request.conversation_id or request.document_id}"
        self._turnstile.enter(place)
        try:
            return self._in_turn(request, view, list(fragments), continuity, dry=False)
        finally:
            self._turnstile.leave(place)

    def inspect(
        self,
        request: Request,
        view: View | None = None,
        *,
        fragments: Iterable[Fragment] = (),
        continuity: Continuity = NOTHING,
    ) -> Result:
        """A dry run that also says what was never offered. Its continuity is the one that came in."""
        if not (self._settings.debug and request.principal.may_inspect):
            raise FabulaError(
                Code.INSPECT_FORBIDDEN,
                "Looking inside a prompt needs debug mode and a user who may do so. Ask the owner of this project.",
            )
        return self._in_turn(request, view, list(fragments), continuity, dry=True)

    def _in_turn(
        self, request: Request, view: View | None, given: Sequence[Fragment], before: Continuity, *, dry: bool
    ) -> Result:
        """One at a time, where nobody has to wait for anything but the machine."""
        if self._may_wait:
            return self._assemble(request, view, given, before, dry=dry)
        with self._taking_turns:
            return self._assemble(request, view, given, before, dry=dry)

    def _assemble(
        self, request: Request, view: View | None, given: Sequence[Fragment], before: Continuity, *, dry: bool
    ) -> Result:
        view = _view_of(request, view)
        recipe = self._recipe(request.recipe)
        warnings = list(self._profile_warnings)
        measure = self._shape(request, view.project.language, warnings)
        vantage = vantage_of(request, view)
        run = _Run(self, request, view, recipe, given, before, vantage, dry)
        try:
            return run.result(measure, self._profile, warnings)
        except TokenizerError as failure:
            warnings.append(f"{Code.BUDGET_FALLBACK.value}: {failure}, so counts are cautious")
            log.warning("%s", failure)
            fallback = Shape(Cautious(), measure.words, measure.model)
            return run.result(fallback, Profile(), warnings)

    def _recipe(self, name: str) -> Recipe:
        recipe = self._recipes.get(name)
        if recipe is None:
            raise FabulaError(
                Code.RECIPE_UNKNOWN, f"There is no recipe called {name!r}. There are: {', '.join(self._recipes)}."
            )
        return recipe

    def _shape(self, request: Request, language: Language, warnings: list[str]) -> Shape:
        key = (request.model, request.window, request.encoding, language)
        known = self._shapes.get(key)
        if known is not None:
            return known
        model = find_model(request.model, window=request.window, encoding_name=request.encoding)
        try:
            tokenizer = self._tokenizer_for(model)
            if not isinstance(tokenizer, Encoding | Scaled | Cautious):
                tokenizer = Guarded(tokenizer)
            known = Shape(tokenizer, WORDS[language], model)
        except FabulaError:
            raise
        except Exception as error:
            failed = f"the tokenizer failed ({type(error).__name__})"
            log.warning("%s", failed)
            warnings.append(f"{Code.BUDGET_FALLBACK.value}: {failed}, so counts are cautious")
            return Shape(Cautious(), WORDS[language], model)
        if len(self._shapes) > 8:
            self._shapes.clear()
        self._shapes[key] = known
        return known

    def _preset(self, recipe: Recipe, own: Preset | None) -> Preset:
        key = (recipe.name, own)
        known = self._presets.get(key)
        if known is None:
            known = prepare(own or recipe.preset, recipe.preset)
            if len(self._presets) > 64:
                self._presets.clear()
            self._presets[key] = known
        return known


def _sound(profile: Profile) -> tuple[Profile, list[str]]:
    """The profile, or the default one and a warning."""
    try:
        profile.check()
    except FabulaError as error:
        return Profile(), [f"{Code.BUDGET_FALLBACK.value}: {error.sentence} The default shares are used."]
    return profile, []


class _Run:
    """One assembly under way: what stays the same while windows step and sums are made again."""

    def __init__(
        self,
        engine: Engine,
        request: Request,
        view: View,
        recipe: Recipe,
        given: Sequence[Fragment],
        before: Continuity,
        vantage: Vantage,
        dry: bool,
    ) -> None:
        self.engine = engine
        self.request = request
        self.view = view
        self.recipe = recipe
        self.given = given
        self.before = before
        self.vantage = vantage
        self.dry = dry
        self.sources = [engine._sources[name] for name in recipe.sources if name in engine._sources]
        self.place = f"{request.conversation_id}\x1f{request.document_id}"
        self.same_place = before is not NOTHING and before.document == self.place
        self.limits = engine._settings.limits

    def result(self, measure: Shape, profile: Profile, warnings: list[str]) -> Result:
        request, before, recipe = self.request, self.before, self.recipe
        preset = self.engine._preset(self.recipe, request.preset)
        identity = self.view.project.identity or measure.words.identity
        key = (preset, recipe.name, identity, request.reply_tokens, profile)
        budget = measure.budgets.get(key)
        if budget is None:
            if len(measure.budgets) > 64:
                measure.budgets.clear()
            budget = measure.budgets[key] = self._budget(measure, profile, preset, identity)
        attached = attach(request.attachments, request.project_id, measure, budget.shares[Layer.IMMEDIATE] // 2)
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
        ahead = self._gather([source for source in self.sources if source.ahead], ask, measure)
        desk = [fragment for group in (self.given, *ahead.groups) for fragment in group]
        near = nearby(request, desk)
        fresh = self._fresh(desk, measure)
        self.vantage = placed(self.vantage, desk)
        shown = shown_from(self.vantage, desk, measure.tokenizer, budget.layers)
        # A layer that has outgrown its share is tidied up with a new chapter, and far beyond it at any time.
        share = budget.shares[Layer.RETRIEVED]
        tidy = before.retrieved_tokens > (2 * share if self.same_place else share)
        fresh = fresh or tidy
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
                shown=shown,
                held=held,
                fresh=fresh,
            )
            rest = self._gather([source for source in self.sources if not source.ahead], told, measure)
            noted = [*warnings, *attached.warnings, *ahead.warnings, *rest.warnings]
            offered = [desk, *rest.groups, attached.described]
            outcomes: list[Outcome] = list(attached.outcomes)
            offer, unrevealed = self._sift(offered, measure, outcomes, noted, frozenset(held))
            fitting, order, rendered, placed_warnings, unanchored = self._settle(
                offer, budget, measure, preset, identity, fresh, attached.sent, attached.tokens
            )
            if fresh or not (fitting.stepped or fitting.crowded):
                break
            # A window stepped, or the layer has no room left: choose it anew, in the same breath.
            fresh, tidy = True, fitting.crowded
        noted += fitting.warnings + placed_warnings + self._unheard(offered)
        outcomes += fitting.outcomes
        order.settle(fitting.kept, outcomes, unanchored)
        if fitting.rules_left_out and fitting.rules_left_out != before.rules_left_out:
            log.warning("rules left out of project %s: %s", request.project_id, ", ".join(fitting.rules_left_out))
        told_last = self._continuity(fitting, order, offer, rendered, fresh=fresh)
        return Result(
            rendered=rendered,
            stable_prefix_unchanged=rendered.prefix_hash == before.prefix_hash,
            layers={
                layer: LayerReport(
                    rendered.by_owner[layer],
                    layer in fitting.truncated,
                    len(order.all) if layer is Layer.RETRIEVED else None,
                )
                for layer in LAYERS
            },
            warnings=tuple(noted),
            trace=Trace(outcomes, fitting.kept, unrevealed, self._absent(told) if self.dry else ()),
            continuity=before if self.dry else told_last,
            budget=budget,
            vantage=self.vantage,
            model=measure.model,
            exact=measure.tokenizer.exact,
        )

    def _budget(self, measure: Shape, profile: Profile, preset: Preset, identity: str) -> Budget:
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

    def _gather(self, sources: Sequence[Source], ask: Ask, measure: Shape) -> Gathered:
        return self.engine._gatherer.gather(sources, ask, self.view, measure.words)

    def _fresh(self, ahead: Sequence[Fragment], measure: Shape) -> bool:
        """Is the retrieved layer to be chosen anew: another place, or a window that must step?"""
        before = self.before
        if not self.same_place:
            return True
        start = before.window_start
        for fragment in ahead:
            if isinstance(fragment, Stretch) and start is not None:
                if not fragment.begins(start, before.window_words):
                    return True
                return fragment.cost(measure.tokenizer, start) > before.window_room
        return False

    def _sift(
        self,
        offered: Sequence[Sequence[Fragment]],
        measure: Shape,
        outcomes: list[Outcome],
        noted: list[str],
        held: frozenset[str],
    ) -> tuple[Offer, set[int]]:
        """Scope, gate, shape and the limits on what may be asked of one prompt."""
        excluded = frozenset(name for name in self.request.exclude if name)
        offer, dropped, unrevealed = shape(offered, self.request.project_id, self._pass, measure, excluded)
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
            noted.append(
                f"{Code.RETRIEVED_CHUNK_LIMIT.value}: {len(offer.retrieved)} chunks were offered; "
                f"the best {most} were kept"
            )
            offer.retrieved = [piece for at, piece in enumerate(offer.retrieved) if at in keep]
        return offer, unrevealed

    def _unheard(self, offered: Sequence[Sequence[Fragment]]) -> list[str]:
        """Names pulled in by hand that nothing answered to."""
        if not self.request.include:
            return []
        heard = {name for group in offered for fragment in group for name in names_of(fragment)}
        return [
            f"{Code.NAME_UNKNOWN.value}: nothing called {name!r} could be pulled in; check the name, or its level"
            for name in self.request.include
            if name not in heard
        ]

    def _pass(self, group: Sequence[Fragment]) -> tuple[list[Fragment], list[Outcome], set[int]]:
        """Nothing of another project, then the gate."""
        project = self.request.project_id
        if {fragment.project_id for fragment in group} - {project}:
            stranger = next(fragment for fragment in group if fragment.project_id != project)
            log.error(
                "security: project %s was offered %s of project %s", project, stranger.source, stranger.project_id
            )
            raise FabulaError(
                Code.SCOPE_VIOLATION,
                f"Something of another project was offered ({stranger.source}). Nothing was assembled; "
                "check the source that offered it.",
                source=stranger.source,
            )
        return gate(group, self.vantage, self.view.timeline)

    def _check_size(self, offer: Offer, measure: Shape, held: frozenset[str]) -> None:
        """Refuse what nobody could choose from. Text and what was told before make way instead of counting."""
        most = self.limits.input_tokens
        size = sum([piece.tokens for pieces in offer.lists() for piece in pieces])
        if size > most and held:
            size -= sum(p.tokens for p in offer.retrieved if p.fragment.source in held and p.fragment.score < NEEDED)
        if size > most:
            raise FabulaError(
                Code.INPUT_TOO_LARGE,
                f"{size} tokens were gathered and {most} is the most one prompt is chosen from. "
                "Narrow the search, or raise the limit. Nothing was changed.",
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
        measure: Shape,
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
        self, fitting: Fitting, order: Order, offer: Offer, rendered: Rendered, *, fresh: bool
    ) -> Continuity:
        late_tokens = sum(piece.tokens for piece in order.late)
        shown = fitting.cut.tokens if fitting.cut is not None else 0
        shown += sum(piece.tokens for piece in fitting.history)
        return Continuity(
            prefix_hash=rendered.prefix_hash,
            document=self.place,
            window_start=fitting.cut.start if fitting.cut is not None and offer.window is not None else None,
            window_words=offer.window.words_at(fitting.cut.start) if offer.window and fitting.cut else 0,
            window_room=fitting.window_room,
            history_start=fitting.history[0].fragment.source if fitting.history else None,
            history_room=fitting.history_room,
            retrieved=tuple([piece.fragment.source for piece in order.settled]),
            late=tuple([piece.fragment.source for piece in order.late]),
            retrieved_tokens=rendered.by_owner["retrieved"],
            late_spent=self.before.late_spent + late_tokens if order.late and not fresh else 0,
            resend=shown,
            idle=next_idle(order.all, self.before),
            rules_left_out=fitting.rules_left_out,
        )

    def _absent(self, ask: Ask) -> list[Verdict]:
        absent: list[Verdict] = []
        for source in self.sources:
            if source.waits:
                continue
            try:
                absent.extend(source.absent(ask, self.view))
            except Exception as error:
                log.warning("source %s could not say what it left out: %s", source.name, type(error).__name__)
        return absent


def _view_of(request: Request, view: View | None) -> View:
    if not request.project_id:
        raise FabulaError(Code.REQUEST_INVALID, "A request must name its project.")
    if view is None:
        return View(Project(id=request.project_id))
    if view.project.id != request.project_id:
        log.error("security: a request for project %s met a view of %s", request.project_id, view.project.id)
        raise FabulaError(
            Code.SCOPE_VIOLATION,
            f"This is the project {view.project.id!r}, and the request asks for {request.project_id!r}. "
            "Open that project, or correct the request. Nothing was assembled.",
        )
    return view

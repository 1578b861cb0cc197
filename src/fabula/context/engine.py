"""The engine: from everything known about a story to one prompt under an exact budget.

    request → gather → gate → shape → fit → place → render → prompt + trace + continuity

Past `gather` it is a pure function of its inputs: no clock, no I/O, no memory. What it keeps between
calls (token counts, rendered lists, a queue) changes how fast an answer comes, never the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from fabula.context.admission import Turns, Turnstile
from fabula.context.assembly import Run
from fabula.context.budget import Limits, Profile
from fabula.context.continuity import NOTHING, Continuity
from fabula.context.gather import Gatherer, Line, Source
from fabula.context.measure import Measure
from fabula.context.phrases import WORDS
from fabula.context.recipes import NOVEL, RECIPES, Preset, Recipe, UserProfile, prepare
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment
from fabula.core.view import Language, Project, View
from fabula.text.tokens.models import Model, find_model
from fabula.text.tokens.tokenizer import Cautious, Encoding, Guarded, Scaled, Tokenizer, TokenizerError

log = logging.getLogger("fabula.context")


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
        self._turnstile = Turnstile(settings.limits.at_once, settings.limits.waiting)
        # Where a source waits on something outside, taking turns would make others wait with it.
        self._turns = None if any(source.waits for source in self._sources.values()) else Turns()
        self._measures: dict[tuple[str, int | None, str | None, Language], Measure] = {}
        self._order: dict[str, tuple[Line, Line]] = {}
        self._presets: dict[tuple[str, Preset | None, UserProfile | None], Preset] = {}

    def assemble(
        self,
        request: Request,
        view: View | None = None,
        *,
        fragments: Iterable[Fragment] = (),
        continuity: Continuity = NOTHING,
    ) -> Result:
        """One prompt. `fragments` are offered beside what the sources know."""
        turns = self._turns
        turn = turns is not None and turns.take()
        try:
            place = f"{request.project_id}\x1f{request.conversation_id or request.document_id}"
            self._turnstile.enter(place)
            try:
                return self._assemble(request, view, list(fragments), continuity, dry=False)
            finally:
                self._turnstile.leave(place)
        finally:
            if turn and turns is not None:
                turns.give()

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
        return self._assemble(request, view, list(fragments), continuity, dry=True)

    def _assemble(
        self, request: Request, view: View | None, given: Sequence[Fragment], before: Continuity, *, dry: bool
    ) -> Result:
        view = _view_of(request, view)
        recipe = self._recipe(request.recipe)
        profile, warnings = self._profile, list(self._profile_warnings)
        own = view.room(Profile)
        if own is not None:
            profile, warnings = _sound(own)
        measure = self._measure(request, view.project.language, warnings)
        run = Run(
            request,
            view,
            recipe,
            self._preset(recipe, request.preset, view.room(UserProfile)),
            given,
            before,
            sources=self._asked(recipe),
            gatherer=self._gatherer,
            limits=self._settings.limits,
            dry=dry,
        )
        try:
            return run.result(measure, profile, warnings)
        except TokenizerError as failure:
            warnings.append(measure.words.warn(Code.BUDGET_FALLBACK, why=failure))
            log.warning("%s", failure)
            fallback = Measure(Cautious(), measure.words, measure.model)
            return run.result(fallback, Profile(), warnings)

    def _recipe(self, name: str) -> Recipe:
        recipe = self._recipes.get(name or NOVEL.name)
        if recipe is None:
            raise FabulaError(
                Code.RECIPE_UNKNOWN, f"There is no recipe called {name!r}. There are: {', '.join(self._recipes)}."
            )
        return recipe

    def _measure(self, request: Request, language: Language, warnings: list[str]) -> Measure:
        key = (request.model, request.window, request.encoding, language)
        known = self._measures.get(key)
        if known is not None:
            return known
        model = find_model(request.model, window=request.window, encoding_name=request.encoding)
        try:
            tokenizer = self._tokenizer_for(model)
            if not isinstance(tokenizer, Encoding | Scaled | Cautious):
                tokenizer = Guarded(tokenizer)
            known = Measure(tokenizer, WORDS[language], model)
        except FabulaError:
            raise
        except Exception as error:
            failed = f"the tokenizer failed ({type(error).__name__})"
            log.warning("%s", failed)
            warnings.append(WORDS[language].warn(Code.BUDGET_FALLBACK, why=failed))
            return Measure(Cautious(), WORDS[language], model)
        if len(self._measures) > 8:
            self._measures.clear()
        self._measures[key] = known
        return known

    def _asked(self, recipe: Recipe) -> tuple[Line, Line]:
        """The sources of a recipe: those asked ahead, and the rest."""
        known = self._order.get(recipe.name)
        if known is None:
            found = [self._sources[name] for name in recipe.sources if name in self._sources]
            ahead, rest = ([one for one in found if one.ahead is first] for first in (True, False))
            known = self._order[recipe.name] = Line.of(ahead), Line.of(rest)
        return known

    def _preset(self, recipe: Recipe, own: Preset | None, about: UserProfile | None) -> Preset:
        key = (recipe.name, own, about)
        known = self._presets.get(key)
        if known is None:
            known = prepare(own or recipe.preset, recipe.preset, about)
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

"""The engine: assembles prompts, many at once (ctx-11, bud-9), or explains one (ctx-9); estimates in need (bud-6).

    request → gather → gate → measure → fit → order → place → render → prompt + trace + continuity

Past `gather` it is a pure function of its inputs: no clock, no I/O, no state. What the engine keeps
between calls (token counts, rendered lists) changes how fast an answer comes, never the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock

from msgspec import Struct

from fabula.context.admission import AdmissionQueue
from fabula.context.assembly import Assembly, LoggedRules, RecipeSources
from fabula.context.budget import BudgetProfile, Limits
from fabula.context.continuity import NO_CONTINUITY, Continuity, continue_from, name_place
from fabula.context.gather import Gatherer, Source, SourceGroup
from fabula.context.measure import Measure
from fabula.context.options import AssemblyOptions
from fabula.context.phrases import Phrases, load_phrases
from fabula.context.recipes import NOVEL, RECIPES, CompletePreset, Preset, Recipe, UserProfile, complete_preset
from fabula.context.request import Request, validate_request
from fabula.context.result import Result
from fabula.context.vantage import resolve_vantage
from fabula.core.background import ANSWERING
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment
from fabula.core.messages import Sentence, join_names, message
from fabula.core.similar_names import find_similar_names
from fabula.core.story import Vantage
from fabula.core.view import Language, Project, View
from fabula.text.tokens.models import Model, find_model
from fabula.text.tokens.tokenizer import (
    ByteTokenizer,
    Encoding,
    GuardedTokenizer,
    ScaledTokenizer,
    Tokenizer,
    TokenizerError,
)

log = logging.getLogger("fabula.context")

_MAX_MEASURES = 8  # models and languages whose counts are kept
_MAX_PRESETS = 64  # that are kept completed
_MAX_SETUPS = 256  # of recipes with the options of projects


class EngineSettings(Struct, frozen=True, kw_only=True):
    """The settings of an engine. `debug` allows `inspect`."""

    profile: BudgetProfile = BudgetProfile()
    limits: Limits = Limits()
    debug: bool = True


DEFAULT_SETTINGS = EngineSettings()


class _RecipeSetup(Struct, frozen=True):
    """A recipe and the limits as a project's options have them, with the recipe's sources.

    `missing` are names in the recipe that no source has.
    """

    options: AssemblyOptions | None
    recipe: Recipe
    limits: Limits
    sources: RecipeSources
    missing: tuple[str, ...]


class Engine:
    """Assembles prompts from sources, and from fragments handed in. Threads may share it."""

    def __init__(
        self,
        sources: Iterable[Source] = (),
        *,
        settings: EngineSettings = DEFAULT_SETTINGS,
        recipes: Mapping[str, Recipe] = RECIPES,
        tokenizer_for: Callable[[Model], Tokenizer] = Model.tokenizer,
        model_for: Callable[..., Model] = find_model,
    ) -> None:
        if not isinstance(settings, EngineSettings):
            raise FabulaError(Code.REQUEST_INVALID, message("The settings of an engine must be an `EngineSettings`."))
        self._sources = _name_sources(sources)
        self._settings = settings
        self._recipes = recipes
        self._setups: dict[tuple[str, int], _RecipeSetup] = {}  # by the recipe, and the id of the options
        self._named = dict.fromkeys(name for recipe in recipes.values() for name in recipe.sources)
        self._unnamed = [name for name in self._sources if name not in self._named]
        self._tokenizer_for, self._model_for = tokenizer_for, model_for
        self._gatherer = Gatherer(settings.limits)
        self._logged_rules = LoggedRules()
        self._admission = AdmissionQueue(settings.limits.at_once, settings.limits.waiting)
        self._measures: dict[tuple[str, int | None, str | None, Language], Measure] = {}
        self._count_lock, self._counts = Lock(), (0, 0)
        self._presets: dict[tuple[int, int, str], tuple[Preset, Preset, CompletePreset]] = {}
        self._valid_profile: BudgetProfile | None = None  # that was checked last

    @property
    def limits(self) -> Limits:
        """The limits of this engine."""
        return self._settings.limits

    def assemble(
        self,
        request: Request,
        view: View | None = None,
        *,
        fragments: Iterable[Fragment] = (),
        continuity: Continuity = NO_CONTINUITY,
        vantage: Vantage | None = None,
    ) -> Result:
        """Assemble one prompt. `fragments` are candidates beside what the sources offer.

        The `source` of a fragment is its identity: of retrieved fragments with the same one, the best is used.
        `vantage` is that of a request which was validated before.
        """
        request = request if vantage is not None else validate_request(request)
        place = f"{request.project_id}\x1f{request.conversation_id or request.document_id}"
        with self._admission.admit(place), ANSWERING:
            result = self._assemble(request, view, list(fragments), continuity, vantage, dry_run=False)
        with self._count_lock:
            self._counts = (self._counts[0] + 1, self._counts[1] + result.token_count)
        return result

    @property
    def counts(self) -> tuple[int, int]:
        """The number of prompts that were assembled, and of their tokens."""
        return self._counts

    def inspect(
        self,
        request: Request,
        view: View | None = None,
        *,
        fragments: Iterable[Fragment] = (),
        continuity: Continuity = NO_CONTINUITY,
        vantage: Vantage | None = None,
    ) -> Result:
        """A dry run (ctx-9): its trace also says what was never offered, and the continuity stays as it was."""
        request = request if vantage is not None else validate_request(request)
        if not (self._settings.debug and request.principal.may_inspect):
            raise FabulaError(
                Code.INSPECT_FORBIDDEN,
                message(
                    "To look inside a prompt, you need debug mode and the right to inspect. "
                    "Ask the owner of this project."
                ),
            )
        return self._assemble(request, view, list(fragments), continuity, vantage, dry_run=True)

    def _assemble(
        self,
        request: Request,
        view: View | None,
        fragments: Sequence[Fragment],
        continuity: Continuity,
        vantage: Vantage | None,
        *,
        dry_run: bool,
    ) -> Result:
        view = _check_view(request, view)
        _check_material(fragments, continuity)
        setup = self._find_setup(request.recipe, view.snapshot(AssemblyOptions))
        recipe = setup.recipe
        warnings: list[str] = []
        measure = self._find_measure(request, view.project.language, warnings)
        profile = self._check_profile(view.snapshot(BudgetProfile), measure.phrases, warnings)
        warnings += self._warn_of_sources(setup, measure.phrases)
        place = name_place(request.conversation_id, request.document_id)
        vantage = vantage or resolve_vantage(request, view)
        before = continue_from(continuity, place, vantage, view.timeline)
        assembly = Assembly(
            request=request,
            view=view,
            recipe=recipe,
            preset=self._complete_preset(request.preset or recipe.preset, recipe.preset, view.snapshot(UserProfile)),
            fragments=fragments,
            before=before,
            sources=setup.sources,
            gatherer=self._gatherer,
            limits=setup.limits,
            logged_rules=self._logged_rules,
            dry_run=dry_run,
            vantage=vantage,
            place=place,
            same_place=before.document == place,
        )
        try:
            return assembly.run(measure, profile, warnings)
        except TokenizerError as failure:
            warnings.append(measure.phrases.format_warning(Code.BUDGET_FALLBACK, why=failure.args[0]))
            log.warning("%s", failure)
            fallback = Measure(ByteTokenizer(), measure.phrases, measure.model)
            return assembly.run(fallback, BudgetProfile(), warnings)

    def _complete_preset(self, preset: Preset, skeleton: Preset, profile: UserProfile | None) -> CompletePreset:
        """The preset with every anchor of its recipe. It comes again with each request, and is checked once."""
        key = (id(preset), id(skeleton), profile.text if profile is not None else "")
        known = self._presets.get(key)
        if known is not None and known[0] is preset and known[1] is skeleton:
            return known[2]
        complete = complete_preset(preset, skeleton, profile)
        if len(self._presets) >= _MAX_PRESETS:
            self._presets.clear()
        self._presets[key] = (preset, skeleton, complete)
        return complete

    def _find_recipe(self, name: str) -> Recipe:
        recipe = self._recipes.get(name or NOVEL.name)
        if recipe is None:
            names = join_names(list(self._recipes))
            raise FabulaError(
                Code.RECIPE_UNKNOWN,
                message("There is no recipe called {name!r}. There are: {names}.", name=name, names=names),
            )
        return recipe

    def _find_measure(self, request: Request, language: Language, warnings: list[str]) -> Measure:
        """The measure of a model and language; where the tokenizer fails, a cautious one and a warning (bud-6)."""
        key = (request.model, request.window, request.encoding, language)
        measure = self._measures.get(key)
        if measure is not None:
            return measure
        model = self._model_for(request.model, window=request.window, encoding_name=request.encoding)
        phrases = load_phrases(language)
        try:
            tokenizer = self._tokenizer_for(model)
            if not isinstance(tokenizer, Encoding | ScaledTokenizer | ByteTokenizer):
                tokenizer = GuardedTokenizer(tokenizer)
            measure = Measure(tokenizer, phrases, model)
        except FabulaError:
            raise
        except Exception as error:
            failure = message("the tokenizer failed ({error})", error=type(error).__name__)
            log.warning("%s", failure)
            warnings.append(phrases.format_warning(Code.BUDGET_FALLBACK, why=failure))
            return Measure(ByteTokenizer(), phrases, model)
        if len(self._measures) >= _MAX_MEASURES:
            self._measures.clear()
        self._measures[key] = measure
        return measure

    def _find_setup(self, name: str, options: AssemblyOptions | None) -> _RecipeSetup:
        """The recipe of that name as a project has it. Its options come again with each request."""
        key = (name, id(options))
        setup = self._setups.get(key)
        if setup is not None and setup.options is options:
            return setup
        recipe, limits = self._find_recipe(name), self._settings.limits
        if options is not None:
            recipe, limits = options.adjust_recipe(recipe), options.adjust_limits(limits)
        sources = [self._sources[one] for one in recipe.sources if one in self._sources]
        # The built-in recipes name every source of the project; an engine may have some of these only.
        is_own = bool(self._sources) and recipe is not RECIPES.get(recipe.name)
        setup = _RecipeSetup(
            options,
            recipe,
            limits,
            RecipeSources(
                SourceGroup.from_sources(source for source in sources if source.runs_first),
                SourceGroup.from_sources(source for source in sources if not source.runs_first),
            ),
            tuple(one for one in recipe.sources if one not in self._sources) if is_own else (),
        )
        if len(self._setups) >= _MAX_SETUPS:
            self._setups.clear()
        self._setups[key] = setup
        return setup

    def _warn_of_sources(self, setup: _RecipeSetup, phrases: Phrases) -> list[str]:
        """Warn of sources that no recipe names, and of names in the recipe that no source has (ctx-14)."""
        warnings = [
            phrases.format_warning(Code.SOURCE_NOT_IN_RECIPE, name=name, near=_suggest(name, self._named))
            for name in self._unnamed
        ]
        for name in setup.missing:
            values = {"recipe": setup.recipe.name, "name": name, "near": _suggest(name, self._sources)}
            warnings.append(phrases.format_warning(Code.RECIPE_SOURCE_MISSING, **values))
        return warnings

    def _check_profile(self, own: BudgetProfile | None, phrases: Phrases, warnings: list[str]) -> BudgetProfile:
        """The profile of a project, or else of the engine; the default one and a warning where it makes no sense."""
        profile = own or self._settings.profile
        if profile is self._valid_profile:
            return profile
        try:
            profile.check()
        except FabulaError as error:
            sentence = message("{sentence} The default shares are used.", sentence=error.message)
            warnings.append(f"{Code.BUDGET_FALLBACK.value}: {sentence.render(phrases.language)}")
            return BudgetProfile()
        self._valid_profile = profile
        return profile


def _suggest(name: str, names: Iterable[str]) -> Sentence | str:
    """The question whether another name was meant, if one is near."""
    near = find_similar_names(name, names, most=1)
    return message(" Did you mean {near!r}?", near=near[0]) if near else ""


def _name_sources(sources: Iterable[Source]) -> dict[str, Source]:
    """The sources by their names; two of one name are refused, since a recipe could not tell them apart."""
    named: dict[str, Source] = {}
    for source in sources:
        name = getattr(source, "name", "")
        if not name or not isinstance(name, str) or not callable(getattr(source, "fragments", None)):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "A source needs a name and `fragments`, and {source} has not both. "
                    "Make one of a function with `FunctionSource`.",
                    source=name or getattr(source, "__name__", type(source).__name__),
                ),
            )
        if source.name in named:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("Two sources are called {name!r}. Give each a name of its own.", name=source.name),
            )
        named[source.name] = source
    return named


def _check_material(fragments: Sequence[Fragment], continuity: Continuity) -> None:
    """Refuse what is no fragment, or no continuity, as a program without type checks may hand it over."""
    for kind in set(map(type, fragments)):
        if not issubclass(kind, Fragment):
            raise FabulaError(
                Code.FRAGMENT_INVALID,
                message("Fragments must be made as `Fragment`; a {kind} is none.", kind=kind.__name__),
            )
    if not isinstance(continuity, Continuity):
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("The continuity must be a `Continuity`, not a {kind}.", kind=type(continuity).__name__),
        )


def _check_view(request: Request, view: View | None) -> View:
    """The view of the request's project; an empty one where none is given."""
    if not request.project_id:
        raise FabulaError(Code.REQUEST_INVALID, message("A request must name its project."))
    if view is None:
        return View(Project(id=request.project_id))
    if not isinstance(view, View):
        raise FabulaError(
            Code.REQUEST_INVALID, message("The view must be a `View`, not a {kind}.", kind=type(view).__name__)
        )
    if view.project.id != request.project_id:
        log.error("security: a request for project %s met a view of %s", request.project_id, view.project.id)
        raise FabulaError(
            Code.SCOPE_VIOLATION,
            message(
                "This is the project {open!r}, and the request asks for {wanted!r}. "
                "Open that project, or correct the request. Nothing was assembled.",
                open=view.project.id,
                wanted=request.project_id,
            ),
        )
    return view

"""The house put together: `Fabula.open(...)` knows every room, and nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fabula.codex.source import CodexSource
from fabula.constraints.model import Constraints
from fabula.constraints.source import ConstraintsSource
from fabula.context.continuity import Continuities
from fabula.context.engine import DEFAULTS, Engine, Settings
from fabula.context.gather import Source
from fabula.context.json_request import read_request
from fabula.context.recipes import NOVEL
from fabula.context.recipes.preset import Preset
from fabula.context.request import Ask, Request
from fabula.context.result import Result
from fabula.context.vantage import vantage_of
from fabula.conversation.model import Conversations
from fabula.conversation.recent import TalksSource
from fabula.conversation.source import ConversationSource
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment
from fabula.core.view import View
from fabula.lorebook.model import Said
from fabula.lorebook.source import LorebookSource, Talk, called
from fabula.manuscript.model import Manuscript
from fabula.manuscript.source import EditorSource, ProjectSource
from fabula.manuscript.synopses.source import SynopsesSource
from fabula.memory.episodes import EpisodeSource
from fabula.memory.source import MemorySource
from fabula.memory.working_memory import NOT_BEGUN, Sitting
from fabula.search.embeddings.choice import Chosen
from fabula.search.find import Found
from fabula.search.source import SearchSource
from fabula.skills.files import Skills, built_in
from fabula.skills.project_skills import folder_skills
from fabula.skills.source import SkillSource
from fabula.workspace.characters import cast_of
from fabula.workspace.project_folder import read_project
from fabula.workspace.search import look_up, names_near
from fabula.workspace.working_memory import sitting_of

if TYPE_CHECKING:
    from fabula.search.embeddings.embedder import Meaning
    from fabula.store.store import Store
    from fabula.workspace.views import Library


def all_sources(chosen: Chosen | None = None) -> tuple[Source, ...]:
    """Every source of the house, to be picked from by a recipe's names; `chosen` lets search go by more than words."""
    return (
        EditorSource(),
        ConversationSource(),
        SkillSource(),
        ConstraintsSource(),
        ProjectSource(),
        CodexSource(),
        LorebookSource(_listen),
        MemorySource(_ruled),
        EpisodeSource(),
        SynopsesSource(cast_of),
        SearchSource(_names, chosen),
        TalksSource(),
    )


def _ruled(view: View) -> tuple[Fragment, ...]:
    """The constraints, as memory holds itself against them."""
    rules = view.room(Constraints)
    return rules.fragments if rules is not None else ()


def _listen(view: View, conversation: str, most: int) -> Talk:
    """A conversation as lorebooks read it."""
    talks = view.room(Conversations)
    path = talks.messages.get(conversation, ()) if talks is not None else ()
    final = [message for message in path if message.final]
    latest = final[len(final) - most :] if most < len(final) else final
    earlier = (path[0].number or 0) + len(final) - len(latest) if path else 0
    user = next((message.speaker for message in reversed(final) if message.role == "user"), "")
    return Talk(tuple([Said(called(one.speaker), one.content) for one in latest]), earlier, called(user))


def _names(ask: Ask, view: View) -> tuple[str, ...]:
    """Everything by which those near the cursor are called."""
    return names_near(view, ask.near)


class Fabula:
    """One open project: how it stands, its engine, and the thread between its requests."""

    def __init__(
        self,
        look: View | Callable[[str], View],
        *,
        settings: Settings = DEFAULTS,
        meaning: Meaning | None = None,
        store: Store | None = None,
    ) -> None:
        self._look = look
        self.store = store  # where it is kept; None for a folder, a file or a sample
        self._chosen = Chosen(meaning)
        self.engine = Engine(all_sources(self._chosen), settings=settings)
        self._continuities = Continuities()

    @classmethod
    def open(cls, path: str | Path, *, library: Library | None = None, meaning: Meaning | None = None) -> Fabula:
        """A project folder or text file, `sample:NAME`, or, where a library is given, a project of its store.

        Passages are found by more than their words where the setting `search.embedding` says so, or with `meaning`
        (see `fabula.search.embeddings.embedder.meaning_for`).
        """
        view = read_only(path)
        if view is not None:
            return cls(view, meaning=meaning)
        if library is None:
            return cls(read_project(Path(path)))  # which says what is wrong with it
        from fabula.manuscript import projects

        card = projects.find(library.store, str(path), where="in this store, and no folder or file of that name")
        return cls(
            lambda conversation: library.view(card.id, conversation=conversation), meaning=meaning, store=library.store
        )

    @property
    def view(self) -> View:
        """The project as it stands now."""
        return self.view_with("")

    def view_with(self, conversation: str) -> View:
        """The project as it stands now, with a conversation that is asked for."""
        return self._look if isinstance(self._look, View) else self._look(conversation)

    def request(self, **wishes: object) -> Request:
        """A request for this project: its last chapter, its own preset, unless said otherwise."""
        view = self.view
        manuscript = view.room(Manuscript)
        filled: dict[str, object] = {"project_id": view.project.id, "skill_id": "continue"}
        if manuscript is not None and manuscript.documents:
            filled["document_id"] = manuscript.documents[-1].id
        filled["preset"] = view.room(Preset)
        filled.update({key: value for key, value in wishes.items() if value is not None})
        try:
            return msgspec.convert(filled, Request, from_attributes=True)
        except msgspec.ValidationError as error:
            raise FabulaError(Code.REQUEST_INVALID, f"The request does not make sense: {error}.") from error

    def read_request(self, data: bytes) -> Request:
        """A request from a JSON door; cursors count UTF-16 units there."""
        view = self.view
        manuscript = view.room(Manuscript) or Manuscript()

        def text_of(document: str) -> str | None:
            found = manuscript.by_id.get(document)
            return None if found is None else found.text

        request = read_request(data, text_of)
        return request if request.preset is not None else replace(request, preset=view.room(Preset))

    def assemble(self, request: Request, *, sitting: Sitting = NOT_BEGUN) -> Result:
        """The prompt for a request, following on from the last one of its kind, with what this sitting did."""
        view = self.view_with(request.conversation_id)
        request = _resolved(request, view)
        before = self._continuities.before(request, vantage_of(request, view))
        done = sitting.fragments(view.project.id, view.project.language)
        return self.engine.assemble(request, view, fragments=done, continuity=before)

    def search(
        self,
        words: str,
        *,
        until: str | None = None,
        everything: bool = False,
        most: int = 10,
        now: str = "",
        notes: list[str] | None = None,
    ) -> list[Found]:
        """Passages that answer a few words, of what lies behind a chapter, or of all there is.

        `now` is the day from which "last summer" counts; warnings are put into `notes`.
        """
        view = self.view
        way = self._chosen.way(view)
        if way.warning and notes is not None:
            notes.append(way.warning)
        return look_up(
            view,
            words,
            until=until,
            everything=everything,
            most=most,
            meaning=way.meaning,
            fill=False,
            now=now,
            notes=notes,
        )

    def sitting(self, now: str) -> Sitting:
        """What was done lately, as the store has it on record; nothing where there is no store."""
        if self.store is None:
            return NOT_BEGUN
        with self.store.read(project=self.view.project.id) as reading:
            return sitting_of(reading, now)

    def close(self) -> None:
        """End what is done in the background for this project; what was made is kept."""
        self._chosen.close()

    def commit(self, request: Request, result: Result) -> None:
        """An answer was recorded: the next request follows on from this one."""
        resolved = _resolved(request, self.view_with(request.conversation_id))
        self._continuities.commit(resolved, result.vantage, result.continuity)

    def inspect(self, request: Request, *, sitting: Sitting = NOT_BEGUN) -> Result:
        """The same without consequences, and with a reason for everything that stayed out."""
        view = self.view_with(request.conversation_id)
        request = _resolved(request, view)
        before = self._continuities.before(request, vantage_of(request, view))
        done = sitting.fragments(view.project.id, view.project.language)
        return self.engine.inspect(request, view, fragments=done, continuity=before)


def read_only(path: str | Path) -> View | None:
    """What a project folder, a text file or `sample:NAME` holds; None when it is none of these."""
    name = str(path)
    if not name.startswith("sample:"):
        return _with_skills(Path(path)) if exists(path) else None
    sample = name.removeprefix("sample:")
    if sample not in sample_names():
        raise FabulaError(
            Code.PROJECT_NOT_FOUND, f"There is no sample {sample!r}. There are: {', '.join(sample_names())}."
        )
    with as_file(files("fabula") / "samples" / sample) as folder:
        return _with_skills(folder)


def _with_skills(path: Path) -> View:
    """A project on disk, with the skills it brings along."""
    view = read_project(path)
    return View(view.project, view.timeline, {**view.rooms, Skills: folder_skills(path)})


def _resolved(request: Request, view: View) -> Request:
    """What a request leaves open: a skill has its recipe and its eyes, a conversation its mode."""
    skill = (view.room(Skills) or built_in()).skills.get(request.skill_id)
    talks = view.room(Conversations)
    mark = talks.marks.get(request.conversation_id) if talks is not None else None
    recipe = request.recipe or (skill.recipe if skill is not None else NOVEL.name)
    eyes = request.eyes or (skill.eyes if skill is not None else None)
    mode = request.mode or (mark.mode if mark is not None else "")
    return replace(request, recipe=recipe, eyes=eyes, mode=mode)


def sample_names() -> list[str]:
    """The sample stories that come with the house."""
    return sorted(entry.name for entry in (files("fabula") / "samples").iterdir() if entry.is_dir())

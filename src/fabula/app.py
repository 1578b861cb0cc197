"""The house put together: `Fabula.open(...)` knows every room, and nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fabula.codex.source import CodexSource
from fabula.constraints.source import ConstraintsSource
from fabula.context.continuity import Continuities
from fabula.context.engine import DEFAULTS, Engine, Settings
from fabula.context.gather import Source
from fabula.context.recipes.preset import Preset
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.context.vantage import vantage_of
from fabula.context.wire import read_request
from fabula.conversation.model import Conversations
from fabula.conversation.source import ConversationSource
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.formats.folder import read_project
from fabula.lorebook.model import Said
from fabula.lorebook.source import LorebookSource, Talk, called
from fabula.manuscript.model import Manuscript
from fabula.manuscript.source import EditorSource, ProjectSource, SynopsesSource
from fabula.memory.source import MemorySource
from fabula.search.source import SearchSource
from fabula.skills.files import Shelf, built_in
from fabula.skills.source import SkillSource

if TYPE_CHECKING:
    from fabula.library import Library


def all_sources() -> tuple[Source, ...]:
    """Every source of the house, to be picked from by a recipe's names."""
    return (
        EditorSource(),
        ConversationSource(),
        SkillSource(),
        ConstraintsSource(),
        ProjectSource(),
        CodexSource(),
        LorebookSource(_listen),
        MemorySource(),
        SynopsesSource(),
        SearchSource(),
    )


def _listen(view: View, conversation: str, most: int) -> Talk:
    """A conversation as lorebooks read it."""
    talks = view.room(Conversations)
    path = talks.messages.get(conversation, ()) if talks is not None else ()
    final = [message for message in path if message.final]
    latest = final[len(final) - most :] if most < len(final) else final
    earlier = (path[0].number or 0) + len(final) - len(latest) if path else 0
    user = next((message.speaker for message in reversed(final) if message.role == "user"), "")
    return Talk(tuple([Said(called(one.speaker), one.content) for one in latest]), earlier, called(user))


class Fabula:
    """One open project: how it stands, its engine, and the thread between its requests."""

    def __init__(self, look: View | Callable[[str], View], *, settings: Settings = DEFAULTS) -> None:
        self._look = look
        self.engine = Engine(all_sources(), settings=settings)
        self._continuities = Continuities()

    @classmethod
    def open(cls, path: str | Path, *, library: Library | None = None) -> Fabula:
        """A project folder or text file, `sample:NAME`, or, where a library is given, a project of its store."""
        view = read_only(path)
        if view is not None:
            return cls(view)
        if library is None:
            return cls(read_project(Path(path)))  # which says what is wrong with it
        from fabula.manuscript import projects

        card = projects.find(library.store, str(path))
        return cls(lambda conversation: library.view(card.id, conversation=conversation))

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

    def assemble(self, request: Request) -> Result:
        """The prompt for a request, following on from the last one of its kind."""
        view = self.view_with(request.conversation_id)
        request = _through_the_skills_eyes(request, view)
        before = self._continuities.before(request, vantage_of(request, view))
        return self.engine.assemble(request, view, continuity=before)

    def commit(self, request: Request, result: Result) -> None:
        """An answer was recorded: the next request follows on from this one."""
        self._continuities.commit(request, result.vantage, result.continuity)

    def inspect(self, request: Request) -> Result:
        """The same without consequences, and with a reason for everything that stayed out."""
        view = self.view_with(request.conversation_id)
        request = _through_the_skills_eyes(request, view)
        before = self._continuities.before(request, vantage_of(request, view))
        return self.engine.inspect(request, view, continuity=before)


def read_only(path: str | Path) -> View | None:
    """What a project folder, a text file or `sample:NAME` holds; None when it is none of these."""
    name = str(path)
    if not name.startswith("sample:"):
        return read_project(Path(path)) if Path(path).exists() else None
    sample = name.removeprefix("sample:")
    if sample not in sample_names():
        raise FabulaError(
            Code.PROJECT_NOT_FOUND, f"There is no sample {sample!r}. There are: {', '.join(sample_names())}."
        )
    with as_file(files("fabula") / "samples" / sample) as folder:
        return read_project(folder)


def _through_the_skills_eyes(request: Request, view: View) -> Request:
    """A skill may look through other eyes than the reader's; what the request itself asks for comes first."""
    skill = (view.room(Shelf) or built_in()).skills.get(request.skill_id)
    if skill is None or skill.eyes is None or request.eyes is not None:
        return request
    return replace(request, eyes=skill.eyes)


def sample_names() -> list[str]:
    """The sample stories that come with the house."""
    return sorted(entry.name for entry in (files("fabula") / "samples").iterdir() if entry.is_dir())

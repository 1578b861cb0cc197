"""The house put together: `Fabula.open(...)` knows every room, and nobody else does."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

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
from fabula.conversation.source import ConversationSource
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.formats.folder import read_project
from fabula.manuscript.model import Manuscript
from fabula.manuscript.source import EditorSource, ProjectSource, SynopsesSource
from fabula.memory.source import MemorySource
from fabula.search.source import SearchSource
from fabula.skills.model import SKILLS
from fabula.skills.source import SkillSource


def all_sources() -> tuple[Source, ...]:
    """Every source of the house, to be picked from by a recipe's names."""
    return (
        EditorSource(),
        ConversationSource(),
        SkillSource(),
        ConstraintsSource(),
        ProjectSource(),
        CodexSource(),
        MemorySource(),
        SynopsesSource(),
        SearchSource(),
    )


class Fabula:
    """One open project: its view, its engine, and the thread between its requests."""

    def __init__(self, view: View, *, settings: Settings = DEFAULTS) -> None:
        self.view = view
        self.engine = Engine(all_sources(), settings=settings)
        self._continuities = Continuities()

    @classmethod
    def open(cls, path: str | Path) -> Fabula:
        """A project folder or text file; `sample:NAME` opens one that comes with the house."""
        name = str(path)
        if name.startswith("sample:"):
            sample = name.removeprefix("sample:")
            if sample not in sample_names():
                raise FabulaError(
                    Code.PROJECT_NOT_FOUND, f"There is no sample {sample!r}. There are: {', '.join(sample_names())}."
                )
            with as_file(files("fabula") / "samples" / sample) as folder:
                return cls(read_project(folder))
        return cls(read_project(Path(path)))

    def request(self, **wishes: object) -> Request:
        """A request for this project: its last chapter, its own preset, unless said otherwise."""
        manuscript = self.view.room(Manuscript)
        filled: dict[str, object] = {"project_id": self.view.project.id, "skill_id": "continue"}
        if manuscript is not None and manuscript.documents:
            filled["document_id"] = manuscript.documents[-1].id
        filled["preset"] = self.view.room(Preset)
        filled.update({key: value for key, value in wishes.items() if value is not None})
        try:
            return msgspec.convert(filled, Request, from_attributes=True)
        except msgspec.ValidationError as error:
            raise FabulaError(Code.REQUEST_INVALID, f"The request does not make sense: {error}.") from error

    def read_request(self, data: bytes) -> Request:
        """A request from a JSON door; cursors count UTF-16 units there."""
        manuscript = self.view.room(Manuscript) or Manuscript()

        def text_of(document: str) -> str | None:
            found = manuscript.by_id.get(document)
            return None if found is None else found.text

        request = read_request(data, text_of)
        return request if request.preset is not None else replace(request, preset=self.view.room(Preset))

    def assemble(self, request: Request) -> Result:
        """The prompt for a request, following on from the last one of its kind."""
        request = _through_the_skills_eyes(request)
        before = self._continuities.before(request, vantage_of(request, self.view))
        return self.engine.assemble(request, self.view, continuity=before)

    def commit(self, request: Request, result: Result) -> None:
        """An answer was recorded: the next request follows on from this one."""
        self._continuities.commit(request, result.vantage, result.continuity)

    def inspect(self, request: Request) -> Result:
        """The same without consequences, and with a reason for everything that stayed out."""
        request = _through_the_skills_eyes(request)
        before = self._continuities.before(request, vantage_of(request, self.view))
        return self.engine.inspect(request, self.view, continuity=before)


def _through_the_skills_eyes(request: Request) -> Request:
    """A skill may look through other eyes than the reader's; what the request itself asks for comes first."""
    skill = SKILLS.get(request.skill_id)
    if skill is None or skill.eyes is None or request.eyes is not None:
        return request
    return replace(request, eyes=skill.eyes)


def sample_names() -> list[str]:
    """The sample stories that come with the house."""
    return sorted(entry.name for entry in (files("fabula") / "samples").iterdir() if entry.is_dir())

"""One project opened for one principal: assemble, inspect, search, and what follows from an answer.

Every interface works through this object. It reads the project as an immutable view, hands each request the
continuity of the last one of its kind, and records what must be remembered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.engine import Engine
from fabula.context.recipes import NOVEL
from fabula.context.recipes.preset import Preset
from fabula.context.request import Attachment, Principal, Request
from fabula.context.result import Result
from fabula.context.vantage import resolve_vantage
from fabula.conversation.model import Conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory
from fabula.search.embeddings.choice import AUTO, OFF, EmbeddingChoice, EmbeddingStatus
from fabula.search.find import FoundPassage
from fabula.skills.files import Skills, load_built_in
from fabula.workspace.continuity import ContinuityStore, continuity_keys
from fabula.workspace.schemas.context import read_request
from fabula.workspace.search import search_project
from fabula.workspace.verbs import require_store
from fabula.workspace.working_memory import load_working_memory

if TYPE_CHECKING:
    from fabula.store.store import Store
    from fabula.workspace.codex import CodexVerbs
    from fabula.workspace.constraints import ConstraintVerbs
    from fabula.workspace.extraction import ExtractionVerbs
    from fabula.workspace.jobs import JobVerbs
    from fabula.workspace.lorebooks import LorebookVerbs
    from fabula.workspace.memory import MemoryVerbs
    from fabula.workspace.outline import OutlineVerbs
    from fabula.workspace.presets import PresetVerbs
    from fabula.workspace.recaps import RecapVerbs
    from fabula.workspace.runs import RunVerbs
    from fabula.workspace.skills import SkillVerbs
    from fabula.workspace.synopses import SynopsisVerbs
    from fabula.workspace.writing import WritingEvent
    from fabula.workspace.writing_options import ModelChoice

OWNER_PRINCIPAL = Principal()


class SaveResult(Struct, frozen=True):
    """Where a project was saved, and how many rows the save has."""

    path: Path
    rows: int


class ProjectHandle:
    """An open project. Threads may share it."""

    def __init__(
        self,
        load_view: Callable[[str], View],
        engine: Engine,
        *,
        embedding: EmbeddingChoice,
        continuity: ContinuityStore,
        principal: Principal = OWNER_PRINCIPAL,
        store: Store | None = None,
        owns_embedding: bool = False,
    ) -> None:
        """`load_view` returns the project as it stands, with the conversation of the given id."""
        self._load_view = load_view
        self._embedding = embedding
        self._owns_embedding = owns_embedding
        self._continuity = continuity
        self.engine = engine
        self.principal = principal
        self.store = store  # None for a folder, a file or a sample

    @cached_property
    def codex(self) -> CodexVerbs:
        """What can be done with the codex."""
        from fabula.workspace.codex import CodexVerbs

        return CodexVerbs(self)

    @cached_property
    def constraints(self) -> ConstraintVerbs:
        """What can be done with constraints."""
        from fabula.workspace.constraints import ConstraintVerbs

        return ConstraintVerbs(self)

    @cached_property
    def extraction(self) -> ExtractionVerbs:
        """What can be done with codex entries that the manuscript proposes."""
        from fabula.workspace.extraction import ExtractionVerbs

        return ExtractionVerbs(self)

    @cached_property
    def outline(self) -> OutlineVerbs:
        """What can be done with the outline."""
        from fabula.workspace.outline import OutlineVerbs

        return OutlineVerbs(self)

    @cached_property
    def jobs(self) -> JobVerbs:
        """What can be done with background jobs."""
        from fabula.workspace.jobs import JobVerbs

        return JobVerbs(self)

    @cached_property
    def synopses(self) -> SynopsisVerbs:
        """What can be done with synopses."""
        from fabula.workspace.synopses import SynopsisVerbs

        return SynopsisVerbs(self)

    @cached_property
    def runs(self) -> RunVerbs:
        """What can be done with what a model wrote."""
        from fabula.workspace.runs import RunVerbs

        return RunVerbs(self)

    @cached_property
    def presets(self) -> PresetVerbs:
        """What can be done with presets."""
        from fabula.workspace.presets import PresetVerbs

        return PresetVerbs(self)

    @cached_property
    def skills(self) -> SkillVerbs:
        """What can be done with the skills of the project."""
        from fabula.workspace.skills import SkillVerbs

        return SkillVerbs(self)

    @cached_property
    def lorebooks(self) -> LorebookVerbs:
        """What can be done with lorebooks."""
        from fabula.workspace.lorebooks import LorebookVerbs

        return LorebookVerbs(self)

    @cached_property
    def memory(self) -> MemoryVerbs:
        """What can be done with memory."""
        from fabula.workspace.memory import MemoryVerbs

        return MemoryVerbs(self)

    @cached_property
    def recaps(self) -> RecapVerbs:
        """What can be done with summaries and recaps of conversations."""
        from fabula.workspace.recaps import RecapVerbs

        return RecapVerbs(self)

    @property
    def id(self) -> str:
        """The project's id."""
        return self.view.project.id

    @property
    def view(self) -> View:
        """The project as it stands now."""
        return self._load_view("")

    def view_with(self, conversation_id: str) -> View:
        """Return the project as it stands now, with the newest messages of a conversation."""
        return self._load_view(conversation_id)

    def request(
        self,
        *,
        document_id: str | None = None,
        cursor: int | None = None,
        skill_id: str = "continue",
        additional_input: str = "",
        model: str = "gpt-4o",
        window: int | None = None,
        encoding: str | None = None,
        reply_tokens: int | None = None,
        recipe: str = "",
        preset: Preset | None = None,
        selection: tuple[int, int] | None = None,
        conversation_id: str = "",
        mode: str = "",
        speaker_id: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        revision: int | None = None,
        unsaved_text: str | None = None,
        perspective: Perspective | str | None = None,
        character: str | None = None,
        late_joiners: bool | None = None,
        session: Mapping[str, str] | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> Request:
        """Make a request of this project; by default at the end of its last document, with its own preset."""
        view = self.view
        if document_id is None:
            manuscript = view.snapshot(Manuscript)
            document_id = manuscript.documents[-1].id if manuscript is not None and manuscript.documents else ""
        return Request(
            project_id=view.project.id,
            document_id=document_id,
            cursor=cursor,
            skill_id=skill_id,
            additional_input=additional_input,
            model=model,
            window=window,
            encoding=encoding,
            reply_tokens=reply_tokens,
            recipe=recipe,
            preset=preset if preset is not None else view.snapshot(Preset),
            selection=selection,
            conversation_id=conversation_id,
            mode=mode,
            speaker_id=speaker_id,
            include=tuple(include),
            exclude=tuple(exclude),
            revision=revision,
            unsaved_text=unsaved_text,
            perspective=_read_perspective(perspective),
            character=character,
            late_joiners=late_joiners,
            session=session or {},
            attachments=tuple(attachments),
            principal=self.principal,
        )

    def read_request(self, data: bytes) -> Request:
        """Read a request from JSON, where cursors count UTF-16 units; the principal is this handle's."""
        view = self.view
        manuscript = view.snapshot(Manuscript) or Manuscript()

        def text_of(document: str) -> str | None:
            found = manuscript.by_id.get(document)
            return None if found is None else found.text

        request = read_request(data, text_of)
        preset = request.preset if request.preset is not None else view.snapshot(Preset)
        return replace(request, preset=preset, principal=self.principal)

    def assemble(self, request: Request, *, working_memory: WorkingMemory = EMPTY_WORKING_MEMORY) -> Result:
        """Assemble the prompt for a request, following on from the last one of its kind (ctx-2).

        The result's `assembly_id` is what `report_answer` takes when the answer was recorded, or the prompt sent.
        """
        view = self.view_with(request.conversation_id)
        request = _resolve(request, view)
        keys = continuity_keys(request, resolve_vantage(request, view), _branch(request, view))
        result = self.engine.assemble(
            request,
            view,
            fragments=working_memory.fragments(view.project.id, view.project.language),
            continuity=self._continuity.load(view.project.id, keys),
        )
        return replace(result, assembly_id=self._continuity.record(view.project.id, keys, result))

    def inspect(self, request: Request, *, working_memory: WorkingMemory = EMPTY_WORKING_MEMORY) -> Result:
        """Assemble without consequences, with a reason for everything that stayed out (ctx-9)."""
        view = self.view_with(request.conversation_id)
        request = _resolve(request, view)
        keys = continuity_keys(request, resolve_vantage(request, view), _branch(request, view))
        return self.engine.inspect(
            request,
            view,
            fragments=working_memory.fragments(view.project.id, view.project.language),
            continuity=self._continuity.load(view.project.id, keys),
        )

    def report_answer(self, assembly_id: str) -> None:
        """Report that an assembled prompt was sent or answered: the next request follows on from it (ctx-8)."""
        self._continuity.commit(self.id, assembly_id)

    def choose_model(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        judge: str | None = None,
    ) -> ModelChoice:
        """Choose who writes: what is named, else what the settings say, else what this machine has."""
        from fabula.workspace.writing_options import choose_model

        return choose_model(
            self.store,
            self.id,
            user=self.principal.user,
            provider=provider,
            model=model,
            base_url=base_url,
            judge=judge,
        )

    def write(
        self, request: Request, choice: ModelChoice | None = None, *, variants: int = 1
    ) -> AsyncGenerator[WritingEvent, None]:
        """Let a model write and yield its answers as they come; close the generator to stop it."""
        from fabula.workspace.writing import write_answers

        return write_answers(self, request, choice or self.choose_model(), variants=variants)

    def describe_skill_problems(self, skill_id: str) -> list[str]:
        """Say where a skill may not be the one that is meant: the project replaced it, or a file of it is wrong."""
        skills = self.view.snapshot(Skills)
        skill = skills.skills.get(skill_id) if skills is not None else None
        if skills is None or skill is None:
            return []
        replaced = skill.origin == "project" and skill.id in load_built_in().skills
        notes = [f"The skill {skill.id!r} is this project's own, not the built-in one."] if replaced else []
        return [
            *notes,
            *(problem.message.render(self.view.project.language) for problem in skills.problems_of(skill.id)),
        ]

    def search(
        self,
        words: str,
        *,
        until: str | None = None,
        everything: bool = False,
        limit: int = 10,
        rebuild: bool = False,
        by_meaning: bool | None = None,
        make_vectors: bool = False,
        now: str = "",
        notes: list[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[FoundPassage]:
        """Find passages that answer a few words: of what lies before a chapter, or of all there is.

        `rebuild` makes the index anew. Search goes by meaning too if `by_meaning` says so, by default as the settings
        say; vectors that are missing are made first with `make_vectors`, and in the background without. `now` is the
        day from which "last summer" counts; warnings are added to `notes`.
        """
        view = self.view
        status = EmbeddingStatus()
        if by_meaning is not False:
            status = self._embedding.resolve(view, AUTO if by_meaning else OFF)
        if status.error is not None and notes is not None:
            notes.append(f"{status.error.code.value}: {status.error.message.render(view.project.language)}")
        return search_project(
            view,
            words,
            until=until,
            everything=everything,
            limit=limit,
            rebuild=rebuild,
            meaning=status.search,
            fill=make_vectors,
            now=now,
            notes=notes,
            progress=progress,
        )

    def working_memory(self, now: str) -> WorkingMemory:
        """Return what the person did lately, from the store's records; nothing where there is no store."""
        if self.store is None:
            return EMPTY_WORKING_MEMORY
        with self.store.read(project=self.id) as reading:
            return load_working_memory(reading, now)

    def export(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the manuscript as Markdown, text, EPUB or DOCX, by the ending of the path."""
        from fabula.workspace.transfer import export_file

        export_file(require_store(self), self.id, path, overwrite=overwrite)

    def save(
        self, path: Path | None = None, *, with_person: bool = True, progress: Callable[[int, int], None] | None = None
    ) -> SaveResult:
        """Save the project as one file, by default named by its title (sav-2)."""
        from fabula.workspace.transfer import default_save_path, save_file

        target = path or default_save_path(self.view.project.title)
        user = self.principal.user if with_person else None
        manifest = save_file(require_store(self), self.id, target, user=user, progress=progress)
        return SaveResult(target, manifest.rows)

    def close(self) -> None:
        """End background work that belongs to this handle alone; what was made is kept."""
        if self._owns_embedding:
            self._embedding.close()


def _read_perspective(perspective: Perspective | str | None) -> Perspective | None:
    if perspective is None or isinstance(perspective, Perspective):
        return perspective
    try:
        return Perspective(perspective)
    except ValueError:
        raise FabulaError(
            Code.REQUEST_INVALID, f"{perspective!r} is no perspective. There are: {', '.join(Perspective)}."
        ) from None


def _branch(request: Request, view: View) -> Sequence[str]:
    """Return the ids of the messages on the active path of the request's conversation, oldest first."""
    conversations = view.snapshot(Conversations) if request.conversation_id else None
    messages = conversations.messages.get(request.conversation_id, ()) if conversations is not None else ()
    return [message.id for message in messages]


def _resolve(request: Request, view: View) -> Request:
    """Fill in what a request leaves open: a skill has its recipe and its perspective, a conversation its mode."""
    skill = (view.snapshot(Skills) or load_built_in()).skills.get(request.skill_id)
    conversations = view.snapshot(Conversations)
    mark = conversations.states.get(request.conversation_id) if conversations is not None else None
    recipe = request.recipe or (skill.recipe if skill is not None else NOVEL.name)
    perspective = request.perspective or (skill.perspective if skill is not None else None)
    mode = request.mode or (mark.mode if mark is not None else "")
    return replace(request, recipe=recipe, perspective=perspective, mode=mode)

"""Small stories, opened as an application would open them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from fabula.codex import Codex, Entry
from fabula.constraints import Constraint, Constraints
from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.conversation.model import Conversations, Message
from fabula.core.view import Language, Project, View
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory
from fabula.search.corpus import Corpus
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.search_corpus import make_conversation_texts, make_corpus

PROJECT = "story"


def story(
    *documents: Document,
    entries: Sequence[Entry] = (),
    constraints: Sequence[Constraint] = (),
    memory: Memory | None = None,
    direction: Direction | None = None,
    talk: Sequence[Message] = (),
    language: Language = "en",
) -> ProjectHandle:
    """A project of these things and no others."""
    manuscript = Manuscript(documents)
    said = Conversations(PROJECT, {"desk": talk})
    corpus = make_corpus(PROJECT, manuscript, make_conversation_texts(said))
    corpus.build_index()
    snapshots: dict[type, object] = {
        Manuscript: manuscript,
        Corpus: corpus,
        Codex: Codex(PROJECT, language, entries),
        Constraints: Constraints(PROJECT, constraints),
        Conversations: said,
    }
    if memory is not None:
        snapshots[Memory] = memory
    if direction is not None:
        snapshots[Direction] = direction
    return open_view(View(Project(id=PROJECT, language=language), manuscript.timeline(), snapshots))


def chapter(number: int, text: str, **fields: Any) -> Document:
    """Chapter `number`, called `ch-1` and "Chapter 1"."""
    return Document(f"ch-{number}", f"Chapter {number}", text, **fields)


def ask(fabula: ProjectHandle, **wishes: Any) -> Result:
    """A dry run; its prompt is that of a real one. People and conversations need not be known to the project."""
    named = {
        name: wishes.pop(name) for name in ("character", "conversation_id", "include", "exclude") if name in wishes
    }
    request = replace(fabula.request(**wishes), **named)
    result = fabula.inspect(request)
    assert result.prompt == fabula.assemble(request).prompt
    return result


def everything(result: Result) -> str:
    """All that is sent, in whatever form."""
    return "\n".join([result.prompt, *(message.content for message in result.messages)])


def sources(result: Result, beginning: str = "") -> list[str]:
    """What is in the prompt, by source."""
    return [verdict.source for verdict in result.trace if verdict.included and verdict.source.startswith(beginning)]


def reason(result: Result, source: str) -> Reason:
    """Why one source is in or out."""
    found = [verdict.reason for verdict in result.trace if verdict.source == source]
    assert len(found) == 1, (source, found)
    return found[0]


def filler(words: int, seed: str = "wave") -> str:
    """Prose that mentions nobody, in paragraphs of a few dozen words."""
    pool = f"the {seed} came in over grey stones and went out again while nothing at all was said about it".split()
    text = [pool[n % len(pool)] + (".\n\n" if n % 40 == 39 else "") for n in range(words)]
    return " ".join(text).replace("\n ", "\n")

"""Recall of evidence in chat prompts: each conversation imported, each question asked as its next message.

The turns become messages of their speakers with their dates, the first speaker a player and the others characters.
The player asks, and another speaker's prompt is assembled with the chat recipe and its own caps. No model takes part,
so there are no recaps: what a prompt holds comes from the history window and from search alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct
from rich.progress import track

from benchmarks.recall import Answer, Story
from fabula.conversation import edits
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant, save_participant
from fabula.manuscript import projects
from fabula.search.corpus import Corpus
from fabula.search.message_header import parse_message_header
from fabula.store.store import Store
from fabula.text.offsets import normalise
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

WINDOW = 8192
MODEL = "gpt-4o"
CONVERSATION = "talk"
_NARRATOR, _LISTENER = "Narrator", "Listener"


class Talk(Struct, frozen=True):
    """A conversation as it was imported: its texts in order, who asks and who answers."""

    texts: list[str]
    asks: str
    answers: str


def import_story(store: Store, story: Story) -> Talk:
    """Import the turns of a story as one conversation in a project of the same id."""
    said: list[tuple[str, str, str]] = []  # speaker, text, time
    for passage in story.passages:
        header = parse_message_header(passage)
        text = re.sub(rf"^{re.escape(header.speaker)}\s?[:：]\s?", "", header.text) if header.speaker else header.text
        at = f"{date.fromordinal(header.day).isoformat()}T12:00:00.000000Z" if header.day else ""
        said.append((header.speaker or _NARRATOR, normalise(text).strip(), at))
    names = list(dict.fromkeys([name for name, _, _ in said] + [_LISTENER]))[: max(2, len({n for n, _, _ in said}))]
    ids = {name: f"{'pawn' if number else 'player'}:p{number}" for number, name in enumerate(names)}
    projects.create(store, story.id, project_id=story.id)
    with store.write(project=story.id) as tx:
        for name, ident in ids.items():
            save_participant(tx, Participant(id=ident, name=name))
        edits.start_conversation(tx, CONVERSATION, participants=ids.values())
        messages = [
            Message(
                id="",
                role="assistant" if ids[name].startswith("pawn:") else "user",
                content=text,
                speaker=ids[name],
                timestamp=at,
            )
            for name, text, at in said
        ]
        edits.add_messages(tx, CONVERSATION, messages)
    return Talk([text for _, text, _ in said], ids[names[0]], ids[names[1]])


def ask(project: ProjectHandle, talk: Talk, question: str, window: int) -> str:
    """Return the prompt in which a question is the next message."""
    request = project.request(
        conversation_id=CONVERSATION,
        speaker_id=talk.answers,
        recipe="chat",
        skill_id="chat",
        additional_input=question,
        model=MODEL,
        window=window,
    )
    result = project.assemble(request)
    assert result.token_count <= result.budget.total
    return result.prompt


def measure_chat(stories: Sequence[Story], folds: int, *, window: int = WINDOW) -> list[Answer]:
    """The figures of every question: the share of its evidence in the prompt, and whether all of it is."""
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory(prefix="fabula-recall-") as folder:
        store = Store.open(Path(folder) / "store")
        with Workspace(store) as workspace:
            for number, story in enumerate(stories):
                talk = import_story(store, story)
                project = workspace.project(story.id)
                corpus = project.view.snapshot(Corpus)
                assert corpus is not None
                corpus.build_index()
                for at, question in enumerate(track(story.questions, story.id, transient=True)):
                    prompt = ask(project, talk, question.text, window)
                    share = sum(talk.texts[one] in prompt for one in question.evidence) / max(len(question.evidence), 1)
                    fold = (number if len(stories) >= folds else at * folds // len(story.questions)) % folds
                    figures = {f"rec@{window}": share, f"all@{window}": float(share == 1.0)}
                    answers.append(Answer(question.category, fold, figures))
    return answers

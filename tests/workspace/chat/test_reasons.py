"""Why something is told in a conversation, where there is neither a cursor nor an instruction; what the demo said."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET

from fabula.conversation.participants import Participants
from fabula.workspace.chat import ReplyStored
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.conversations import describe_message
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider, collect, pick


def test_an_entry_is_named_at_the_end_of_the_chapter_or_in_the_messages(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        story = workspace.copy_sample("lantern_coast")
        story.chat.start(["Mara Venn"], title="Night")
        request = story.request(
            document_id="ch-06",
            additional_input="Where is Hope Tarn?",
            conversation_id="Night",
            speaker_id="Mara Venn",
            recipe="character-chat",
        )
        why = {one.source: one.sentence for one in story.assemble(request).trace}
        assert why["codex:entity:grace"] == "named at the end of the chapter"
        assert why["codex:entity:hope"] == "named in the latest messages"


def test_what_the_demo_said_is_described_as_such(pier: ProjectHandle) -> None:
    demo = pier.choose_model(provider="demo")
    events = collect(pier.chat.send("Pier", "@Mara Who lit the lamp?", model=demo))
    events += collect(pier.chat.send("Pier", "@Mara And then?", model=ScriptedProvider()))
    told = [describe_message(one.message, Participants()).is_demo for one in pick(events, ReplyStored)]
    assert told == [True, UNSET]

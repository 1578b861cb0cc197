"""The conversation of a document: what a writer asked for there, the answers, and what later prompts show of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fabula.conversation import edits
from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.participants import Participant, save_participant
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.llm.provider_config import ProviderConfig
from fabula.llm.providers import make_provider
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.llm.runs import GenerationRun
from fabula.manuscript import documents as document_service
from fabula.workspace.conversations import ConversationVerbs
from fabula.workspace.document_conversations import Instruction, record_answer
from fabula.workspace.names import find_pin_place
from fabula.workspace.writing import Writer
from tests.llm.server import openai_answer
from tests.workspace.test_writing import PLAIN, StoredSample, finished, model_server, sample

__all__ = ["model_server", "sample"]

CHAPTER = "ch-02"
OWN = f"document:{CHAPTER}"


def ask(sample: StoredSample, words: str, answer: str, **wishes: Any) -> str:
    """Let the model answer an instruction in a chapter; return the run's id."""
    sample.server.script = openai_answer(answer)
    steps = sample.write(document_id=wishes.pop("document_id", CHAPTER), additional_input=words, **wishes)
    return finished(steps).run_id


def talk(sample: StoredSample) -> ConversationVerbs:
    return sample.handle.conversations


def path(sample: StoredSample, conversation: str = OWN) -> list[str]:
    return [one.content for one in talk(sample).read_page(conversation).messages]


def prompt(sample: StoredSample, **wishes: Any) -> str:
    return sample.handle.assemble(sample.handle.request(**{"document_id": CHAPTER, **wishes})).prompt


def test_what_was_asked_and_answered_in_a_chapter_is_in_its_next_prompt(sample: StoredSample) -> None:
    before = prompt(sample)
    run = ask(sample, "Make it a storm in violet.", "Violet rain fell on the quay.")
    assert path(sample) == ["Make it a storm in violet.", "Violet rain fell on the quay."]
    said = talk(sample).read_page(OWN).messages[1]
    assert (said.skill_id, said.extra["run"], said.role) == ("continue", run, "assistant")
    assert get_kind(said) is MessageKind.REPLY
    after = prompt(sample, additional_input="Go on in that direction.")
    assert after.index("Make it a storm in violet.") < after.index("Violet rain fell") < after.index("Go on in that")
    assert "violet" not in prompt(sample, with_history=False).lower()
    assert prompt(sample, with_history=False) == before


def test_without_an_instruction_the_skill_is_named(sample: StoredSample) -> None:
    ask(sample, "", "The tide came in.")
    assert path(sample) == ["Continue", "The tide came in."]


def test_the_conversation_goes_by_the_name_of_its_chapter(sample: StoredSample) -> None:
    ask(sample, "Shorter.", "Rain.")
    title = sample.handle.chapters.read(CHAPTER).record.title
    assert title in [one.record.title for one in talk(sample).list_all()]
    sample.handle.chapters.rename(CHAPTER, "The Violet Storm")
    assert talk(sample).get("The Violet Storm").record.id == OWN
    assert talk(sample).list_all()[0].record.title == "The Violet Storm"


def test_variants_are_alternatives_and_the_accepted_one_is_on_the_path(sample: StoredSample) -> None:
    sample.server.script = openai_answer("One of several.")
    runs = [
        one.run_id
        for one in sample.write(variants=3, document_id=CHAPTER, additional_input="Try.")
        if hasattr(one, "run_id")
    ]
    assert len(runs) == 3
    siblings = talk(sample).list_siblings(OWN, runs[0])
    assert {one.id for one in siblings} == set(runs)
    assert len({one.parent_id for one in siblings}) == 1
    sample.handle.runs.accept(siblings[0].id)
    assert talk(sample).read_page(OWN).messages[-1].id == siblings[0].id


def test_an_accepted_answer_is_not_told_twice_and_undo_keeps_the_record(sample: StoredSample) -> None:
    long = (
        "Violet rain fell on the quay. "
        + "It drummed upon the tin of the roofs, and ran along the ropes. "
        + "Then it ended. " * 6
    ).strip()
    run = ask(sample, "A storm in violet.", long)
    assert prompt(sample).count(long) == 1
    sample.handle.runs.accept(run)
    after = prompt(sample)
    assert after.count("ran along the ropes") == 1
    assert after.count("Violet rain fell on the quay.") == 2, "where it stands, and how it begins"
    ask(sample, "And now?", "The sun.")
    sample.handle.changes.undo()
    assert long not in sample.text(CHAPTER)
    assert path(sample) == ["A storm in violet.", long, "And now?", "The sun."]
    assert prompt(sample).count(long) == 1


def test_a_rejected_answer_leaves_the_path_and_comes_back_when_it_is_accepted(sample: StoredSample) -> None:
    run = ask(sample, "Violet.", "Violet rain.")
    sample.handle.runs.reject(run)
    assert path(sample) == ["Violet."]
    assert "Violet rain." not in prompt(sample)
    ask(sample, "Then green.", "Green hail.")
    assert path(sample) == ["Violet.", "Then green.", "Green hail."]
    sample.handle.runs.accept(run)
    assert path(sample) == ["Violet.", "Violet rain.", "Then green.", "Green hail."]


def test_another_try_answers_the_same_instruction(sample: StoredSample) -> None:
    first = ask(sample, "Violet.", "Violet rain.")
    again = sample.handle.runs.request_again(first)
    sample.server.script = openai_answer("Violet snow.")
    sample.write(document_id=again.document_id, additional_input=again.additional_input)
    assert path(sample) == ["Violet.", "Violet snow."]
    assert [one.content for one in talk(sample).list_siblings(OWN, "last")] == ["Violet rain.", "Violet snow."]


def test_a_pasted_answer_is_recorded_when_it_is_accepted(sample: StoredSample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.llm.providers.clipboard.copy_text", lambda _: False)

    async def hand_over() -> None:
        request = sample.handle.request(document_id=CHAPTER, additional_input="Violet.", window=8192)
        assert [step async for step in Writer(sample.handle, ClipboardProvider()).write(request)]

    asyncio.run(hand_over())
    assert OWN not in [one.record.id for one in talk(sample).list_all()]
    sample.handle.runs.accept("last", text="Violet drizzle.")
    assert path(sample) == ["Violet.", "Violet drizzle."]
    sample.handle.changes.undo()
    assert path(sample) == ["Violet.", "Violet drizzle."]
    assert prompt(sample).count("Violet drizzle.") == 1


def test_an_answer_that_was_edited_is_shown_as_it_went_in(sample: StoredSample) -> None:
    run = ask(sample, "Violet.", "Violet rain.")
    sample.handle.runs.accept(run, text="Violet drizzle.")
    assert path(sample) == ["Violet.", "Violet rain."]
    assert "Violet rain." not in prompt(sample)
    assert "Violet drizzle." in prompt(sample)


def test_another_chapter_hears_nothing_of_it_but_the_author_may(sample: StoredSample) -> None:
    ask(sample, "The ferryman is the violet murderer.", "Violet, whispered nobody.")
    for other in ("ch-01", "ch-03"):
        for skill in ("continue", "rewrite"):
            wishes = {"selection": (0, 4)} if skill == "rewrite" else {}
            assert "violet" not in prompt(sample, document_id=other, skill_id=skill, **wishes).lower()
    named = prompt(sample, document_id="ch-01", conversation_id=OWN)
    assert "violet" not in named.lower()
    assert "violet" in prompt(sample, document_id="ch-01", perspective=Perspective.AUTHOR).lower()


def test_a_character_who_does_not_know_the_chapter_hears_nothing_of_its_conversation(sample: StoredSample) -> None:
    ask(sample, "The ferryman is the violet murderer.", "Violet, whispered nobody.")
    with sample.store.write(project=sample.project) as tx:
        save_participant(tx, Participant(id="pawn:bo", name="Bo"))
        save_participant(tx, Participant(id="pawn:ida", name="Ida"))
        document_service.update(tx, CHAPTER, {"known_to": ["pawn:ida"]})
    for name, knows in (("pawn:bo", False), ("pawn:ida", True)):
        wishes = {"document_id": "ch-03", "recipe": "chat", "conversation_id": OWN, "speaker_id": name}
        assert ("violet" in prompt(sample, **wishes).lower()) == knows
    assert "violet" in prompt(sample, character="pawn:bo").lower(), "the writer sees what the writer asked for there"


def test_a_named_conversation_and_answers_that_are_data_are_not_recorded(sample: StoredSample) -> None:
    conversation = talk(sample).start(title="Pier").id
    ask(sample, "Say it.", "Said.", conversation_id=conversation)
    ask(sample, "Names.", '{"entries": []}', skill_id="extract")
    assert OWN not in [one.record.id for one in talk(sample).list_all()]


def test_a_chat_and_background_work_are_not_recorded_again(sample: StoredSample) -> None:
    async def work() -> None:
        place = ProviderConfig(name="openai", base_url=sample.server.url, key_variable="TEST_KEY")
        provider = make_provider(place)
        writer = Writer(sample.handle, provider, options=PLAIN, run_state="used")  # as jobs and chats write
        request = sample.handle.request(document_id=CHAPTER, window=8192)
        assert [step async for step in writer.write(request)]
        await provider.aclose()

    asyncio.run(work())
    assert OWN not in [one.record.id for one in talk(sample).list_all()]


def test_an_entry_is_still_pinned_to_a_chapter_by_its_title(sample: StoredSample) -> None:
    ask(sample, "Shorter.", "Rain.")
    with sample.store.read(project=sample.project) as reading:
        assert find_pin_place(sample.handle.view, reading, "The Weight").id == CHAPTER


def test_a_conversation_called_like_a_chapter_keeps_its_name(sample: StoredSample) -> None:
    ask(sample, "Shorter.", "Rain.")
    started = talk(sample).start(title="The Weight")
    assert talk(sample).get("The Weight").record.id == started.id
    with pytest.raises(FabulaError) as refused:
        talk(sample).rename(OWN, "Storm")
    assert refused.value.code is Code.REQUEST_INVALID


def test_a_failed_answer_is_kept_beside_the_history(sample: StoredSample) -> None:
    failed = GenerationRun(id="r1", model="m", skill_id="continue", document_id=CHAPTER, outcome="failed")
    with sample.store.write(project=sample.project) as tx:
        record_answer(tx, Instruction(OWN, "Violet."), failed, "Violet ra")
        kept: Message = edits.get_message(tx, "r1")
    assert not kept.final
    assert "Violet ra" not in prompt(sample)

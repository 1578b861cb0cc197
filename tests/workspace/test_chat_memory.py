"""What chats are told beside the running conversation, who is told it, and in which order (cnv-6…9, cht-6)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from os.path import commonprefix

import pytest

from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.conversation.model import Message
from fabula.conversation.recaps.model import RecapInput, RecapRules
from fabula.conversation.recaps.schedule import load_schedule
from fabula.conversation.recaps.update import refresh_recaps
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.settings.edits import set_value
from fabula.store.save.loading import load_save
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider, collect

P, TALK = "party", "Pier"
LONG = "and the wind went on and on over the water. " * 12  # about 500 characters
_telling = count(1)


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    """A project with a player and three personas, whose history windows a few long rounds leave."""
    projects.create(store, "Party", project_id=P)
    with store.write(project=P) as tx:
        set_value(tx, "maxHistoryTokens", 1000, scope="project")
    with Workspace(store) as opened:
        people = opened.project(P).participants
        people.ensure_player("Ann")
        for name in ("Mara", "Bo", "Cole"):
            people.add(name, persona=f"{name} is a sailor.")
        yield opened


@pytest.fixture
def party(workspace: Workspace) -> ProjectHandle:
    """The project with a conversation of the player, Mara and Bo."""
    project = workspace.project(P)
    project.conversations.start(("Ann", "Mara", "Bo"), title=TALK)
    return project


def say(project: ProjectHandle, speaker: str, text: str, *audience: str) -> Message:
    return project.conversations.record(TALK, text, speaker=speaker, audience=audience or None)


def add_rounds(project: ProjectHandle, first: int, last: int, filling: str = "") -> None:
    for number in range(first, last + 1):
        say(project, "Ann", f"Question{number:02}. {filling}")
        say(project, "Mara", f"Answer{number:02}. {filling}")


def summarise(project: ProjectHandle, rules: RecapRules | None = None) -> list[RecapInput]:
    """Write what is due; each text names the lines it was made from. Return what the writer was given."""
    given: list[RecapInput] = []

    def write(recap: RecapInput) -> str:
        given.append(recap)
        return f"Telling{next(_telling):02} tells of {' '.join(word for word in recap.text.split() if word[-1] == '.')}"

    assert project.store is not None
    ident = project.conversations.get(TALK).record.id
    refresh_recaps(project.store, P, ident, write_recap=write, rules=rules or RecapRules(max_chars=5000))
    return given


def ask(project: ProjectHandle, speaker: str, text: str = "What now?", recipe: str = "character-chat") -> Result:
    request = project.request(
        conversation_id=TALK, speaker_id=speaker, additional_input=text, recipe=recipe, skill_id="", document_id=""
    )
    return project.inspect(request)


def ask_and_answer(project: ProjectHandle, speaker: str) -> str:
    """Return the prompt of the next request, which the one after it goes on from."""
    request = project.request(
        conversation_id=TALK, speaker_id=speaker, additional_input="What now?", recipe="chat", skill_id=""
    )
    result = project.assemble(request)
    project.report_answer(result.assembly_id)
    return result.prompt


def prompt_of(result: Result) -> str:
    return result.prompt


def set_setting(project: ProjectHandle, name: str, value: object) -> None:
    assert project.store is not None
    with project.store.write(project=P) as tx:
        set_value(tx, name, value, scope="project")


def test_texts_of_participants_are_added_edited_ordered_and_removed(party: ProjectHandle) -> None:
    texts = party.participant_texts
    for text in ("One.", "Two.", "Three."):
        texts.add("prompt", "Mara", text)
    texts.edit("prompt", "Mara", "2", text="Second.", is_private=True)
    texts.remove("prompt", "mara", "One.")
    texts.reorder("prompt", "Mara", ("Three", "Second"))
    assert [(one.text, one.is_private) for one in texts.list_texts("prompt", "Mara")] == [
        ("Three.", False),
        ("Second.", True),
    ]
    party.changes.undo()
    assert [one.text for one in texts.list_texts("prompt", "Mara")] == ["Second.", "Three."]
    assert texts.list_texts("biography", "Mara") == []
    with pytest.raises(FabulaError) as refused:
        texts.add("biography", "Marra", "Born at sea.")
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert "Mara" in refused.value.sentence
    for act in (lambda: texts.add("prompt", "Bo", "  "), lambda: texts.reorder("prompt", "Mara", ("1",))):
        with pytest.raises(FabulaError):
            act()


def test_texts_of_participants_are_in_a_save(party: ProjectHandle, tmp_path_factory: pytest.TempPathFactory) -> None:
    party.participant_texts.add("prompt", "Mara", "Mara never lies.", is_private=True)
    party.participant_texts.add("biography", "Mara", "Born at sea.")
    pinned = say(party, "Ann", "The lamp is in the well.")
    party.conversations.pin(TALK, pinned.id, "in the well")
    folder = tmp_path_factory.mktemp("save")
    saved = party.save(folder / "party.fabula")
    other = Store.open(folder / "other")
    load_save(other, saved.path)
    with Workspace(other) as loaded:
        project = loaded.project(P)
        (prompt,) = project.participant_texts.list_texts("prompt", "Mara")
        (item,) = project.participant_texts.list_texts("biography", "Mara")
        assert (prompt.text, prompt.is_private, item.text) == ("Mara never lies.", True, "Born at sea.")
        assert project.conversations.read_page(TALK).messages[0].pinned == "in the well"
    other.close()


def test_a_private_fixed_prompt_reaches_its_owner_only_and_stands_behind_what_all_know(party: ProjectHandle) -> None:
    party.participant_texts.add("prompt", "Bo", "The harbour is closed.")
    party.participant_texts.add("prompt", "Mara", "The harbour is closed.")
    party.participant_texts.add("prompt", "Mara", "Mara stole the barometer.", is_private=True)
    party.participant_texts.add("prompt", "Cole", "Cole is not here.")
    say(party, "Ann", "Hello.")
    mara, bo = prompt_of(ask(party, "Mara")), prompt_of(ask(party, "Bo"))
    assert mara.count("The harbour is closed.") == bo.count("The harbour is closed.") == 1
    assert "barometer" in mara
    assert "barometer" not in bo
    assert "Cole is not here" not in mara
    shared = next(place for place, pair in enumerate(zip(mara, bo, strict=False)) if pair[0] != pair[1])
    assert "Hello." in mara[:shared], "the history is the same for both"


def test_a_biography_is_told_where_a_player_and_a_character_talk_alone(workspace: Workspace) -> None:
    project = workspace.project(P)
    project.participant_texts.add("biography", "Mara", "Born at sea.")
    project.conversations.start(("Ann", "Mara"), title=TALK)
    say(project, "Ann", "Hello.")
    assert "Born at sea." in prompt_of(ask(project, "Mara"))
    project.conversations.join(TALK, "Bo")
    assert "Born at sea." not in prompt_of(ask(project, "Mara"))


def test_what_is_told_has_its_order_and_its_cap_cuts_from_the_end_with_reasons(workspace: Workspace) -> None:
    project = workspace.project(P)
    project.conversations.start(("Ann", "Mara"), title=TALK)
    project.participant_texts.add("prompt", "Mara", "Fixed words.")
    project.participant_texts.add("biography", "Mara", "Born at sea.")
    add_rounds(project, 1, 5)
    summarise(project)
    add_rounds(project, 6, 9, LONG)
    result = ask(project, "Mara", "Do you recall Question06?")
    prompt = prompt_of(result)
    places = [prompt.index(words) for words in ("Fixed words.", "Born at sea.", "Telling")]
    assert places == sorted(places)
    earlier = [one for one in result.trace if one.source.startswith("history:") and one.layer == "retrieved"]
    assert any(one.included for one in earlier)
    assert all(prompt.index(one.text.strip()) > places[-1] for one in earlier if one.included)
    set_setting(project, "History.MaxPromptChars", 400)
    capped = {(one.source.partition(":")[0], one.reason) for one in ask(project, "Mara").trace}
    assert {("history", Reason.INJECTION_CAP), ("recap", Reason.KEPT), ("biography", Reason.KEPT)} <= capped
    set_setting(project, "History.MaxPromptChars", 5)
    result = ask(project, "Mara")
    assert any("FIXED_PROMPT" in warning for warning in result.warnings)
    assert "Answer09" in prompt_of(result), "the running history is not capped"


def test_a_recap_is_told_when_a_round_of_it_left_the_window_and_not_before(party: ProjectHandle) -> None:
    add_rounds(party, 1, 5)
    summarise(party)
    assert "Telling" not in prompt_of(ask(party, "Mara"))
    add_rounds(party, 6, 9, LONG)
    prompt = prompt_of(ask(party, "Mara"))
    assert prompt.count("Telling") == 1
    assert prompt.count("Answer09") == 1


def test_a_recap_is_known_only_to_those_who_heard_all_of_it(party: ProjectHandle) -> None:
    add_rounds(party, 1, 3)
    party.conversations.join(TALK, "Cole")
    add_rounds(party, 4, 8)
    given = summarise(party)
    assert [len(one.lines) for one in given[:2]] == [6, 10], "a summary ends where others are present"
    add_rounds(party, 9, 12, LONG)
    cole, mara = prompt_of(ask(party, "Cole")), prompt_of(ask(party, "Mara"))
    assert "Question01." not in cole
    assert "Question03." not in cole
    assert "Question04." in cole
    assert "Question01." in mara


def test_the_recap_before_is_not_shown_to_the_writer_of_one_for_others(party: ProjectHandle) -> None:
    rules = RecapRules(rounds_per_summary=2, rounds_per_recap=4, max_chars=5000)
    add_rounds(party, 1, 4)
    summarise(party, rules)
    party.conversations.join(TALK, "Cole")
    add_rounds(party, 5, 8)
    assert [one.previous_recap for one in summarise(party, rules)] == ["", "", ""]
    add_rounds(party, 9, 10)
    assert all("Question05." in one.previous_recap for one in summarise(party, rules))


def test_a_whisper_is_in_no_recap_and_its_hearers_reach_it_behind_the_window(party: ProjectHandle) -> None:
    add_rounds(party, 1, 2)
    say(party, "Ann", "Secretword is under the anchor.", "Mara")
    add_rounds(party, 3, 6)
    assert not any("Secretword" in one.text for one in summarise(party))
    add_rounds(party, 7, 11, LONG)
    summarise(party)
    for strategy in ("classic", "embedding-first"):
        set_setting(party, "History.RelevantHistory", strategy)
        assert "Secretword" in prompt_of(ask(party, "Mara", "What is under the anchor?"))
        assert "Secretword" not in prompt_of(ask(party, "Bo", "What is under the anchor?"))


def test_long_whispers_behind_the_window_reach_their_hearers_and_the_trace_says_where_they_end(
    party: ProjectHandle,
) -> None:
    add_rounds(party, 1, 1)

    def whisper(first: int, last: int) -> None:
        for number in range(first, last):
            say(party, "Mara" if number % 2 else "Ann", f"Hush{number:03}.", "Ann" if number % 2 else "Mara")

    def list_told(speaker: str) -> list[int]:
        prompt = prompt_of(ask(party, speaker, recipe="chat"))
        return [number for number in range(first, 200) if f"Hush{number:03}." in prompt]

    def find_limit(speaker: str) -> str:
        found = ask(party, speaker, recipe="chat").trace
        return next((f"{one.title}: {one.cause}" for one in found if one.source == "history:earlier"), "")

    first = 30
    whisper(first, 100)
    add_rounds(party, 2, 22, LONG)
    summarise(party)
    assert list_told("Mara") == list(range(30, 100))
    assert list_told("Bo") == []
    assert find_limit("Mara") == ""
    first = 100
    whisper(first, 200)
    add_rounds(party, 23, 43, LONG)
    summarise(party)
    assert list_told("Mara") == list(range(100, 200))
    assert find_limit("Mara").startswith("70 earlier messages: No recap covers them")
    assert find_limit("Bo") == ""


def test_a_deleted_message_moves_no_round_and_opens_no_recap(party: ProjectHandle) -> None:
    add_rounds(party, 1, 5)
    summarise(party)
    party.conversations.delete_message(TALK, "1")
    party.conversations.join(TALK, "Cole")
    add_rounds(party, 6, 10, LONG)
    summarise(party)
    assert party.store is not None
    with party.store.read(project=P) as reading:
        schedule = load_schedule(reading, party.conversations.get(TALK).record.id)
    assert [one.number for one in schedule.history.rounds] == list(range(2, 11))
    assert not schedule.unsummarised
    assert "Answer01" not in prompt_of(ask(party, "Cole"))


def test_no_message_before_the_window_is_left_uncovered(party: ProjectHandle) -> None:
    """Every message that a prompt does not show is in a summary or a recap that the speaker may know."""
    assert party.store is not None
    ident = party.conversations.get(TALK).record.id
    for number in range(1, 13):
        add_rounds(party, number, number, LONG if number % 2 else "")
        for _ in range(3):
            say(party, "Bo", f"Aside of {number}.")
        summarise(party)
        result = ask(party, "Mara")
        shown = {one.source for one in result.trace if one.included and one.source.startswith("history:")}
        with party.store.read(project=P) as reading:
            schedule = load_schedule(reading, ident)
        covered = {heard for one in (*schedule.summaries, *schedule.recaps) if one.text for heard in one.heard}
        path = party.conversations.read_page(TALK).messages
        missing = [one.content for one in path if f"history:{one.id}" not in shown and one.number not in covered]
        assert not missing, number


def test_rounds_whose_summary_was_removed_are_told_though_a_later_recap_names_them(party: ProjectHandle) -> None:
    rules = RecapRules(rounds_per_summary=2, rounds_per_recap=4, max_chars=5000)
    add_rounds(party, 1, 2)
    summarise(party, rules)
    (summary,) = party.recaps.list_recaps(TALK)
    party.recaps.remove(TALK, summary.id)
    add_rounds(party, 3, 4)
    summarise(party, rules)
    add_rounds(party, 5, 5)
    set_setting(party, "maxHistoryTokens", 20)
    set_setting(party, "History.RelevantHistory", "classic")  # what is found by search is not the point here
    (recap,) = (one for one in party.recaps.list_recaps(TALK) if one.kind == "recap")
    assert "Answer01" not in recap.text
    prompt = prompt_of(ask(party, "Mara", recipe="chat"))
    assert recap.text in prompt
    assert [number for number in range(1, 6) if f"Answer{number:02}" not in prompt] == []


def test_a_conversation_of_characters_alone_is_summarised(party: ProjectHandle) -> None:
    for number in range(1, 13):
        say(party, "Mara", f"Question{number:02}. {LONG}")
        say(party, "Bo", f"Answer{number:02}. {LONG}")
    party.conversations.leave(TALK, "Ann")
    assert party.conversations.get(TALK).record.round_count == 11  # the first two lines belong to the first round
    summarise(party)
    assert [(one.kind, one.rounds[0], one.rounds[-1]) for one in party.recaps.list_recaps(TALK)] == [
        ("summary", 1, 5),
        ("summary", 6, 10),
        ("recap", 1, 10),
    ]
    assert "Answer01" in prompt_of(ask(party, "Bo"))


def test_too_many_messages_or_tokens_are_summarised_before_the_fifth_round(party: ProjectHandle) -> None:
    add_rounds(party, 1, 1)
    for number in range(70):
        say(party, "Bo", f"{number}.")
    add_rounds(party, 2, 2)
    rules = RecapRules(window_tokens=100_000, max_chars=5000)
    assert [one.kind for one in summarise(party, rules)] == ["summary"]
    add_rounds(party, 3, 3, LONG * 50)
    add_rounds(party, 4, 4)
    assert len(summarise(party, rules)) == 1
    assert summarise(party, rules) == []
    texts = [one.content for one in party.conversations.read_page(TALK).messages]
    assert "0." in texts, "the originals stay"


def test_pinned_words_are_told_word_for_word(party: ProjectHandle) -> None:
    say(party, "Ann", "Listen. The lamp is hidden in the well. Nobody knows.")
    whisper = say(party, "Mara", "And the key is mine.", "Ann")
    party.conversations.pin(TALK, "1", "The lamp is hidden in the well.")
    party.conversations.pin(TALK, whisper.id)
    add_rounds(party, 1, 8, LONG)
    summarise(party)
    mara, bo = prompt_of(ask(party, "Mara")), prompt_of(ask(party, "Bo"))
    assert "[Kept word for word, Ann] The lamp is hidden in the well." in mara
    assert "[Kept word for word, Ann] The lamp is hidden in the well." in bo
    assert "[Kept word for word, Mara → Ann] And the key is mine." in mara
    assert "And the key is mine." not in bo
    party.conversations.pin(TALK, "1", None)
    assert "[Kept word for word, Ann]" not in prompt_of(ask(party, "Mara"))
    with pytest.raises(FabulaError) as refused:
        party.conversations.pin(TALK, "1", "the moon")
    assert refused.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
def test_a_message_that_is_pinned_as_a_whole_is_not_told_again_as_an_earlier_one(
    party: ProjectHandle, strategy: str
) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    whole = say(party, "Ann", "The anchor lies in the well.")
    part = say(party, "Mara", "The rope is blue. The anchor is not.")
    party.conversations.pin(TALK, whole.id)
    party.conversations.pin(TALK, part.id, "The rope is blue.")
    add_rounds(party, 1, 8, LONG)
    for speaker in ("Mara", "Bo"):
        prompt = prompt_of(ask(party, speaker, "What of the anchor in the well?", "chat"))
        assert "[Kept word for word, Ann] The anchor lies in the well." in prompt
        assert prompt.count("The anchor lies in the well.") == 1
        assert "[Kept word for word, Mara] The rope is blue." in prompt
        assert "Mara: The rope is blue. The anchor is not." in prompt, "more of it than the pin keeps"
    party.conversations.pin(TALK, whole.id, None)
    assert "\nAnn: The anchor lies in the well.\n" in prompt_of(ask(party, "Mara", "And the anchor?", "chat"))


def test_injection_and_recaps_are_switched_off_at_once(party: ProjectHandle) -> None:
    party.participant_texts.add("prompt", "Mara", "Fixed words.")
    add_rounds(party, 1, 5)
    summarise(party)
    add_rounds(party, 6, 9, LONG)
    assert "Telling" in prompt_of(ask(party, "Mara"))
    set_setting(party, "History.Recaps", False)
    prompt = prompt_of(ask(party, "Mara"))
    assert ("Telling" in prompt, "Fixed words." in prompt) == (False, True)
    set_setting(party, "History.Recaps", True)
    set_setting(party, "History.Injection", False)
    prompt = prompt_of(ask(party, "Mara"))
    assert ("Telling" in prompt, "Fixed words." in prompt) == (False, False)
    assert "Mara is a sailor." in prompt
    assert "Answer09" in prompt
    set_setting(party, "History.Injection", True)
    assert "Telling" in prompt_of(ask(party, "Mara"))


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
def test_relevant_history_comes_from_conversations_of_the_same_participants(
    party: ProjectHandle, strategy: str
) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    for others, title, word in (
        (("Ann", "Mara", "Bo", "Cole"), "Deck", "Deckword"),
        (("Ann", "Mara"), "Cabin", "Cabinword"),
        (("Ann", "Bo", "Cole"), "Hold", "Holdword"),
    ):
        party.conversations.start(others, title=title)
        party.conversations.record(title, f"The anchor is lost, says {word}.", speaker="Ann")
    say(party, "Ann", "Hello.")
    mara = prompt_of(ask(party, "Mara", "What of the anchor?"))
    assert ("Deckword" in mara, "Holdword" in mara) == (True, False)
    party.conversations.join("Deck", "Mara")
    cole = party.conversations.start(("Ann", "Mara", "Bo"), title="Late")
    party.conversations.record(cole.id, "The anchor again, Lateword.", speaker="Mara", audience=("Ann",))
    assert "Lateword" not in prompt_of(ask(party, "Bo", "What of the anchor?"))


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
def test_a_whisper_says_in_another_conversation_that_it_was_one(party: ProjectHandle, strategy: str) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    party.conversations.start(("Ann", "Mara", "Bo", "Cole"), title="Lock")
    party.conversations.record("Lock", "The anchor is under the chapel.", speaker="Ann", audience=("Mara",))
    party.conversations.record("Lock", "The anchor is heavy.", speaker="Ann")
    say(party, "Ann", "Hello.")
    mara = prompt_of(ask(party, "Mara", "What of the anchor?"))
    assert "Ann → Mara: The anchor is under the chapel.\n" in mara
    assert "Ann: The anchor is heavy.\n" in mara
    assert "chapel" not in prompt_of(ask(party, "Bo", "What of the anchor?"))


def test_a_whisper_says_that_it_was_one_where_its_own_conversation_remembers_it(party: ProjectHandle) -> None:
    whispered = say(party, "Ann", "The key is mine.", "Mara")
    say(party, "Ann", "Nobody has the rope.", "Mara")
    party.conversations.pin(TALK, whispered.id)
    add_rounds(party, 1, 9, LONG)
    mara = prompt_of(ask(party, "Mara", "What of the rope?"))
    assert "[Kept word for word, Ann → Mara] The key is mine." in mara
    assert "Ann → Mara: Nobody has the rope.\n" in mara


def test_another_recent_conversation_is_told_where_everybody_present_took_part(party: ProjectHandle) -> None:
    for others, title in ((("Mara", "Bo"), "Cabin"), (("Ann", "Mara", "Bo", "Cole"), "Deck")):
        party.conversations.start(others, title=title)
        party.conversations.record(title, f"Nothing of note, says {title}word.", speaker="Mara")
    say(party, "Ann", "Hello.")
    for recipe in ("chat", "character-chat"):
        told = prompt_of(ask(party, "Mara", "What of the anchor?", recipe))
        assert "[Another recent conversation: Deck]" in told
        assert "Cabin" not in told, "Ann was not there"


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
@pytest.mark.parametrize("recipe", ["chat", "character-chat"])
def test_a_conversation_that_is_told_word_for_word_is_not_told_in_short_beside_it(
    party: ProjectHandle, strategy: str, recipe: str
) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    party.conversations.start(("Ann", "Mara", "Bo"), title="Deck")
    party.conversations.record("Deck", "The anchor lies on the deck.", speaker="Ann")
    say(party, "Ann", "Hello.")
    result = ask(party, "Mara", "What of the anchor?", recipe)
    told = prompt_of(result)
    assert "[Said before, in the conversation “Deck”, 2" in told
    assert "]\nAnn: The anchor lies on the deck.\n" in told
    assert "[Another recent conversation: Deck]" not in told
    deck = party.conversations.get("Deck").record.id
    verdict = next(one for one in result.trace if one.source == f"talk:{deck}")
    assert verdict.reason is Reason.DUPLICATE


def test_a_group_is_named_before_anything_was_said(party: ProjectHandle) -> None:
    prompt = prompt_of(ask(party, "Mara", "Who is there?", "chat"))
    assert "[Taking part in this conversation: Ann, Bo, Mara]" in prompt
    assert "\nAnn: Who is there?\n" in prompt
    party.conversations.start(("Ann", "Mara"), title="Two")
    request = party.request(
        conversation_id="Two", speaker_id="Mara", additional_input="Well?", recipe="chat", skill_id="", document_id=""
    )
    alone = party.inspect(request).prompt
    assert ("[Taking part" in alone, "Ann: Well?" in alone) == (False, False)


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
def test_what_a_mode_told_in_its_game_comes_into_no_other_conversation(party: ProjectHandle, strategy: str) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    party.chat.start(("Mara", "Bo"), title="Quiz", mode="quiz")
    model = ScriptedProvider(lambda who, _: f"The anchor, says {who}.")
    collect(party.chat.send("Quiz", "What holds a ship?", model=model))
    collect(party.chat.send("Quiz", "@Bo +1", model=model))
    assert "[Scores: Bo 1]" in [one.content for one in party.conversations.read_page("Quiz").messages]
    say(party, "Ann", "Hello.")
    told = prompt_of(ask(party, "Mara", "What of the scores and the anchor of Bo?", "chat"))
    assert "The anchor, says Bo." in told
    assert "Scores:" not in told
    assert "Bo +1" not in told
    assert "What holds a ship?" in told
    assert "[Scores: Bo 1]" in prompt_of(
        party.inspect(party.request(conversation_id="Quiz", speaker_id="Mara", recipe="chat", skill_id=""))
    ), "in its own conversation it is part of the history"


def test_a_join_or_a_leave_that_is_taken_back_counts_for_what_was_said_meanwhile(party: ProjectHandle) -> None:
    talks = party.conversations
    talks.join(TALK, "Cole")
    say(party, "Ann", "Coralword.")
    assert "Coralword" in prompt_of(ask(party, "Cole"))
    party.changes.undo()
    assert "Coralword" not in prompt_of(ask(party, "Cole"))
    talks.leave(TALK, "Bo")
    say(party, "Ann", "Amberword.")
    assert "Amberword" not in prompt_of(ask(party, "Bo"))
    party.changes.undo()
    assert "Amberword" in prompt_of(ask(party, "Bo"))


def test_a_join_that_is_taken_back_counts_in_other_conversations_too(party: ProjectHandle) -> None:
    party.conversations.join(TALK, "Cole")
    say(party, "Ann", "Who is there?")
    party.conversations.leave(TALK, "Cole")
    say(party, "Ann", "Nobody.")
    other = party.conversations.start(("Cole",)).id
    party.conversations.join(TALK, "Cole")
    say(party, "Ann", "Coralword.")
    request = party.request(conversation_id=other, speaker_id="Cole", recipe="chat", skill_id="", document_id="")
    assert "Coralword" in party.assemble(request).prompt
    party.changes.undo()
    assert "Coralword" not in party.assemble(request).prompt


def test_where_everybody_has_left_search_tells_no_biography(party: ProjectHandle) -> None:
    party.participant_texts.add("biography", "Mara", "Grew up beside the barometer of Coralword.")
    say(party, "Ann", "Where is the barometer?")
    for name in ("Ann", "Mara", "Bo"):
        party.conversations.leave(TALK, name)
    for recipe in ("chat", "character-chat"):
        assert "Coralword" not in prompt_of(ask(party, "Mara", "What of the barometer?", recipe))


def test_a_chat_that_names_no_document_shows_no_text_of_the_manuscript(party: ProjectHandle) -> None:
    assert party.store is not None
    with party.store.write(project=P) as tx:
        documents.add(tx, "One", document_id="one", text="The tide went out over the amberstones, and Mara saw it.")
        documents.add(tx, "Mara", document_id="two", text="The Kestrel came in, and the coralbell rang.")
        for name in ("Kestrel", "Mara"):
            codex.put(tx, Entry(id=name.lower(), type="lore", name=name, description=f"Entry of {name}."))
    say(party, "Ann", "Hello, Mara.")

    def tell(document: str | None, recipe: str = "chat", **fields: str) -> str:
        request = party.request(conversation_id=TALK, recipe=recipe, document_id=document, **fields)  # type: ignore[arg-type]
        return party.inspect(request).prompt

    for recipe in ("chat", "character-chat"):
        without = tell(None, recipe, speaker_id="Mara", additional_input="Nice day.")
        assert "coralbell" not in without
        assert "Entry of Kestrel" not in without  # a name in a text that is not shown brings nothing
        assert "Entry of Mara" in without
        assert "The tide went out" in without  # the story so far is known
        assert "coralbell" in tell("two", recipe, speaker_id="Mara")
    found = party.request(
        conversation_id=TALK, recipe="chat", speaker_id="Mara", additional_input="Who heard the coralbell?"
    )
    assert "coralbell rang" in party.inspect(found).prompt  # a passage that search finds
    assert "coralbell" in party.inspect(party.request(skill_id="continue")).prompt


def test_what_a_writer_prefers_is_told_to_writers_and_agents_and_to_no_character(party: ProjectHandle) -> None:
    party.memory.remember("Avoid exclamation marks.")
    party.participants.add("Unit", namespace="agent", persona="A careful reviewer.")
    party.conversations.join(TALK, "Unit")
    say(party, "Ann", "Hello.")
    assert "exclamation" in prompt_of(ask(party, "Unit"))
    told = ask(party, "Mara")
    assert "exclamation" not in prompt_of(told)
    (verdict,) = (one for one in told.trace if one.source.startswith("memory:"))
    assert "a character speaks here" in verdict.sentence
    assert "exclamation" in party.inspect(party.request(skill_id="continue")).prompt


def test_the_synopsis_of_a_chapter_that_one_character_knows_reaches_nobody_else(party: ProjectHandle) -> None:
    assert party.store is not None
    with party.store.write(project=P) as tx:
        for number in range(1, 14):  # so many that the first ones are rolled up
            known_to = ["persona:Mara"] if number in (2, 12) else None
            text = f"Nobody saw word{number:02} by the well that night, and nobody ever asked Mara or Bo."
            documents.add(tx, f"Chapter {number}", document_id=f"c{number}", text=text, known_to=known_to)
    party.synopses.make()
    say(party, "Ann", "Hello.")

    def list_words(**fields: str) -> set[str]:
        request = party.request(document_id="c13", additional_input="Who was by the well?", **fields)  # type: ignore[arg-type]
        prompt = party.inspect(request).prompt
        return {word for word in ("word02", "word12", "word11") if word in prompt}

    chat = {"conversation_id": TALK, "recipe": "chat"}
    assert list_words(speaker_id="Mara", **chat) >= {"word11", "word12"}
    assert list_words(speaker_id="Bo", **chat) == {"word11"}
    assert list_words(**chat) == {"word11"}
    assert list_words(skill_id="continue") == {"word11"}
    assert list_words(skill_id="continue", character="Mara") >= {"word11", "word12"}


def test_a_recap_waits_while_the_summaries_that_it_is_made_of_are_in_the_prompt(party: ProjectHandle) -> None:
    def list_told(prompt: str) -> list[str]:
        return [line.split()[4] for line in prompt.splitlines() if line.startswith("[Earlier in this")]

    apart = RecapRules(max_chars=5000, rounds_per_recap=100)
    add_rounds(party, 1, 40, LONG)
    summarise(party, apart)
    first = list_told(ask_and_answer(party, "Mara"))
    assert len(first) >= 2
    summarise(party)  # recaps of these summaries
    assert list_told(ask_and_answer(party, "Mara")) == first
    add_rounds(party, 41, 90, LONG)  # the window moves
    later = list_told(ask_and_answer(party, "Mara"))
    assert later
    assert set(later).isdisjoint(first)


@pytest.mark.parametrize("joins_first", [True, False])
def test_what_was_told_stays_in_its_place_when_somebody_comes_or_goes(party: ProjectHandle, joins_first: bool) -> None:
    party.conversations.join(TALK, "Cole")
    say(party, "Cole", "Hello.")
    party.conversations.leave(TALK, "Cole")
    add_rounds(party, 1, 40, LONG)
    summarise(party)
    if joins_first:
        party.conversations.join(TALK, "Cole")
    before = ask_and_answer(party, "Mara")
    assert "Telling" in before
    if joins_first:
        party.conversations.leave(TALK, "Cole")
    else:
        party.conversations.join(TALK, "Cole")
    after = ask_and_answer(party, "Mara")
    shared = commonprefix([before, after])  # noqa: RUF071
    assert "Answer40" in shared, "only what follows the conversation is read anew"
    assert after.count("Telling") == before.count("Telling")


def test_earlier_messages_stand_in_the_order_in_which_they_were_said_under_their_own_heading(
    party: ProjectHandle,
) -> None:
    party.conversations.start(("Ann", "Mara", "Bo"), title="Quay")
    said = ("A gull sat on the barometer.", "The barometer, barometer: what does it say?", "The tide table lies.")
    for text in said[:2]:
        party.conversations.record("Quay", text, speaker="Ann")
    say(party, "Ann", "Hello.")

    def prompt(text: str) -> str:
        request = party.request(
            conversation_id=TALK, speaker_id="Mara", additional_input=text, recipe="chat", skill_id="", document_id=""
        )
        result = party.assemble(request)
        party.report_answer(result.assembly_id)
        return result.prompt

    first = prompt("What does the barometer say?")
    assert first.index(said[0]) < first.index(said[1])
    party.conversations.record("Quay", said[2], speaker="Ann")
    say(party, "Ann", "What does the barometer say?")
    later = prompt("And the tide table, the tide table that lies?")
    heading = later.rindex("[Said before, in the conversation “Quay”")
    assert later.index("Ann: What does the barometer say?") < heading < later.index(said[2])
    end = later.index("[End of what was said earlier]")
    assert later.index(said[2]) < end < later.index("Ann: And the tide table")
    assert "[Also in this scene]" not in later


@pytest.mark.parametrize("strategy", ["classic", "embedding-first"])
def test_each_other_conversation_is_one_block_with_its_name_and_its_lines_in_order(
    party: ProjectHandle, strategy: str
) -> None:
    set_setting(party, "History.RelevantHistory", strategy)
    deck = (("Ann", "Where is the anchor?"), ("Mara", "The anchor lies in the well."), ("Bo", "Wet, that anchor."))
    hold = (("Bo", "The anchor is sold."), ("Ann", "Who bought the anchor?"))
    untitled = party.conversations.start(("Ann", "Mara", "Bo", "Cole"))
    party.conversations.start(("Ann", "Mara", "Bo"), title="Deck")
    for number, (speaker, text) in enumerate(deck):
        party.conversations.record("Deck", text, speaker=speaker)
        if number < len(hold):
            party.conversations.record(untitled.id, hold[number][1], speaker=hold[number][0])
    say(party, "Ann", "Hello.")
    prompt = prompt_of(ask(party, "Mara", "What of the anchor?", "chat"))
    blocks = [one for one in prompt.split("\n\n") if one.startswith("[Said before")]
    headings = [one.partition("\n")[0].partition(", 2")[0] for one in blocks]
    assert headings == [
        "[Said before, in the conversation “Ann, Bo, Cole, Mara”",
        "[Said before, in the conversation “Deck”",
    ]
    lines = ["\n".join(f"{name}: {text}" for name, text in talk) for talk in (hold, deck)]
    assert [one.partition("\n")[2] for one in blocks] == lines
    assert "[What may matter here]" not in prompt


def test_lines_with_others_between_them_stand_apart_and_a_day_is_in_the_language(store: Store) -> None:
    projects.create(store, "雾港", project_id="fog", language="zh")
    with Workspace(store) as opened:
        fog = opened.project("fog")
        fog.participants.ensure_player("安")
        fog.participants.add("林远", persona="寡言。")
        fog.conversations.start(("安", "林远"), title="甲板")
        for speaker, text in (
            ("安", "锚在哪里？"),
            ("林远", "锚在井里。"),
            *(("安", "嗯。"),) * 8,
            ("林远", "锚锈了。"),
        ):
            fog.conversations.record("甲板", text, speaker=speaker)
        fog.conversations.start(("安", "林远"), title="码头")
        fog.conversations.record("码头", "你好。", speaker="安")
        request = fog.request(
            conversation_id="码头", speaker_id="林远", additional_input="锚呢？", recipe="chat", document_id=""
        )
        prompt = fog.inspect(request).prompt
    heading, _, lines = prompt[prompt.index("【先前的对话“甲板”，") :].partition("】\n")
    assert heading.endswith("日")
    assert lines.startswith("安：锚在哪里？\n林远：锚在井里。\n")
    assert "林远：锚在井里。\n\n安：嗯。\n林远：锚锈了。\n\n" in lines


def test_whoever_speaks_of_earlier_messages_is_named_in_the_language_of_the_project(store: Store) -> None:
    projects.create(store, "雾港", project_id="fog", language="zh")
    with Workspace(store) as opened:
        fog = opened.project("fog")
        fog.participants.ensure_player("安")
        for name in ("林远", "阿牛"):
            fog.participants.add(name, persona="寡言。")
        fog.conversations.start(("安", "林远", "阿牛"), title="甲板")
        fog.conversations.record("甲板", "锚在井里，别说出去。", speaker="安", audience=("林远", "阿牛"))
        fog.conversations.record("甲板", "锚沉入井底。", role="system")
        fog.conversations.start(("安", "林远", "阿牛"), title="码头")
        fog.conversations.record("码头", "你好。", speaker="安")
        request = fog.request(
            conversation_id="码头", speaker_id="林远", additional_input="锚和井？", recipe="chat", document_id=""
        )
        prompt = fog.inspect(request).prompt
    assert "安 → 林远、阿牛：锚在井里，别说出去。\n旁白：锚沉入井底。\n" in prompt


def test_a_heading_names_nobody_who_was_not_there_when_the_line_was_said(party: ProjectHandle) -> None:
    other = party.conversations.start(("Ann", "Mara", "Cole"))
    party.conversations.record(other.id, "The anchor is ours.", speaker="Cole")
    party.conversations.leave(other.id, "Cole")
    party.conversations.join(other.id, "Bo")
    party.conversations.record(other.id, "The anchor is rusty.", speaker="Mara")
    say(party, "Ann", "Hello.")
    prompt = prompt_of(ask(party, "Bo", "What of the anchor?"))
    assert "[Said before, in the conversation “Ann, Bo, Mara”" in prompt
    assert "Cole" not in prompt
    assert "Cole: The anchor is ours." in prompt_of(ask(party, "Mara", "What of the anchor?"))

"""The lorebook source: fragments, placement, omitted entries and timed effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context import (
    NO_CONTINUITY,
    Continuity,
    Engine,
    Fragment,
    Layer,
    Node,
    Preset,
    Project,
    Reason,
    Request,
    Result,
    View,
)
from fabula.context.request import SourceRequest
from fabula.context.trace import BOOK_OVERRIDDEN, Verdict
from fabula.conversation.model import Conversations, Message
from fabula.core.errors import Code
from fabula.core.messages import message
from fabula.core.relevance import DETECTED, PREVIOUSLY_INCLUDED, REQUESTED
from fabula.lorebook.model import CardCharacter, LorebookSettings, TimedEffects
from fabula.lorebook.placement import convert_order
from fabula.lorebook.snapshot import ActiveLorebook, Lorebooks, decode_timed_effects
from fabula.lorebook.source import LorebookSource, get_character_name
from fabula.manuscript.model import Document, Manuscript
from fabula.workspace.sources import all_sources
from tests.lorebook.books import constant_entry, keyed_entry, make_book

P = "coast"
SHIPPED = LorebookSettings(recursive=True, match_whole_words=True)


def make_lorebooks(*entries: dict[str, Any], rules: str = "exact", settings: LorebookSettings = SHIPPED) -> Lorebooks:
    """One book in use."""
    one = make_book(*entries, name="isles")
    return Lorebooks(P, [ActiveLorebook(id="isles", name="The Isles", rules=rules, parsed=one, settings=settings)])


def make_view(books: Lorebooks | None, *said: str, text: str = "") -> View:
    """A project with a conversation and a chapter."""
    talk = [
        Message(id=f"m{n}", role="assistant" if n % 2 else "user", content=one, speaker="player:Ann", number=n)
        for n, one in enumerate(said)
    ]
    rooms: dict[type, object] = {
        Conversations: Conversations(P, {"talk": talk}),
        Manuscript: Manuscript((Document("ch-1", "One", text),)),
    }
    if books is not None:
        rooms[Lorebooks] = books
    return View(Project(id=P), Manuscript((Document("ch-1", "One", text),)).timeline(), rooms)


CHAT = Request(project_id=P, recipe="chat", conversation_id="talk", window=8192)
NOVEL = Request(project_id=P, recipe="novel", document_id="ch-1", window=8192)


def assemble(view: View, request: Request = CHAT, before: Continuity = NO_CONTINUITY) -> Result:
    """A prompt by the built-in recipe."""
    return Engine(all_sources()).assemble(request, view, continuity=before)


def inspect(view: View, request: Request = CHAT, before: Continuity = NO_CONTINUITY) -> dict[str, Verdict]:
    """What became of each entry."""
    result = Engine(all_sources()).inspect(request, view, continuity=before)
    return {v.source.removeprefix("lorebook:isles."): v for v in result.trace if v.source.startswith("lorebook:")}


def list_texts(result: Result) -> list[str]:
    """The texts of entries in the prompt, as they are read."""
    return [word for word in result.prompt.split() if word.startswith("E") and word[1:].isdigit()]


def test_mentioned_and_constant_entries_are_retrieved() -> None:
    found = inspect(make_view(make_lorebooks(keyed_entry("Mara"), constant_entry(), keyed_entry("Tom")), "Mara came."))
    assert {name: (v.layer, v.included) for name, v in found.items()} == {
        "0": (Layer.RETRIEVED, True),
        "1": (Layer.RETRIEVED, True),
        "2": (Layer.RETRIEVED, False),
    }
    assert found["0"].sentence == "The Isles: a key was found, Mara"


def test_a_project_without_books_offers_nothing_and_leaves_nothing() -> None:
    result = assemble(make_view(None, "Mara came."))
    assert result.continuity.source_state == {}
    assert result.warnings == ()


def test_lower_orders_are_read_first() -> None:
    orders = [constant_entry(order=order) for order in (50, 10, 90)]
    assert list_texts(assemble(make_view(make_lorebooks(*orders), "hello"))) == ["E1", "E0", "E2"]
    assert [convert_order(order) for order in (10, None, 190, 1e300)] == [190, 100, 10, -1_000_000]


def test_an_entry_at_a_depth_stands_among_the_messages_with_its_role() -> None:
    entries = [
        constant_entry(position=4, depth=1, role=2),
        constant_entry(position=4, depth=0, role=1),
        constant_entry(position=4),
    ]
    result = assemble(make_view(make_lorebooks(*entries), "first", "second", "third"))
    assert [(message.role, message.content) for message in result.messages[1:]] == [
        ("user", "first"),
        ("assistant", "second\n\nE0"),
        ("user", "third\n\nE1"),
    ]
    assert result.messages[0].content.endswith("E2")


def test_places_beside_the_character_are_used_where_the_writers_preset_has_them() -> None:
    entries = [
        constant_entry(position=0),
        constant_entry(position=1),
        constant_entry(position=7, outletName="weather", order=5),
    ]
    preset = Preset(
        nodes=(
            Node(type="placeholder", id="weather"),
            Node(type="message", content="Who speaks:"),
            Node(type="placeholder", id="character", content="Bob."),
            Node(type="chat_history"),
        )
    )
    books = make_lorebooks(*entries)
    own = assemble(make_view(books, "hello"), replace(CHAT, preset=preset)).prompt
    assert own.index("E2") < own.index("Who speaks:") < own.index("E0") < own.index("Bob.") < own.index("E1")
    plain = assemble(make_view(books, "hello"))
    assert plain.warnings == ()
    assert plain.prompt.index("[What may matter here]") < plain.prompt.index("E0") < plain.prompt.index("E1")
    outlet = inspect(make_view(books, "hello"))["2"]
    assert str(outlet.detail) == "the preset has no place for its outlet 'weather'"


@pytest.mark.parametrize("rules", ["exact", "fabula"])
def test_every_entry_that_stayed_out_has_a_reason(rules: str) -> None:
    entries = [
        keyed_entry("Tom"),
        keyed_entry("Mara", disable=True),
        keyed_entry("Mara", delay=9),
        keyed_entry("Mara", keysecondary=["storm"], selective=True),
        {},
        constant_entry(probability=0, useProbability=True),
        constant_entry(position=9),
        constant_entry(position=7),
    ]
    found = inspect(make_view(make_lorebooks(*entries, rules=rules), "Mara came."))
    assert [(found[str(n)].reason, str(found[str(n)].detail)) for n in range(8)] == [
        (Reason.NOT_DETECTED, "none of its keys was found"),
        (Reason.LEVEL_NEVER, "it is switched off"),
        (Reason.BOOK_RULES, "the conversation is still too short for it, 1 of 9 messages"),
        (Reason.BOOK_RULES, "a key was found, but its secondary keys did not agree, Mara"),
        (Reason.BOOK_RULES, "it has no key"),
        (Reason.BOOK_RULES, str(found["5"].detail)),
        (Reason.BOOK_RULES, "9 is not a position in a prompt"),
        (Reason.BOOK_RULES, "its outlet has no name"),
    ]
    assert str(found["5"].detail).startswith("the draw by its probability failed, ")


def test_scores_follow_how_an_entry_was_called_up() -> None:
    books = make_lorebooks(
        constant_entry(),
        keyed_entry("Mara", content="A storm."),
        keyed_entry("storm"),
        keyed_entry("Tom", comment="Tom"),
    )
    found = inspect(make_view(books, "Mara came."), replace(CHAT, include=("Tom",)))
    assert found["0"].score == found["1"].score == DETECTED[1]
    assert DETECTED[0] < found["2"].score < DETECTED[1]
    assert found["3"].score == REQUESTED


def test_by_our_rules_what_was_told_stays_and_by_sillytaverns_it_goes() -> None:
    for rules, score in (("fabula", PREVIOUSLY_INCLUDED), ("exact", None)):
        books = make_lorebooks(keyed_entry("Mara"), rules=rules)
        first = assemble(make_view(books, "Mara came."))
        later = make_view(books, "Mara came.", "Yes.", "And then?", "Nothing.")
        verdict = inspect(later, before=first.continuity)["0"]
        assert verdict.included is (score is not None)
        assert verdict.score == (score or 0.0)


def test_an_exact_book_forced_out_by_our_budget_says_so() -> None:
    books = make_lorebooks(*[constant_entry(content=f"E{n} " + "word " * 300, ignoreBudget=True) for n in range(20)])
    found = inspect(make_view(books, "hello"), replace(CHAT, window=4096, reply_tokens=500))
    out = [verdict for verdict in found.values() if not verdict.included]
    assert out
    assert {str(verdict.detail) for verdict in out} == {str(BOOK_OVERRIDDEN)}
    ours = Lorebooks(P, [replace(one, rules="fabula") for one in books.books.values()])
    assert str(BOOK_OVERRIDDEN) not in {
        str(v.detail) for v in inspect(make_view(ours, "hello"), replace(CHAT, window=4096)).values()
    }


def test_in_a_novel_the_text_before_the_cursor_is_the_message() -> None:
    books = make_lorebooks(keyed_entry("Mara"), keyed_entry("Tom"), keyed_entry("storm"), keyed_entry("talked"))
    request = replace(NOVEL, cursor=10, additional_input="Let the storm come.", conversation_id="talk")
    result = assemble(make_view(books, "She talked.", text="Mara came. Tom went."), request)
    assert sorted(list_texts(result)) == ["E0", "E2"]


def test_nobodys_name_is_looked_for_in_a_novel_and_speakers_are_in_a_chat() -> None:
    books = make_lorebooks(keyed_entry("Ann"))
    assert list_texts(assemble(make_view(books, "Hello."))) == ["E0"]
    assert list_texts(assemble(make_view(books, text="Hello."), NOVEL)) == []
    assert [get_character_name(one) for one in ("persona:Mara#2", "Bob", "", None)] == ["Mara", "Bob", "", ""]


def test_names_are_filled_in() -> None:
    books = make_lorebooks(constant_entry(content="{{user}} knows {{char}}."))
    assert "Ann knows Mara." in assemble(make_view(books, "Hi"), replace(CHAT, speaker_id="persona:Mara#2")).prompt


def replay(books: Lorebooks, lines: Sequence[str]) -> list[list[str]]:
    """A chat in which every request is answered; what is told each time."""
    before, answers = NO_CONTINUITY, []
    for length in range(1, len(lines) + 1):
        result = assemble(make_view(books, *lines[:length]), before=before)
        before = result.continuity
        answers.append(list_texts(result))
    return answers


def test_sticky_entries_stay_and_resting_ones_rest_from_request_to_request() -> None:
    settings = LorebookSettings(depth=1)
    lines = ["go", "on", "on", "go", "on"]
    assert replay(make_lorebooks(keyed_entry("go", sticky=2), settings=settings), lines) == [
        ["E0"],
        ["E0"],
        [],
        ["E0"],
        ["E0"],
    ]
    assert replay(make_lorebooks(keyed_entry("go", cooldown=2), settings=settings), ["go"] * 5) == [
        ["E0"],
        [],
        ["E0"],
        [],
        ["E0"],
    ]


def test_timed_effects_travel_in_the_continuity_and_only_there() -> None:
    books = make_lorebooks(keyed_entry("go", sticky=9), settings=LorebookSettings(depth=1))
    first = assemble(make_view(books, "go"))
    assert decode_timed_effects(first.continuity.source_state["lorebook"]).sticky.keys() == {"isles.0"}
    later = make_view(books, "go", "on")
    assert list_texts(assemble(later, before=first.continuity)) == ["E0"]
    assert list_texts(assemble(later)) == []
    elsewhere = replace(first.continuity, document="another\x1f")
    assert list_texts(assemble(later, before=elsewhere)) == []
    damaged = replace(first.continuity, source_state={"lorebook": b"{garbage"})
    assert list_texts(assemble(later, before=damaged)) == []
    assert decode_timed_effects(b'{"sticky": 3}') == TimedEffects()


def test_a_dry_run_leaves_no_effect_behind() -> None:
    books = make_lorebooks(keyed_entry("go", sticky=9))
    result = Engine(all_sources()).inspect(CHAT, make_view(books, "go"))
    assert result.continuity == NO_CONTINUITY


def test_effects_count_messages_that_are_further_back_than_anybody_looks() -> None:
    books = make_lorebooks(keyed_entry("go", delay=40), settings=LorebookSettings(depth=1))
    lines = ["on"] * 39
    assert list_texts(assemble(make_view(books, *lines))) == []
    assert list_texts(assemble(make_view(books, *lines, "go"))) == ["E0"]


def test_the_same_input_gives_the_same_bytes_and_chance_differs_from_message_to_message() -> None:
    books = make_lorebooks(*[constant_entry(probability=50, useProbability=True) for _ in range(12)])
    results = [assemble(make_view(books, *["on"] * n)) for n in (1, 2, 1)]
    assert results[0].messages == results[2].messages
    assert results[0].continuity == results[2].continuity
    assert list_texts(results[0]) != list_texts(results[1])
    fresh = make_lorebooks(*[constant_entry(probability=50, useProbability=True) for _ in range(12)])
    assert assemble(make_view(fresh, "on")).messages == results[0].messages


def test_books_read_in_different_ways_are_scanned_apart() -> None:
    exact = ActiveLorebook(
        id="a", name="A", rules="exact", parsed=make_book(keyed_entry("Mara"), name="a"), settings=LorebookSettings()
    )
    ours = ActiveLorebook(
        id="b", name="B", rules="fabula", parsed=make_book(keyed_entry("E0"), name="b"), settings=SHIPPED
    )
    result = Engine(all_sources()).inspect(CHAT, make_view(Lorebooks(P, [exact, ours]), "Mara came."))
    found = {v.source: v.included for v in result.trace if v.source.startswith("lorebook:")}
    assert found == {"lorebook:a.0": True, "lorebook:b.0": False}


def test_a_book_that_cannot_be_read_is_named() -> None:
    odd = message("It is odd.")
    broken = ActiveLorebook(
        id="x", name="X", rules="exact", parsed=make_book(name="x"), settings=LorebookSettings(), problem=odd
    )
    result = Engine(all_sources()).inspect(CHAT, make_view(Lorebooks(P, [broken]), "hello"))
    (verdict,) = result.explain("lorebook:x")
    assert (verdict.title, verdict.detail) == ("X", odd)


class Forgetful(LorebookSource):
    """A source that cannot say what it leaves."""

    def save_state(self, ask: SourceRequest, view: View) -> bytes:
        raise RuntimeError("forgot")


class Counting:
    """A source that counts the requests that were answered."""

    name = "lorebook"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = runs_first = False

    def fragments(self, ask: SourceRequest, view: View) -> Sequence[Fragment]:
        return ()

    def explain_omitted(self, ask: SourceRequest, view: View) -> Sequence[Verdict]:
        return ()

    def save_state(self, ask: SourceRequest, view: View) -> bytes:
        return str(int(ask.source_state.get(self.name, b"0")) + 1).encode()


def test_any_source_may_leave_something_for_the_next_request() -> None:
    engine, before = Engine([Counting()]), NO_CONTINUITY
    for number in range(1, 4):
        before = engine.assemble(CHAT, continuity=before).continuity
        assert before.source_state == {"lorebook": str(number).encode()}
    assert engine.inspect(CHAT, continuity=before).continuity.source_state == {"lorebook": b"3"}
    elsewhere = engine.assemble(replace(CHAT, conversation_id="other"), continuity=before).continuity
    assert elsewhere.source_state == {"lorebook": b"1"}


def test_a_source_that_fails_to_leave_anything_is_told_the_same_again() -> None:
    engine = Engine([Forgetful()])
    before = engine.assemble(CHAT).continuity
    assert before.source_state == {}
    again = engine.assemble(CHAT, continuity=replace(before, source_state={"lorebook": b"kept"})).continuity
    assert again.source_state == {"lorebook": b"kept"}


def test_keys_that_cannot_be_used_are_warned_of() -> None:
    slow = "ab" * 20_000
    entries = [keyed_entry("/(/"), *(keyed_entry(f"/((a|b){{1,999}}){{{n},999}}c/") for n in range(900, 999))]
    warnings = assemble(make_view(make_lorebooks(*entries), slow)).warnings
    assert len(warnings) == 6
    assert warnings[0].startswith("LOREBOOK_IN_PART: The key '/(/' cannot be used as a pattern")
    assert "would take too long" in warnings[1]
    assert "more keys" in warnings[-1]


def test_entries_may_look_at_the_card_they_came_with() -> None:
    about = CardCharacter(name="Bob", description="A sailor.", tags=("sea",))
    entries = [
        keyed_entry("sailor", matchCharacterDescription=True, content="E0 {{char}}"),
        keyed_entry("sailor"),
        constant_entry(characterFilter={"tags": ["sea"], "names": []}),
    ]
    shelved = ActiveLorebook(
        id="isles",
        name="b",
        rules="exact",
        parsed=make_book(*entries, name="isles"),
        settings=SHIPPED,
        card_character=about,
    )
    result = assemble(make_view(Lorebooks(P, [shelved]), "hello"))
    assert sorted(list_texts(result)) == ["E0", "E2"]
    assert "E0 Bob" in result.prompt
    other = assemble(make_view(Lorebooks(P, [shelved]), "hello"), replace(CHAT, character="pawn:Ann"))
    assert list_texts(other) == []

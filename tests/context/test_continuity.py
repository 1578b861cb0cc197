"""Continuity: what one request hands to the next, and what follows when it is kept, lost or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from fabula.codex import Entry, Level
from fabula.context import (
    NO_CONTINUITY,
    Continuity,
    Engine,
    Fragment,
    Layer,
    Reason,
    Request,
    Result,
)
from fabula.context.continuity import find_held_knowers, share_selection
from fabula.conversation.model import Conversations, Message
from fabula.core.view import Project, View
from fabula.manuscript.model import Document
from fabula.workspace.read_only import open_read_only
from fabula.workspace.sources import all_sources
from tests.context.builders import (
    ENTRIES,
    PROJECT,
    ask,
    chapters,
    check_result,
    chunk,
    engine,
    included,
    make_message,
    prose,
    story,
    verdicts,
)

LIN = "　　林远把灯放下，什么也没有说。"
SHEN = "　　沈默从闸门后面走出来，手里拎着灯。"
LATE = "[本场景另外涉及]"


VIEW = story()


def typed(*texts: str, assembler: Engine | None = None, **wishes: object) -> list[Result]:
    """A chapter growing from request to request, each following on from the last."""
    assembler, before, results = assembler or engine(), NO_CONTINUITY, list[Result]()
    for text in texts:
        result = assembler.assemble(ask(unsaved_text=text, **wishes), VIEW, continuity=before)
        check_result(result)
        before = result.continuity
        results.append(result)
    return results


def test_a_late_joiner_stands_behind_the_window_and_the_window_does_not_move() -> None:
    one, two = typed(LIN, LIN + "\n\n" + SHEN, late_joiners=True)
    assert LATE not in one.prompt
    assert two.prompt.index(LATE) > two.prompt.index("沈默从闸门后面走出来")
    assert two.prompt.index("守闸人，话极少") > two.prompt.index(LATE)
    assert verdicts(two)["codex:entity:shenmo"].reason is Reason.LATE
    assert verdicts(two)["codex:entity:shenmo"].layer is Layer.RETRIEVED
    assert two.prompt.startswith(one.prompt.split("（光标")[0].rstrip())


def test_without_late_joiners_a_newcomer_joins_at_the_end_of_its_layer() -> None:
    _, two = typed(LIN, LIN + "\n\n" + SHEN)
    assert LATE not in two.prompt
    assert two.prompt.index("守闸人，话极少") < two.prompt.index("[光标之前的正文]")
    retrieved = two.continuity.retrieved
    assert retrieved[-1] == "codex:entity:shenmo"


def test_late_joiners_are_off_in_the_novel_recipe_and_on_in_the_chat_recipes() -> None:
    def noticed(recipe: str, *, late: bool | None) -> bool:
        assembler, view = engine(), story()
        one = assembler.assemble(ask(unsaved_text=LIN, recipe=recipe, late_joiners=late, conversation_id="t"), view)
        two = assembler.assemble(
            ask(unsaved_text=LIN + "\n\n" + SHEN, recipe=recipe, late_joiners=late, conversation_id="t"),
            view,
            continuity=one.continuity,
        )
        return LATE in two.prompt

    assert not noticed("novel", late=None)
    assert noticed("chat", late=None)
    assert noticed("character-chat", late=None)
    assert noticed("novel", late=True)
    assert not noticed("chat", late=False)


def test_what_was_told_keeps_its_place_when_it_is_no_longer_near() -> None:
    far = "\n\n".join([LIN, SHEN, *(f"　　雨落在第{n}级石阶上，没有人走过，也没有灯。" for n in range(60))])
    one, two = typed(LIN + "\n\n" + SHEN, far)
    assert "codex:entity:shenmo" in included(two)
    assert verdicts(two)["codex:entity:shenmo"].score < verdicts(one)["codex:entity:shenmo"].score


def test_the_same_request_with_the_same_continuity_gives_the_same_bytes() -> None:
    one, two = typed(LIN, LIN + "\n\n" + SHEN)
    again = engine().assemble(ask(unsaved_text=LIN + "\n\n" + SHEN), story(), continuity=one.continuity)
    assert again.messages == two.messages
    assert again.continuity == two.continuity


def test_inspecting_commits_nothing() -> None:
    (one,) = typed(LIN)
    assembler = engine()
    looked = assembler.inspect(ask(unsaved_text=LIN + "\n\n" + SHEN), story(), continuity=one.continuity)
    assert looked.continuity == one.continuity
    assert assembler.inspect(ask(), story()).continuity == NO_CONTINUITY
    assembled = assembler.assemble(ask(unsaved_text=LIN + "\n\n" + SHEN), story(), continuity=one.continuity)
    assert assembled.messages == looked.messages


def test_inspecting_a_sample_leaves_its_thread_alone() -> None:
    project = open_read_only("sample:wugang")
    request = project.request(document_id="ch-02", window=8192)
    project.inspect(request)
    assert not project.assemble(request).stable_prefix_unchanged


def test_the_prefix_hash_is_kept_at_once_and_the_rest_with_the_recorded_answer() -> None:
    project = open_read_only("sample:wugang")
    request = project.request(document_id="ch-02", window=8192)
    project.assemble(request)
    second = project.assemble(request)
    assert second.stable_prefix_unchanged
    assert not any(second.continuity.unused_requests.values())  # no request came before
    project.report_answer(second.assembly_id)
    assert any(project.assemble(request).continuity.unused_requests.values())


def test_inspecting_says_also_what_was_never_offered() -> None:
    manual = Entry(id="m", type="item", name="手帕", level=Level.MANUAL, description="旧手帕。")
    never = Entry(id="n", type="lore", name="水道谣", level=Level.NEVER, description="不外传。")
    entries = (*ENTRIES, manual, never)
    looked = engine().inspect(ask(unsaved_text=LIN + "手帕。水道谣。"), story(entries=entries))
    found = verdicts(looked)
    assert found["codex:entity:shenmo"].reason is Reason.NOT_DETECTED
    assert found["codex:entity:m"].reason is Reason.LEVEL_MANUAL
    assert found["codex:entity:n"].reason is Reason.LEVEL_NEVER
    assert all(verdict.sentence for verdict in looked.trace)


def test_every_fragment_has_one_verdict_with_a_reason_in_words() -> None:
    looked = engine().inspect(ask(), story())
    sources = [verdict.source for verdict in looked.trace]
    assert len(sources) == len(set(sources))
    assert all(verdict.sentence and (verdict.layer is None or verdict.layer in Layer) for verdict in looked.trace)


def test_another_chapter_chooses_the_retrieved_layer_anew() -> None:
    assembler, view = engine(), story()
    one = assembler.assemble(ask(document_id="ch-05"), view)
    two = assembler.assemble(ask(document_id="ch-09"), view, continuity=one.continuity)
    assert "synopsis:ch-08" in included(two)
    assert two.stable_prefix_unchanged
    check_result(two)


def test_a_continuity_of_another_world_does_no_harm() -> None:
    strange = Continuity(
        prefix_hash="0" * 64,
        document="ch-10",
        window_start=10**9,
        window_budget=-5,
        history_start="history:nobody",
        retrieved=("codex:entity:nobody", "search:nowhere#3", "synopsis:ch-99", "rubbish"),
        late=("x:y",),
        rules_left_out=("constraint:nobody",),
    )
    result = engine().assemble(ask(), story(), continuity=strange)
    plain = engine().assemble(ask(), story())
    assert not result.stable_prefix_unchanged
    assert result.stable_prefix_hash == plain.stable_prefix_hash
    assert included(result) == included(plain)
    check_result(result)


def test_windows_move_in_steps_and_not_with_every_paragraph() -> None:
    """While a chapter outgrows its window, most requests begin the window where the last one did."""
    texts = [prose(10, n) for n in range(100, 140)]
    starts = [result.continuity.window_start for result in typed(*texts)]
    moves = sum(one != two for one, two in pairwise(starts))
    assert 0 < moves < len(texts) / 4


def test_the_window_ends_at_the_cursor_however_it_begins() -> None:
    texts = [prose(10, n) for n in (150, 151)]
    for text, result in zip(texts, typed(*texts), strict=True):
        body = result.prompt.split("[光标之前的正文]\n")[1].split("（光标")[0].strip()
        assert text.rstrip().endswith(body.removeprefix("[……]\n"))
        assert result.layers[Layer.IMMEDIATE].truncated


def test_a_conversation_gives_up_its_oldest_first_and_in_steps() -> None:
    def at(n: int, before: Continuity) -> Result:
        talk = [make_message(m, f"第{m}句话，{'又' * 60}说了一遍。") for m in range(1, n + 1)]
        request = Request(project_id=PROJECT, recipe="chat", window=4096, conversation_id="t")
        return Engine().assemble(request, fragments=talk, continuity=before)

    before, starts = NO_CONTINUITY, list[str | None]()
    for n in range(40, 70):
        result = at(n, before)
        before = result.continuity
        check_result(result)
        shown = [verdict.source for verdict in result.trace if verdict.included]
        assert shown == [f"history:{m}" for m in range(n - len(shown) + 1, n + 1)]
        starts.append(before.history_start)
    moves = sum(one != two for one, two in pairwise(starts))
    assert 0 < moves < 10


def test_rules_once_reduced_stay_reduced_while_the_cursor_moves() -> None:
    many = tuple(
        Entry(
            id=f"e-{n:03}",
            type="character",
            name=f"看守{n:03}",
            level=Level.ALWAYS,
            description="换班的时候才说话。" * 3,
        )
        for n in range(100)
    )
    assembler, view = engine(), story(entries=many, documents=chapters(10, last=30))
    before, hashes = NO_CONTINUITY, set[str]()
    for cursor in range(100, 900, 100):
        result = assembler.assemble(ask(cursor=cursor), view, continuity=before)
        before = result.continuity
        hashes.add(result.stable_prefix_hash)
    assert len(hashes) == 1


def test_rules_left_out_come_back_when_they_are_needed() -> None:
    many = tuple(
        Entry(
            id=f"e-{n:03}",
            type="character",
            name=f"看守{n:03}",
            level=Level.ALWAYS,
            description="换班的时候才说话。" * 3,
        )
        for n in range(100)
    )
    text = prose(10, 4)
    view = story(entries=many, documents=[*chapters(9), Document("ch-10", "第10章", text)])
    assembler = engine()
    one = assembler.assemble(ask(), view)
    out = next(source for source in one.continuity.rules_left_out if source.startswith("codex:"))
    name = f"看守{out[-3:]}"
    two = assembler.assemble(ask(unsaved_text=f"{text}\n\n　　{name}推门进来。"), view, continuity=one.continuity)
    assert out in included(two)
    check_result(two)


def test_the_engine_itself_remembers_nothing() -> None:
    assembler, view = engine(), story()
    first = assembler.assemble(ask(), view)
    extra: list[Fragment] = [chunk(f"第{n}段。", 0.9, source=f"x:{n}") for n in range(50)]
    assembler.assemble(ask(document_id="ch-03", model="gpt-4"), view, fragments=extra)
    assembler.assemble(ask(exclude=("林远",), perspective=None), view)
    again = assembler.assemble(ask(), view)
    assert again.messages == first.messages
    assert again.continuity == first.continuity
    assert again.stable_prefix_unchanged is False


def test_a_growing_conversation_pushes_nothing_out_before_its_window_steps() -> None:
    texts = [f"Message {number}: {' '.join(f'word{number}-{one}' for one in range(12))}" for number in range(160)]
    said = [Message(id=str(number), role="user", content=text) for number, text in enumerate(texts)]
    whole = Conversations(PROJECT, {"talk": said}).fragments["talk"]
    extra = [
        Fragment(
            source=f"chunk:{number}",
            layer=Layer.RETRIEVED,
            text=f"Passage {number}: {' '.join(f'note{number}-{one}' for one in range(8))}",
            project_id=PROJECT,
            score=0.4,
        )
        for number in range(200)
    ]
    assembler, before, steps = Engine(all_sources()), NO_CONTINUITY, 0
    for turn in range(20, len(said), 2):
        history = Conversations(PROJECT, {})
        history.fragments["talk"] = whole[:turn]
        view = View(Project(id=PROJECT), snapshots={Conversations: history})
        request = Request(
            project_id=PROJECT,
            conversation_id="talk",
            recipe="chat",
            skill_id="chat",
            additional_input=said[turn].content,
            window=8192,
        )
        after = assembler.assemble(request, view, fragments=extra, continuity=before).continuity
        stepped = before.history_start != after.history_start
        if steps and not stepped:
            assert set(before.retrieved) <= set(after.retrieved)
        steps += stepped and not before.is_empty
        before = after
    assert steps >= 2
    assert before.retrieved


def talk_on(turns: int, extra: Sequence[Fragment], before: Continuity = NO_CONTINUITY) -> Result:
    """A chat with so many messages, and fragments beside it."""
    said = [Message(id=str(number), role="user", content=f"Message {number}.") for number in range(turns)]
    view = View(Project(id=PROJECT), snapshots={Conversations: Conversations(PROJECT, {"talk": said})})
    request = Request(
        project_id=PROJECT, conversation_id="talk", recipe="chat", additional_input="And now?", window=8192
    )
    return Engine(all_sources()).assemble(request, view, fragments=extra, continuity=before)


def test_a_late_joiner_stays_behind_the_message_that_it_followed() -> None:
    one, two, three = (chunk(f"Passage {word}.", 0.5, source=f"x:{word}") for word in ("one", "two", "three"))
    first = talk_on(3, [one])
    second = talk_on(4, [one, two], first.continuity)
    third = talk_on(6, [one, two, three], second.continuity)
    assert second.continuity.late_after == {"x:two": "history:3"}
    assert third.continuity.late_after == {"x:two": "history:3", "x:three": "history:5"}
    texts = ("Passage one.", "Message 3.", "Passage two.", "Message 4.", "Message 5.", "Passage three.", "And now?")
    places = [third.prompt.index(text) for text in texts]
    assert places == sorted(places)
    until = second.prompt.index("Passage two.") + len("Passage two.")
    assert third.prompt[:until] == second.prompt[:until]
    check_result(third)


def test_a_speaker_takes_over_a_selection_only_with_the_knowledge_that_it_followed_from() -> None:
    own = Continuity(document="talk", retrieved=("history:1",), source_state={"lorebook": b"own"})
    other = Continuity(
        document="talk",
        retrieved=("history:2",),
        selection_count=1,
        source_state={"lorebook": b"other"},
        known_to=("bo",),
    )
    assert share_selection(own, other, frozenset({"cleo"})) == own
    taken = share_selection(own, other, frozenset({"bo"}))
    assert (taken.retrieved, taken.source_state) == (("history:2",), {"lorebook": b"own"})
    assert share_selection(own, NO_CONTINUITY, frozenset({"bo"})) == own


def test_what_is_only_held_over_is_shared_with_those_who_know_what_brought_it_in() -> None:
    before = Continuity(document="talk", retrieved=("lorebook:a",), known_to=("ann", "bo"))
    held = find_held_knowers(before, ["lorebook:a"])
    later = Continuity(document="talk", retrieved=("lorebook:a",), known_to=("ann", "bo", "cleo"), held_known_to=held)
    assert share_selection(NO_CONTINUITY, later, frozenset({"cleo"})) == NO_CONTINUITY
    assert share_selection(NO_CONTINUITY, later, frozenset({"bo"})).retrieved == ("lorebook:a",)
    assert find_held_knowers(later, ["lorebook:a"]) == held, "as long as it is held over"
    assert find_held_knowers(replace(later, held_known_to={}), ["lorebook:a"]) == {"lorebook:a": ("ann", "bo", "cleo")}


def test_a_speaker_keeps_the_own_selection_until_another_adds_to_it_or_is_made_anew() -> None:
    bo = frozenset({"bo"})
    own = Continuity(document="talk", history_start="m1", retrieved=("a", "b"), late=("c",), late_after={"c": "m7"})
    longer = replace(own, retrieved=("a", "b", "d"), late=("c", "e"), late_after={"c": "m7", "e": "m9"})
    assert share_selection(own, longer, bo).retrieved == ("a", "b", "d")
    assert share_selection(longer, own, bo) == longer
    for apart in (
        replace(longer, retrieved=("a", "d")),
        replace(longer, late=("e",)),
        replace(longer, late_after={"c": "m8", "e": "m9"}),
        replace(longer, history_start="m2"),
    ):
        assert share_selection(own, apart, bo) == own
        assert share_selection(own, replace(apart, selection_count=1), bo).late == apart.late


def test_what_only_another_speaker_knows_does_not_keep_two_selections_apart() -> None:
    own = Continuity(document="talk", retrieved=("a", "whisper"), placed=("whisper",))
    other = Continuity(document="talk", retrieved=("a", "secret", "b"), placed=("secret",))
    assert share_selection(own, other, frozenset({"bo"})).retrieved == other.retrieved


def test_what_followed_from_a_whisper_is_known_to_those_who_heard_it() -> None:
    request = ask(conversation_id="talk", recipe="chat", skill_id="chat", additional_input="Hush.")
    assert engine().assemble(request, VIEW).continuity.known_to is None
    whispered = replace(request, input_known_to=("bo", "ann"))
    assert engine().assemble(whispered, VIEW).continuity.known_to == ("ann", "bo")


def test_what_selected_text_behind_the_cursor_brings_in_is_not_held_over_to_before_it() -> None:
    request = ask(document_id="ch-10", skill_id="rewrite", cursor=0, selection=(20, 60))
    included_at = engine().assemble(request, VIEW).continuity.included_at
    assert included_at
    assert set(included_at.values()) == {60}

"""What happens over a long sitting: nothing piles up without end, and nobody is locked out."""

from __future__ import annotations

import threading
import time
from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from fabula.context import (
    NO_CONTINUITY,
    Attachment,
    Code,
    Continuity,
    Engine,
    FabulaError,
    Fragment,
    FunctionSource,
    Layer,
    Node,
    Part,
    Preset,
    Recipe,
    Request,
    SourceRequest,
    View,
)
from fabula.context.recipes import CHAT, NOVEL
from fabula.workspace.schemas.context import describe_prompt

P = "p"


def text(words: str) -> Fragment:
    return Fragment(source="editor", layer=Layer.IMMEDIATE, part=Part.WINDOW, text=words, project_id=P)


def entry(name: str, words: str, score: float = 0.9) -> Fragment:
    return Fragment(source=f"codex:{name}", layer=Layer.RETRIEVED, text=words, project_id=P, score=score)


def keeping(entries: dict[str, Fragment], seen: list[str]) -> FunctionSource:
    """A source that offers what is new, and again what was told before."""

    def answer(ask: SourceRequest, view: View) -> list[Fragment]:
        again = [
            entry(source.removeprefix("codex:"), entries[source].text, 0.55)
            for source in ask.previously_included
            if source in entries and source not in seen
        ]
        return [*again, *(entries[source] for source in seen)]

    return FunctionSource(name="codex", function=answer, blocking=False)


def test_a_writer_who_meets_ten_people_on_every_page_is_never_locked_out() -> None:
    words = "She kept the lamp and counted the boats. " * 40
    entries = {f"codex:{n}": entry(str(n), f"{n}: {words}") for n in range(400)}
    seen: list[str] = []
    engine = Engine([keeping(entries, seen)], recipes={"novel": NOVEL})
    before: Continuity = NO_CONTINUITY
    most = 0
    for page in range(40):
        seen[:] = [f"codex:{n}" for n in range(10 * page, 10 * page + 10)]
        result = engine.assemble(Request(project_id=P, document_id="d"), fragments=[text("On.")], continuity=before)
        before = result.continuity
        told = {verdict.source for verdict in result.trace if verdict.included}
        assert set(seen) <= told
        most = max(most, result.layers[Layer.RETRIEVED].tokens)
    assert most < 3 * result.budget.shares[Layer.RETRIEVED]


def test_a_chapter_longer_than_the_limit_on_input_begins_later_instead_of_being_refused() -> None:
    long = "\n\n".join(f"Line {n} of the book that has no end and knows it." for n in range(12_000))
    result = Engine().assemble(Request(project_id=P, document_id="d", model="gpt-4o"), fragments=[text(long)])
    assert result.prompt.rstrip().endswith("Line 11999 of the book that has no end and knows it.")
    assert 50_000 < result.token_count <= 65_000


def test_no_recipe_can_reorder_the_layers() -> None:
    turned = Preset(nodes=tuple(reversed(NOVEL.preset.nodes)))
    engine = Engine(recipes={"novel": Recipe(name="novel", preset=turned, sources=())})
    with pytest.raises(FabulaError) as caught:
        engine.assemble(Request(project_id=P), fragments=[text("Once.")])
    assert caught.value.code is Code.PRESET_LAYER_ORDER


def test_a_layer_behind_the_conversation_is_refused() -> None:
    nodes = (Node(type="chat_history", id="chat_history"), Node(type="placeholder", id="rules"))
    with pytest.raises(FabulaError) as caught:
        Engine().assemble(Request(project_id=P, preset=Preset(nodes=nodes)), fragments=[text("Once.")])
    assert caught.value.code is Code.PRESET_LAYER_ORDER


def test_a_slow_source_that_answers_in_time_is_not_taken_for_one_that_hangs() -> None:
    def answer(ask: SourceRequest, view: View) -> list[Fragment]:
        time.sleep(0.3)
        return [entry("slow", "Worth waiting for.")]

    recipe = Recipe(name="novel", preset=NOVEL.preset, sources=("slow",))
    engine = Engine([FunctionSource(name="slow", function=answer)], recipes={"novel": recipe})
    warned: list[tuple[str, ...]] = []

    def run(number: int) -> None:
        request = Request(project_id=P, document_id=f"d{number}")
        warned.append(engine.assemble(request, fragments=[text("Once.")]).warnings)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warned == [()] * 14


def test_a_window_whose_beginning_was_edited_away_begins_with_a_sentence_again() -> None:
    story = "\n\n".join(f"Paragraph {n} tells of the rain, the lamp and the boats." for n in range(600))
    engine, before = Engine(), NO_CONTINUITY
    for size in (len(story) - 900, len(story) - 500, len(story)):
        request = Request(project_id=P, document_id="d", window=8192)
        before = engine.assemble(request, fragments=[text(story[:size])], continuity=before).continuity
    assert before.window_start
    edited = "A word put in at the front. " + story
    result = engine.assemble(
        Request(project_id=P, document_id="d", window=8192), fragments=[text(edited)], continuity=before
    )
    shown = result.prompt.partition("[…]\n")[2]
    assert shown.startswith("Paragraph ")


def test_another_document_of_the_same_conversation_does_not_inherit_the_window() -> None:
    first, second = (
        "\n\n".join(f"{name} {n} goes on and on about it." for n in range(1500)) for name in ("One", "Two")
    )
    engine, before = Engine(), NO_CONTINUITY
    for words in (first[:-300], first):
        request = Request(project_id=P, document_id="a", conversation_id="c", window=8192)
        before = engine.assemble(request, fragments=[text(words)], continuity=before).continuity
    request = Request(project_id=P, document_id="b", conversation_id="c", window=8192)
    result = engine.assemble(request, fragments=[text(second)], continuity=before)
    assert result.prompt.partition("[…]\n")[2].startswith("Two ")


def test_the_first_name_ever_mentioned_in_a_chat_joins_late_too() -> None:
    history = [
        Fragment(
            source=f"history:{n}",
            layer=Layer.IMMEDIATE,
            part=Part.HISTORY,
            role="assistant" if n % 2 else "user",
            text=f"Message {n} says something.",
            project_id=P,
        )
        for n in range(20)
    ]
    engine = Engine(recipes={"chat": CHAT})
    request = Request(project_id=P, conversation_id="c", recipe="chat")
    first = engine.assemble(request, fragments=history)
    second = engine.assemble(
        request, fragments=[*history, entry("mara", "Mara keeps it.")], continuity=first.continuity
    )
    assert second.prompt.startswith(first.prompt[: first.prompt.index("Message 19")])


def test_an_image_that_is_sent_reaches_those_who_speak_json() -> None:
    image = Attachment(id="map", kind="image", reference="file:map.png", tokens=700)
    result = Engine().assemble(Request(project_id=P, model="gpt-4o", attachments=(image,)), fragments=[text("Once.")])
    data = msgspec.to_builtins(describe_prompt(result))
    assert list(data["messages"][-1]["attachments"]) == ["file:map.png"]
    assert data["attachments"] == {"tokens": 700}


def test_a_conversation_that_is_capped_by_messages_keeps_half_of_them_when_it_steps() -> None:
    recipe = replace(CHAT, sources=("conversation",), history_messages=20)
    before, shown = NO_CONTINUITY, list[int]()
    for size in range(20, 60):
        said = [
            Fragment(source=f"history:{n}", layer=Layer.IMMEDIATE, part=Part.HISTORY, text=f"Line {n}.", project_id=P)
            for n in range(size)
        ]
        source = FunctionSource(name="conversation", function=partial(_answer, said), runs_first=True)
        engine = Engine([source], recipes={"chat": recipe})
        result = engine.assemble(Request(project_id=P, recipe="chat", additional_input="Well?"), continuity=before)
        before = result.continuity
        shown.append(sum(one.included and one.source.startswith("history:") for one in result.trace))
    assert (min(shown), max(shown)) == (10, 20)


def _answer(said: list[Fragment], ask: SourceRequest, view: View) -> list[Fragment]:
    return said

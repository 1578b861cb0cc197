"""Canaries: no prompt of a store full of planted words holds one that it must not, and every sure one is in (ctx-12).

Conversations are generated with a word in every message and fact, and an oracle replays who heard what (cnv-7, cnv-8).
The full run has 8,000 prompts or more and 2,000 conversations (`FABULA_CANARIES` and `FABULA_TALKS`, see `make soak`);
the tests take a slice of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from fabula.context.request import Grants, Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job
from fabula.search.need_edits import forget_places
from fabula.workspace.handlers import background_model
from fabula.workspace.handlers.needs import ask_for_needs
from fabula.workspace.schemas.context import describe_prompt
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.canaries.oracle import PEOPLE, RECIPES, SKILLS, USERS, Canary, PlantedStore, Scene, find_words
from tests.canaries.planting import plant
from tests.canaries.talks import RepeatingProvider, run_talks
from tests.llm.server import ModelServer, openai_answer, run_server
from tests.workspace.handlers.background import set_up_model

SEED = int(os.environ.get("FABULA_CANARIES_SEED", "1607"))
PROMPTS = int(os.environ.get("FABULA_CANARIES", "400"))
TALKS = int(os.environ.get("FABULA_TALKS", "60"))
FIRST_PROJECT = int(os.environ.get("FABULA_TALKS_FIRST", "0"))  # with FABULA_TALKS=1: this project alone


def make_scene(random: Random, planted: PlantedStore, requests: list[str]) -> Scene:
    """A request from a random vantage, at a random place, with a random recipe, user and skill."""
    story = planted.stories[random.choice(sorted(planted.stories))]
    chapter = random.choice([*story.chapters.values()])
    skill = random.choice([*SKILLS])
    is_talk, has_document = random.random() < 0.4, random.random() < 0.85
    conversation = random.choice(story.conversations) if is_talk or not has_document else ""
    speaker = f"pawn:{random.choice(PEOPLE)}" if conversation and random.random() < 0.7 else ""
    perspective, character = random.choice([(None, None), ("reader", None), ("author", None), ("character", "any")])
    if speaker:
        perspective = character = None
    cursor = random.choice([None, 0, random.randrange(len(chapter.text)), random.randrange(len(chapter.text))])
    typed, attached, *edited = random.sample(requests, 4)
    elsewhere = [random.choice([*story.chapters.values()]) for _ in edited]
    start = random.randrange(len(chapter.text) - 300)
    selects = has_document and (skill in ("rewrite", "stage", "peek") or random.random() < 0.1)
    return Scene(
        book=story.id,
        user=random.choice(USERS),
        document=chapter.id if has_document else "",
        cursor=cursor if has_document else None,
        perspective=perspective if has_document or perspective != "character" else "reader",
        character=random.choice(PEOPLE) if character and has_document else None,
        speaker=speaker,
        recipe=random.choice(["", "", *RECIPES]),
        skill=skill,
        conversation=conversation,
        include=tuple(random.sample(story.requested, random.randint(0, 3))),
        exclude=tuple(random.sample(story.requested, random.randint(0, 1))),
        selection=(start, start + 200) if selects else None,
        typed=typed if has_document and cursor and random.random() < 0.2 else "",
        attached=attached if random.random() < 0.1 else "",
        edited=tuple(
            (one.id, random.randrange(len(one.text)), word) for one, word in zip(elsewhere, edited, strict=True)
        ),
        late_joiners=random.choice([None, True, False]),
        answered=random.random() < 0.5,
    )


def move(random: Random, planted: PlantedStore, scene: Scene) -> Scene:
    """The same request somewhere else in its book, so that what was included before is offered again."""
    story = planted.stories[scene.book]
    chapter = random.choice([story.chapters[scene.document], *story.chapters.values()])
    cursor = random.randrange(len(chapter.text))
    return replace(scene, document=chapter.id, cursor=cursor, selection=None, typed="", answered=random.random() < 0.8)


def make_scenes(random: Random, planted: PlantedStore, count: int) -> Iterator[Scene]:
    """Requests from everywhere, and walks back and forth through a book."""
    requests = [one.word for one in planted.canaries.values() if one.kind == "request"]
    scene = make_scene(random, planted, requests)
    for _ in range(count):
        yield scene
        if scene.document and random.random() < 0.8:
            scene = move(random, planted, scene)
        else:
            scene = make_scene(random, planted, requests)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """A model that works in the background and needs nothing for any scene."""
    folder = tmp_path_factory.mktemp("model")
    with run_server() as server, pytest.MonkeyPatch.context() as patch:
        server.script = openai_answer('{"needs": []}')
        set_up_model(server, folder, patch)
        yield server


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[tuple[Workspace, PlantedStore]]:
    """The planted store, for which a model works in the background."""
    print(f"seed {SEED}, {PROMPTS} prompts")
    workspace, planted = plant(tmp_path_factory.mktemp("canaries"), Random(SEED))
    with workspace:
        yield workspace, planted


def describe(kind: str, canaries: Sequence[Canary], scene: Scene) -> list[str]:
    return [f"{kind}: {one}\n  in {scene}" for one in canaries]


def test_no_prompt_holds_a_word_that_it_must_not_and_each_holds_those_that_it_must(
    store: tuple[Workspace, PlantedStore],
) -> None:
    (workspace, planted), random = store, Random(SEED)
    assert len(planted.canaries) >= 700
    handles = {
        (name, user): workspace.project(story.project, Principal(user=user))
        for name, story in planted.stories.items()
        for user in USERS
    }
    faults: list[str] = []
    seen: set[str] = set()
    facts = 0
    quoted = needed = 0
    for scene in make_scenes(random, planted, PROMPTS):
        project = handles[scene.book, scene.user]
        request = project.request(**scene.fields(planted.stories[scene.book]))
        result = project.assemble(request, working_memory=scene.working_memory())
        answer = find_words(msgspec.json.encode(describe_prompt(result)).decode())  # with its warnings
        faults += describe("leak", planted.find_forbidden(scene, answer), scene)
        sent = find_words("\n".join(message.content for message in result.messages))
        faults += describe("missing", planted.find_missing(scene, sent), scene)
        seen |= {planted.canaries[word].kind for word in sent}
        told = [one for one in result.trace if one.included]
        facts += sum("#fact:" in one.source for one in told)
        quoted += sum("#fact:" in one.source and "“Remember" in one.text for one in told)
        asked = {word for word in find_words(" ".join(f"{one.detail}" for one in told)) if _is_need(planted, word)}
        faults += describe("asked for", planted.find_forbidden(scene, asked), scene)
        questions = [planted.canaries[word] for word in sent if _is_need(planted, word)]
        faults += describe("told", questions, scene)
        needed += len(asked)
        if scene.answered:
            project.report_answer(result.assembly_id)
    assert not faults, f"seed {SEED}: {len(faults)} faults\n" + "\n".join(faults[:10])
    assert seen == {one.kind for one in planted.canaries.values()} - {"never", "need"}, "each kind reaches some prompt"
    assert facts >= PROMPTS // 2, "facts stand beside entries"
    assert quoted >= PROMPTS // 20, "some of them are by a model"
    assert needed >= PROMPTS // 20, "questions find passages"


def _is_need(planted: PlantedStore, word: str) -> bool:
    return planted.canaries[word].kind == "need"


def test_a_model_that_is_asked_what_a_scene_needs_is_told_no_word_that_its_asker_must_not_know(
    store: tuple[Workspace, PlantedStore], model: ModelServer
) -> None:
    (workspace, planted), random = store, Random(SEED)
    views = ProjectViews(workspace.store)
    faults: list[str] = []
    seen: set[str] = set()
    for number in range(max(PROMPTS // 10, 24)):
        story = planted.stories[random.choice(sorted(planted.stories))]
        chapter = random.choice([*story.chapters.values()])
        cursor = random.randrange(500, len(chapter.text))
        somebody = ("character", random.choice(PEOPLE))
        perspective, character = random.choice([("author", None), ("reader", None), somebody])
        with workspace.store.write(project=story.project) as tx:
            forget_places(tx)
        work = {"document": chapter.id, "offset": cursor, "perspective": perspective, "character": character}
        job = Job(project_id=story.project, key=f"needs:{number}", kind="needs", work=work, tries=1)
        ask_for_needs(views, job, CancellationToken())
        prompt = "\n".join(one["content"] for one in model.exchanges.pop().request["messages"])
        scene = Scene(
            book=story.id,
            user="nobody",
            document=chapter.id,
            cursor=cursor,
            perspective=perspective,
            character=character,
            recipe="scene",
        )
        found = find_words(prompt)
        faults += describe("told", planted.find_forbidden(scene, found), scene)
        seen |= {planted.canaries[word].kind for word in found}
    assert not faults, f"seed {SEED}: {len(faults)} faults\n" + "\n".join(faults[:10])
    assert {"text", "entry", "synopsis"} <= seen, "it is told what is known"


def test_a_search_up_to_a_chapter_finds_no_word_that_its_reader_must_not_know(
    store: tuple[Workspace, PlantedStore],
) -> None:
    (workspace, planted), random = store, Random(SEED)
    faults: list[str] = []
    for story in planted.stories.values():
        grants = Grants(perspectives=frozenset({Perspective.READER}), documents=frozenset(story.chapters))
        project = workspace.project(story.project, Principal(user="ann", grants=grants))
        words = sorted(one.word for one in planted.canaries.values() if one.book == story.id)
        for word in random.sample(words, 40):
            until = random.choice([*story.chapters])
            scene = Scene(book=story.id, user="ann", document=until, perspective="reader")
            for hit in project.search(f"{word} harbour Tidekeeper lamp", until=until, limit=30):
                found = find_words(f"{hit.passage.title} {hit.passage.text}")
                faults += describe("found", planted.find_forbidden(scene, found), scene)
        with pytest.raises(FabulaError, match=Code.NOT_ALLOWED.value):
            project.search("harbour")
        with pytest.raises(FabulaError, match=Code.NOT_ALLOWED.value):
            project.search("harbour", until="ch-1", everything=True)
    assert not faults, f"seed {SEED}: {len(faults)} faults\n" + "\n".join(faults[:10])


def test_who_may_not_see_everything_gets_no_trace_no_save_and_no_working_memory(
    store: tuple[Workspace, PlantedStore], tmp_path: Path
) -> None:
    workspace, planted = store
    for story in planted.stories.values():
        grants = Grants(perspectives=frozenset({Perspective.READER}), documents=frozenset({"ch-2"}))
        project = workspace.project(story.project, Principal(user="ann", grants=grants))
        request = project.request(document_id="ch-2", perspective="reader")
        result = project.assemble(request)
        refused: list[Callable[[], object]] = [
            partial(project.inspect, request),
            partial(project.explain, result, "e0"),
            partial(project.working_memory, "2026-01-01T00:00:00Z"),
            partial(project.save, tmp_path / "x.fabula"),
            partial(project.export, tmp_path / "x.md"),
            partial(project.assemble, replace(request, document_id="ch-3")),
            partial(project.assemble, replace(request, perspective=Perspective.AUTHOR)),
        ]
        for ask in refused:
            with pytest.raises(FabulaError) as error:
                ask()
            assert error.value.code is Code.NOT_ALLOWED
            assert not find_words(str(error.value))


def test_no_speaker_is_told_a_word_that_it_could_not_hear_and_each_is_told_those_that_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models.toml"
    models.write_text(
        'background = "own"\n[places.own]\nbase_url = "http://127.0.0.1:9"\nneeds_key = false\nmodel = "gpt-4o"\n'
    )
    monkeypatch.setenv("FABULA_MODELS", str(models))
    monkeypatch.setattr(background_model, "make_provider", lambda _: RepeatingProvider())
    print(f"seed {SEED}, {TALKS} conversations from project {FIRST_PROJECT} on")
    result = run_talks(tmp_path, SEED, TALKS, FIRST_PROJECT)
    print(dict(result.counts))
    assert not result.faults, f"{len(result.faults)} faults\n" + "\n".join(result.faults[:10])
    assert result.counts["conversations"] >= TALKS
    happened = {
        "whisper",
        "join",
        "leave",
        "undo",
        "correct",
        "delete",
        "branch",
        "go_back",
        "pin",
        "run_jobs",
        "recaps",
        "chat",
        "notes",
        "regenerated",
    }
    missing = happened - {name for name, count in result.counts.items() if count}
    assert TALKS < 60 or not missing, "everything happens somewhere"

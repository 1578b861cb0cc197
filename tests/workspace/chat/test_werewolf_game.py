"""A whole game of werewolf with a game master, played through against a real server: no secret reaches a villager."""

from __future__ import annotations

import importlib.util
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from fabula.conversation.history import HistoryPage
from fabula.llm.provider_config import ProviderConfig, RetryPolicy
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.chat import Announced, ReplyFailed, ReplyStored, TurnEnd
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing_options import ModelChoice, WritingOptions
from tests.llm.server import Exchange, ModelServer, error_answer, openai_answer, run_server
from tests.workspace.chat.scripted import collect, pick

NAMES = ("Ada", "Ben", "Cy", "Dot", "Eli", "Flo", "Gil", "Hal")
QUICK = RetryPolicy(silence_seconds=20, max_attempts=1, first_delay=0.01)


def load_game() -> ModuleType:
    path = Path(__file__).parents[3] / "examples" / "werewolf_game.py"
    spec = importlib.util.spec_from_file_location("werewolf_game", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Players:
    """Answer each request with a unique word and the name of somebody alive; remember every prompt."""

    def __init__(self, server: ModelServer, seed: int) -> None:
        self.random, self.words = random.Random(seed), itertools.count()
        self.prompts: list[tuple[str, str]] = []
        self.fail_at = -1
        server.script = self.answer

    async def answer(self, exchange: Exchange) -> None:
        prompt = "\n".join(str(one["content"]) for one in exchange.request["messages"])
        speaker = re.findall(r"\[(\w+) speaks next", prompt)[-1]
        alive = [name for name in re.findall(r"\[Alive: (.+)\]", prompt)[-1].split(", ") if name != speaker]
        number = next(self.words)
        if number == self.fail_at:
            await error_answer(500)(exchange)
            return
        self.prompts.append((speaker, prompt))
        await openai_answer(f"WORD-{number}- ", f"it is @{self.random.choice(alive)}.")(exchange)


@pytest.fixture
def village(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ProjectHandle, ModelServer, ModelChoice]]:
    monkeypatch.setenv("TEST_KEY", "sk-test")
    projects.create(store, "Village", project_id="village")
    with Workspace(store) as workspace, run_server() as server:
        project = workspace.project("village")
        for name in NAMES:
            project.participants.add(name, persona=f"{name} lives here.")
        project.chat.add_mode("werewolf_game", load_game().WerewolfGame())
        provider = ProviderConfig(name="openai", base_url=server.url, key_variable="TEST_KEY", retry_policy=QUICK)
        yield project, server, ModelChoice(provider, "gpt-4o", WritingOptions(retry_policy=QUICK))


def check_secrets(project: ProjectHandle, conversation: str, players: Players) -> int:
    """Check every prompt against who heard what; return how many whispers there were."""
    chat = project.chat.get(conversation)
    page: HistoryPage = project.conversations.read_page(conversation, limit=1000)
    whispers = [one for one in page.messages if one.audience is not None and "WORD-" in one.content]
    wolves = [one for one, role in chat.state["roles"].items() if role == "werewolf"]
    for who, prompt in players.prompts:
        role = chat.state["roles"][f"persona:{who}"]
        assert ("You are a werewolf" in prompt) == (role == "werewolf")
        assert ("You are the seer" in prompt) == (role == "seer")
        assert ("Werewolves, each of you names a victim" in prompt) == (role == "werewolf")
        assert role == "seer" or "is no werewolf" not in prompt
        for one in whispers:
            heard = {chat.people.name_of(listener) for listener in (one.speaker, *(one.audience or ()))}
            word = re.findall(r"WORD-\d+-", one.content)[0]
            assert who in heard or word not in prompt, (who, role, one)
        if role == "werewolf":
            others = [chat.people.name_of(one) for one in wolves if chat.people.name_of(one) != who]
            assert all(f"So is {name}" in prompt for name in others)
    return len(whispers)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_whole_game_is_played_and_no_villager_reads_a_whisper(
    village: tuple[ProjectHandle, ModelServer, ModelChoice], seed: int
) -> None:
    project, server, choice = village
    players = Players(server, seed)
    conversation = project.chat.start(mode="werewolf_game", title="Night").record.id
    events = collect(project.chat.send("Night", "Begin.", model=choice))
    assert pick(events, ReplyFailed) == []
    assert isinstance(events[-1], TurnEnd)
    state = events[-1].mode_state
    assert state["phase"] == "over"
    assert "have won" in pick(events, Announced)[-1].message.content
    wolves_alive = any(state["roles"][one] == "werewolf" for one in state["alive"])
    assert state["winner"] == ("The werewolves" if wolves_alive else "The villagers")
    assert check_secrets(project, conversation, players) >= 2
    dead_since: dict[str, int] = {}
    for index, event in enumerate(events):
        if isinstance(event, Announced) and (died := re.match(r"\[(?:Morning\. )?(\w+) was", event.message.content)):
            dead_since[died[1]] = index
    assert all(
        index < dead_since.get(event.name, len(events))
        for index, event in enumerate(events)
        if isinstance(event, ReplyStored)
    ), "the dead do not speak"


def test_a_game_goes_on_after_a_model_failed_at_night(village: tuple[ProjectHandle, ModelServer, ModelChoice]) -> None:
    project, server, choice = village
    players = Players(server, 4)
    players.fail_at = 1
    conversation = project.chat.start(mode="werewolf_game", title="Night").record.id
    events = collect(project.chat.send("Night", "Begin.", model=choice))
    assert len(pick(events, ReplyFailed)) == 1
    assert project.chat.get("Night").state["phase"] == "night"
    events = collect(project.chat.ask("Night", model=choice))
    assert project.chat.get("Night").state["phase"] == "over"
    check_secrets(project, conversation, players)

"""A game master for werewolf, as a mode of its own: nights, votes and the end of the game.

A package would offer it by entry point: `[project.entry-points."fabula.modes"] werewolf_game = "module:WerewolfGame"`.
Here it is added to one open project, and every player answers from a script.
"""

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from fabula import Workspace
from fabula.conversation import Message
from fabula.conversation.modes import SEER, WEREWOLF, Announcement, ModeStart, Step, Turn, WerewolfMode
from fabula.llm import ModelCall, StreamEnd, StreamEvent, TextChunk
from fabula.workspace.chat import Announced, ReplyStored

MAX_DAYS = 20


class WerewolfGame(WerewolfMode):
    """Plays the whole game in one turn: at night the werewolves choose a victim, by day everybody votes.

    What is said at night is whispered: the werewolves hear each other, and the seer alone hears what the seer learns.
    The dead stay and listen to the day, but speak no more.
    """

    def start(self, turn: Turn) -> ModeStart:
        """Deal the roles; everybody is alive."""
        begun = super().start(turn)
        state = {"phase": "begin", "day": 0, "alive": list(begun.state["roles"]), **begun.state}
        return ModeStart(state=state, announcements=begun.announcements)

    def route(self, turn: Turn) -> Step:
        """Begin or go on, whatever was said; when the game is over, everybody talks about it."""
        if turn.state["phase"] == "over":
            return Step(speakers=turn.mentioned or turn.ids)
        return self._begin_night(turn, turn.state) if turn.state["phase"] == "begin" else self._repeat(turn)

    def proceed(self, turn: Turn) -> Step:
        """Go on to the next phase of the game."""
        phase = turn.state["phase"]
        if phase == "night":
            return self._ask_seer(turn, {**turn.state, "victim": self._count_votes(turn)})
        if phase == "seer":
            return self._begin_day(turn, self._tell_seer(turn))
        if phase == "day":
            return self._begin_vote(turn)
        if phase == "vote":
            return self._end_day(turn)
        return Step()

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Tell the speaker the own role, and who is alive."""
        alive = ", ".join(turn.name_of(one) for one in turn.state["alive"])
        return f"{super().describe_state(turn, speaker)}\n[Alive: {alive}]"

    def _living(self, state: Mapping[str, Any], role: str | None = None) -> tuple[str, ...]:
        return tuple(one for one in state["alive"] if role in (None, state["roles"][one]))

    def _begin_night(self, turn: Turn, state: Mapping[str, Any], told: Sequence[Announcement] = ()) -> Step:
        wolves = self._living(state, WEREWOLF)
        night = Announcement(text="[Night falls. Werewolves, each of you names a victim: @name.]", audience=wolves)
        return Step(
            speakers=wolves,
            in_parallel=False,
            audience=wolves,
            announcements=(*told, night),
            state={**state, "phase": "night", "day": state["day"] + 1},
        )

    def _ask_seer(self, turn: Turn, state: Mapping[str, Any]) -> Step:
        seers = self._living(state, SEER)
        if not seers:
            return self._begin_day(turn, (state, ()))
        asked = Announcement(text="[Seer, whose role do you want to learn? @name.]", audience=seers)
        return Step(speakers=seers, audience=seers, announcements=(asked,), state={**state, "phase": "seer"})

    def _tell_seer(self, turn: Turn) -> tuple[Mapping[str, Any], Sequence[Announcement]]:
        told = []
        for reply in turn.replies:
            seen = self._find_named(turn, reply)
            if seen is not None:
                is_wolf = turn.state["roles"][seen] == WEREWOLF
                text = f"[{turn.name_of(seen)} is {'a werewolf' if is_wolf else 'no werewolf'}.]"
                told.append(Announcement(text=text, audience=(reply.speaker.partition("#")[0],)))
        return turn.state, told

    def _begin_day(self, turn: Turn, dawn: tuple[Mapping[str, Any], Sequence[Announcement]]) -> Step:
        state, told = self._bury(dawn[0], dawn[0].get("victim")), list(dawn[1])
        victim = dawn[0].get("victim")
        text = "[Morning. Nobody died.]" if victim is None else f"[Morning. {turn.name_of(victim)} was found dead.]"
        told.append(Announcement(text=text))
        ended = self._end_game(turn, state, told)
        if ended is not None:
            return ended
        living = self._living(state)
        return Step(speakers=living, in_parallel=False, announcements=tuple(told), state={**state, "phase": "day"})

    def _begin_vote(self, turn: Turn) -> Step:
        call = Announcement(text="[Everybody votes at once: who is a werewolf? @name.]")
        living = self._living(turn.state)
        return Step(speakers=living, announcements=(call,), state={**turn.state, "phase": "vote"})

    def _end_day(self, turn: Turn) -> Step:
        hanged = self._count_votes(turn)
        text = "[The vote was tied. Nobody was hanged.]"
        if hanged is not None:
            text = f"[{turn.name_of(hanged)} was hanged and was a {turn.state['roles'][hanged]}.]"
        state, told = self._bury(turn.state, hanged), [Announcement(text=text)]
        return self._end_game(turn, state, told) or self._begin_night(turn, state, told)

    def _end_game(self, turn: Turn, state: Mapping[str, Any], told: Sequence[Announcement]) -> Step | None:
        wolves, living = self._living(state, WEREWOLF), self._living(state)
        if wolves and len(wolves) * 2 < len(living) and state["day"] < MAX_DAYS:
            return None
        winner = "The werewolves" if wolves else "The villagers"
        end = Announcement(text=f"[{winner} have won.]")
        return Step(announcements=(*told, end), state={**state, "phase": "over", "winner": winner})

    def _repeat(self, turn: Turn) -> Step:
        """Ask again those who should have spoken, after a failure that somebody answered with another message."""
        state, phase = turn.state, turn.state["phase"]
        role = {"night": WEREWOLF, "seer": SEER}.get(phase)
        speakers = self._living(state, role)
        return Step(speakers=speakers, in_parallel=phase == "vote", audience=speakers if role else None)

    def _count_votes(self, turn: Turn) -> str | None:
        """Return who has most votes; nobody where two have as many."""
        votes = Counter(filter(None, (self._find_named(turn, reply) for reply in turn.replies)))
        first, *others = [*votes.most_common(2), (None, 0)]
        return first[0] if not others or first[1] > others[0][1] else None

    def _find_named(self, turn: Turn, reply: Message) -> str | None:
        return next((one for one in turn.find_mentioned(reply) if one in turn.state["alive"]), None)

    def _bury(self, state: Mapping[str, Any], dead: str | None) -> dict[str, Any]:
        return {**state, "alive": [one for one in state["alive"] if one != dead], "victim": None}


class ScriptedPlayers:
    """Every player speaks from a script: wolves hunt the first villager, and everybody votes for the first alive."""

    name = "scripted"

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """Answer with a vote for the first of the living who is not the speaker."""
        prompt = call.messages[-1].content
        speaker = re.findall(r"\[(.+) speaks next", prompt)[-1]
        alive = re.findall(r"\[Alive: (.+)\]", prompt)[-1].split(", ")
        yield TextChunk(f"I say @{next(name for name in alive if name != speaker)}.")
        yield StreamEnd()

    async def aclose(self) -> None:
        """Close nothing."""


async def main() -> None:
    """Play a game, and print what everybody hears."""
    with tempfile.TemporaryDirectory() as folder, Workspace.open(folder) as workspace:
        project = workspace.create_project("Village")
        for name in ("Ada", "Ben", "Cy", "Dot", "Eli", "Flo"):
            project.participants.add(name, persona=f"{name} lives in the village.")
        project.chat.add_mode("werewolf_game", WerewolfGame())
        project.chat.start(mode="werewolf_game", title="Village")
        async for event in project.chat.send("Village", "Begin.", model=ScriptedPlayers()):
            if isinstance(event, Announced) and event.message.audience is None:
                print(event.message.content)
            elif isinstance(event, ReplyStored) and event.message.audience is None:
                print(f"{event.name}: {event.message.content}")


if __name__ == "__main__":
    asyncio.run(main())

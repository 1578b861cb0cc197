"""The werewolf mode: hidden roles, dealt by whisper; the mentioned answer, else all at once (cht-4).

Each player is told the own role in a whisper, once, and werewolves are told of each other. What a prompt says of roles
is known to its speaker alone. The mode deals and keeps secrets; it plays no nights and counts no votes. A game master
that does is a mode of its own: see `examples/werewolf_game.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabula.conversation.modes.model import Announcement, Mode, ModeStart, Step, Turn
from fabula.core.messages import Sentence, join_names, message

WEREWOLF, SEER, VILLAGER = "werewolf", "seer", "villager"
MIN_PLAYERS_WITH_SEER = 5
PLAYERS_PER_WEREWOLF = 4


class WerewolfMode(Mode):
    """A game of hidden roles, led by whoever talks to the players."""

    def start(self, turn: Turn) -> ModeStart:
        """Deal the roles by chance, unless the state has some; whoever was told theirs is not told again."""
        roles = dict(turn.state.get("roles", {})) or deal_roles(turn)
        texts = {one: tell_role(turn, roles, one) for one in roles if one in turn.ids}
        told = tuple(
            Announcement(text=text, is_state=True, audience=(one,))
            for one, text in texts.items()
            if all(said.content != text for said in turn.list_heard(one))
        )
        return ModeStart(state={**turn.state, "roles": roles}, announcements=told)

    def route(self, turn: Turn) -> Step:
        """Let the mentioned answer, else all; whoever joined since is a villager."""
        roles = dict(turn.state.get("roles", {}))
        newcomers = [one for one in turn.ids if one not in roles]
        roles.update(dict.fromkeys(newcomers, VILLAGER))
        told = tuple(
            Announcement(text=tell_role(turn, roles, one), is_state=True, audience=(one,)) for one in newcomers
        )
        return Step(speakers=turn.mentioned or turn.ids, announcements=told, state={**turn.state, "roles": roles})

    def explain_state(self, turn: Turn, reader: str) -> tuple[Sentence, ...]:
        """Return the roles, to whoever leads the game; somebody else reads the own one."""
        roles = turn.state.get("roles", {})
        names = {WEREWOLF: message("werewolf"), SEER: message("seer"), VILLAGER: message("villager")}
        return tuple(
            message("{name}: {role}", name=turn.name_of(one), role=names.get(role, role))
            for one, role in roles.items()
            if reader in ("", one)
        )

    def is_player(self, turn: Turn, participant_id: str) -> bool:
        """Return whether somebody has a role."""
        return participant_id in turn.state.get("roles", {})

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Return the role of the speaker."""
        roles = turn.state.get("roles", {})
        return tell_role(turn, roles, speaker) if speaker in roles else ""


def deal_roles(turn: Turn) -> dict[str, str]:
    """Deal the roles: one werewolf for every four players, a seer among five or more, and villagers."""
    players = list(turn.ids)
    turn.random.shuffle(players)
    wolves = max(len(players) // PLAYERS_PER_WEREWOLF, 1)
    seers = int(len(players) >= MIN_PLAYERS_WITH_SEER)
    dealt = [WEREWOLF] * wolves + [SEER] * seers
    dealt += [VILLAGER] * (len(players) - len(dealt))
    by_player = dict(zip(players, dealt, strict=False))
    return {one: by_player[one] for one in turn.ids}  # in an order that says nothing of the roles


def tell_role(turn: Turn, roles: Mapping[str, str], participant_id: str) -> str:
    """Return what a player is told of the own role; a werewolf learns who the others are."""
    role = roles.get(participant_id, VILLAGER)
    text: Sentence = message("[You are a villager.]")
    if role == SEER:
        text = message("[You are the seer.]")
    elif role == WEREWOLF:
        others = [turn.name_of(one) for one, other in roles.items() if other == WEREWOLF and one != participant_id]
        text = message("[You are a werewolf, and you are alone.]")
        if others:
            text = message("[You are a werewolf. So is {names}.]", names=join_names(others))
    return text.render(turn.language)

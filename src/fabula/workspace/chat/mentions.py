"""Mentions in a chat: by which names the people present are called, and what a mention of nobody is told (cht-3)."""

from __future__ import annotations

from fabula.codex import Codex
from fabula.conversation.mentions import find_mentions
from fabula.conversation.participants import list_names
from fabula.core.messages import Sentence, join_alternatives, message
from fabula.core.similar_names import find_similar_names
from fabula.core.view import View
from fabula.text.lookup import fold_name
from fabula.workspace.chat.rounds import ChatState
from fabula.workspace.names import list_all_names


def list_called_names(view: View, chat: ChatState) -> dict[str, tuple[str, ...]]:
    """Return the names of everybody present, by id: the own ones, and those of the codex entry that they are."""
    return list_all_names(view, chat.present)


def explain_unknown_mentions(view: View, chat: ChatState, text: str) -> tuple[Sentence, ...]:
    """Say of each mention of nobody who is present why it asked nobody."""
    present = list_called_names(view, chat)
    unknown = find_mentions(text, present).unknown
    if not unknown:
        return ()
    codex = view.snapshot(Codex)
    away = {one.id: list_names(one) for one in chat.people.by_id.values() if one.id not in present}
    known = {fold_name(name) for names in (*present.values(), *away.values()) for name in names}
    away |= {
        one.id: tuple(one.names)
        for one in (codex.entries if codex is not None else ())
        if one.type == "character" and known.isdisjoint(map(fold_name, one.names))
    }
    found = find_mentions(text, {**present, **away})
    notes: list[Sentence] = []
    for ident in found.participants:
        if ident in chat.attendance.participants and ident in away:
            notes.append(message("{name} has left this conversation.", name=away[ident][0]))
        elif ident in away:
            notes.append(message("{name} takes no part in this conversation.", name=away[ident][0]))
    owners = {name: ident for ident, names in present.items() for name in names}
    for word in found.unknown:
        similar = list(dict.fromkeys(owners[name] for name in find_similar_names(word, owners, most=3, fold=fold_name)))
        if similar:
            names_meant = join_alternatives([f"@{present[ident][0]}" for ident in similar])
            notes.append(message("Nobody here is called {name}. Did you mean {names}?", name=word, names=names_meant))
        else:
            notes.append(message("Nobody here is called {name}.", name=word))
    return tuple(notes)

"""What a person can do with participants: add, change and list them, give them cards, and let them go (cnv-4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.edits import list_people
from fabula.codex import Codex, Entry
from fabula.conversation.cards import CardTexts
from fabula.conversation.participants import (
    Participant,
    Participants,
    base_id,
    get_participant,
    list_participants,
    save_participant,
)
from fabula.conversation.persona_revisions import PersonaRevision, list_personas
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.ids import new_id
from fabula.core.messages import Sentence, advise, join_names, message
from fabula.core.view import View
from fabula.formats.bounded_import import read_bounded
from fabula.formats.lore.cards import parse_card
from fabula.formats.lore.conversion import convert_to_card
from fabula.formats.lore.editing import parse_lorebook
from fabula.formats.lore.files import read_lorebook
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import fold_name
from fabula.workspace.cards import check_card_book, read_card, require_card_book, write_card
from fabula.workspace.lorebooks import REPLACE_FILE, find_lorebook, find_same_lorebook, store_imported
from fabula.workspace.names import (
    NamedThing,
    find_character_ids,
    find_named,
    find_participant,
    match_named,
    name_participants,
)
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, select_given

PLAYER, CHARACTER = "player", "character"
DEFAULT_PLAYER = message("Writer")  # an older version stored `Player`
_ONCE = frozenset({PLAYER, "agent"})  # namespaces whose keys are made once, and saved


class AccountNames(Struct, frozen=True):
    """The name of the account of whoever talks, and those of other accounts; none for the owner, who has no account."""

    own: str = ""
    others: frozenset[str] = frozenset()  # folded


class ParticipantFields(TypedDict, total=False):
    """What can be changed of a participant."""

    new_name: str | None
    aliases: Sequence[str] | None
    persona: str | None
    card: str | None
    is_gone: bool | None


class CardChange(TypedDict, total=False):
    """What can be changed of a character card."""

    nickname: str | None
    description: str | None
    personality: str | None
    scenario: str | None
    first_message: str | None
    alternate_greetings: Sequence[str] | None
    group_greetings: Sequence[str] | None
    examples: str | None
    system_prompt: str | None
    post_history: str | None
    depth_prompt: str | None
    depth: int | None
    depth_role: Role | None
    creator_notes: str | None
    talkativeness: float | None


class ImportedCard(Struct, frozen=True):
    """A participant whose card was imported, the card, how many entries its lorebook has, and warnings.

    It is not new where the participant had this card already.
    """

    participant: Participant
    card: CardTexts
    entry_count: int
    warnings: tuple[Sentence, ...]
    is_new: bool = True


class ParticipantVerbs(ProjectVerbs):
    """The participants of the conversations of an open project."""

    def list_all(self) -> list[Participant]:
        """List everybody, also those who are gone."""
        with self._read() as reading:
            return list_participants(reading)

    def get(self, name: str) -> Participant:
        """Return one participant, by id, name or alias."""
        view = self._view
        with self._read() as reading:
            return get_participant(reading, find_participant(view, reading, name))

    def find_entry(self, name: str) -> str | None:
        """Return the id of the codex entry that a participant is, if there is one."""
        return next(iter(find_character_ids(self._view, self.get(name).id)), None)

    def add(
        self,
        name: str,
        *,
        namespace: str = "persona",
        key: str | None = None,
        aliases: Sequence[str] = (),
        persona: str = "",
        card: str = "",
    ) -> Participant:
        """Add a participant; the id is made of the namespace and the key, which is the name unless another is given.

        A player's or an agent's key is made anew. `card` names a lorebook that came with a character card.
        """
        if not name.strip():
            raise FabulaError(Code.REQUEST_INVALID, message("A participant needs a name. Nothing was changed."))
        own_key = key or (new_id() if namespace in _ONCE else name.strip())
        ident = base_id(f"{namespace}:{own_key}")
        with self._write(label_addition(message("participant"), name)) as tx:
            if any(one.id == ident for one in list_participants(tx)):
                raise FabulaError(
                    Code.STORE_DUPLICATE,
                    message("There is a participant {name!r} already. Nothing was changed.", name=name),
                )
            book = check_card_book(find_lorebook(tx, card)) if card else ""
            new = Participant(id=ident, name=name, aliases=tuple(aliases), persona=persona, card=book)
            return save_participant(tx, new)

    def resolve(self, name: str) -> Participant:
        """Return who takes part under a name: a participant, or the one that a character of the codex would become."""
        view = self._view
        with self._read() as reading:
            return resolve_participant(view, reading, name)

    def ensure_player(self, name: str = "") -> Participant:
        """Return the player of this project, who is added where there is none."""
        accounts = load_account_names(self._store, self._project.principal.user)
        with self._read() as reading:
            found = find_player(reading, accounts)
        return found or self.add(name or name_player(self._view, accounts), namespace=PLAYER)

    def edit(
        self, name: str, *, expected_version: int | None = None, **fields: Unpack[ParticipantFields]
    ) -> Participant:
        """Change a participant; another persona text is another revision."""
        values = select_given(fields)
        if "new_name" in values:
            values["name"] = values.pop("new_name")
        if "aliases" in values:
            values["aliases"] = tuple(values["aliases"])
        view = self._view
        with self._write(label_change(message("participant"), name)) as tx:
            known = get_participant(tx, find_participant(view, tx, name))
            tx.undo_label = label_change(message("participant"), known.name or known.id)
            if values.get("card"):
                values["card"] = check_card_book(find_lorebook(tx, values["card"]))
            return save_participant(tx, replace(known, **values), expected=expected_version)

    def list_personas(self, name: str) -> list[PersonaRevision]:
        """List the personas that a participant had, the present one first; each message has the revision that spoke."""
        view = self._view
        with self._read() as reading:
            return list_personas(reading, get_participant(reading, find_participant(view, reading, name)))

    def restore_persona(self, name: str, revision: int) -> Participant:
        """Give a participant an earlier persona again, as another revision; the present one stays as it is."""
        view = self._view
        with self._write(label_change(message("participant"), name)) as tx:
            known = get_participant(tx, find_participant(view, tx, name))
            tx.undo_label = label_change(message("participant"), known.name or known.id)
            revisions = {one.revision: one.persona for one in list_personas(tx, known)}
            if revision not in revisions:
                raise FabulaError(
                    Code.STORE_NOT_FOUND,
                    message(
                        "{name} has no persona with the number {number}. Known are {numbers}. Nothing was changed.",
                        name=known.name or known.id,
                        number=revision,
                        numbers=join_names(map(str, revisions)),
                    ),
                )
            return save_participant(tx, replace(known, persona=revisions[revision]))

    def import_card(
        self, path: str | Path, *, namespace: str = "persona", replace_existing: bool = False
    ) -> ImportedCard:
        """Import a character card (JSON, PNG or CHARX) with the lorebook it has, and let its character take part.

        A character of another program becomes a card of version 2. A participant of the same name who has no card yet
        gets it. With `replace_existing` the file takes the place of the card of the same name. Whoever has this card
        already stays as they are.
        """
        path = Path(path)
        book, notices = convert_to_card(read_bounded(read_lorebook, path))
        check_card_book(book)
        fields = parse_card(book.book, book.name).fields
        name = " ".join((fields.name or fields.nickname or book.name).split())
        key = " ".join(name.translate({ord("|"): " ", ord("#"): " "}).split())[:200] or new_id()
        with self._write(label_addition(message("participant"), name)) as tx:
            same = None if replace_existing else find_same_lorebook(tx, book)
            warnings: tuple[Sentence, ...] = ()
            before = list_participants(tx)
            known = None if same is None else next((one for one in before if one.card == same.id), None)
            if same is None:
                same, _ = store_imported(tx, book, path, replace_existing=replace_existing)
            aliases = (fields.nickname,) if fields.nickname and fields.nickname != name else ()
            new = Participant(id=base_id(f"{namespace}:{key}"), name=name, aliases=aliases)
            stored = known or _give_card(tx, new, same.id)
            card = read_card(tx, stored) or CardTexts()
            if any(fold_name(one.name) == fold_name(stored.name) and one.id != stored.id for one in before):
                warnings = (_explain_namesakes(stored.name),)
        contents = parse_lorebook(same)
        warnings = (*contents.warnings, *notices, *warnings)
        return ImportedCard(stored, card, len(contents.book.entries), warnings, is_new=known is None)

    def read_card(self, name: str) -> CardTexts | None:
        """Return the character card of a participant; None where there is none."""
        view = self._view
        with self._read() as reading:
            return read_card(reading, get_participant(reading, find_participant(view, reading, name)))

    def edit_card(self, name: str, **fields: Unpack[CardChange]) -> CardTexts:
        """Change the character card of a participant, or begin one; everything else in the card stays as it came."""
        changes = select_given(fields)
        view = self._view
        with self._write(label_change(message("participant"), name)) as tx:
            known = get_participant(tx, find_participant(view, tx, name))
            tx.undo_label = label_change(message("participant"), known.name or known.id)
            stored = save_participant(tx, replace(known, card=write_card(tx, known, changes)), is_revised=True)
            return read_card(tx, stored) or CardTexts()

    def export_card(
        self,
        name: str,
        path: str | Path,
        *,
        into: str | Path | None = None,
        version: int | None = None,
        overwrite: bool = False,
    ) -> tuple[Sentence, ...]:
        """Write the character card of a participant, with its lorebook, to a file; return what is lost."""
        view = self._view
        with self._read() as reading:
            known = get_participant(reading, find_participant(view, reading, name))
            book = require_card_book(reading, known)
        export = self._project.lorebooks.export_file
        return export(book.id, path, into=into, version=version, overwrite=overwrite)[1]


def _give_card(tx: WriteTransaction, new: Participant, book_id: str) -> Participant:
    """Save a participant with a card; one of the same name who has another card is refused."""
    people = list_participants(tx)
    known = next((one for one in people if one.card == book_id), None) or next(
        (one for one in people if one.id == new.id), None
    )
    if known is not None and known.card not in ("", book_id) and fold_name(known.name) != fold_name(new.name):
        namespace = new.id.partition(":")[0]  # the id is that of somebody who has another name by now
        known, new = None, replace(new, id=f"{namespace}:{new_id()}")
    if known is None:
        return save_participant(tx, replace(new, card=book_id))
    if known.card and known.card != book_id:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "There is a participant called {name} already, who has another card. Nothing was imported. {advice} "
                "{other}",
                advice=REPLACE_FILE,
                other=advise(
                    message("To keep both, rename the first one: fabula participant edit PROJECT NAME --name NAME"),
                    message("To keep both, rename the first one."),
                ),
                name=known.name,
            ),
        )
    return save_participant(tx, replace(known, card=book_id), is_revised=True)


def _explain_namesakes(name: str) -> Sentence:
    return message(
        "Somebody else is called {name} too. {advice}",
        name=name,
        advice=advise(
            message("Rename one of them (fabula participant edit), or name them by id: fabula participant list --ids"),
            message("Rename one of them, or name them by id."),
        ),
    )


def resolve_participant(view: View, reading: ReadTransaction, name: str) -> Participant:
    """Return the participant that a spelling means; for a character of the codex, the one that it would become."""
    codex = view.snapshot(Codex)
    entries = codex.entries if codex is not None else ()
    characters = [one for one in entries if one.type == "character"]
    try:
        ident = find_participant(view, reading, name)
    except FabulaError:
        people = (view.snapshot(Participants) or Participants()).by_id.values()
        known = name_participants(people)
        if match_named(known, name):  # more than one
            raise
        things = [*(NamedThing(one.id, one.names) for one in characters), *known]
        if not match_named(things, name):
            _check_character(entries, name)
        ident = find_named(things, name, what=message("participant or character")).id
    else:
        return get_participant(reading, ident)
    entry = next(one for one in characters if one.id == ident)
    persona = message("You are {name}. Speak and act as {name}, and know only what {name} knows.", name=entry.name)
    return Participant(
        id=base_id(f"{CHARACTER}:{entry.id}"),
        name=entry.name,
        aliases=entry.names[1:],
        persona=persona.render(view.project.language),
    )


def _check_character(entries: Sequence[Entry], name: str) -> None:
    """Refuse a name that an entry has which is no character, with its type."""
    others = {one.id: one for one in entries if one.type != "character"}
    for meant in match_named([NamedThing(one.id, one.names) for one in others.values()], name)[:1]:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message(
                "{name} is no character ({kind}), so it does not speak. Name a character, or add a participant of this "
                "name first. Nothing was changed.",
                name=others[meant.id].name,
                kind=others[meant.id].type,
            ),
        )


def load_account_names(store: Store, user: str) -> AccountNames:
    """Load the names of accounts, as somebody who talks sees them."""
    with store.read(user=LOCAL_USER) as reading:
        names = {one.id: one.name for one in list_people(reading)}
    own = names.pop(user, "")
    return AccountNames(own, frozenset(map(fold_name, names.values())) - {fold_name(own)}) if own else AccountNames()


def list_players(reading: ReadTransaction, accounts: AccountNames) -> list[Participant]:
    """List the players as whom somebody can talk: of the own name, then those not called like others, by age."""
    everybody = list_participants(reading, by_age=True)  # an import may have brought others
    players = [one for one in everybody if one.id.startswith(f"{PLAYER}:") and not one.is_gone]
    own = [one for one in players if accounts.own and fold_name(one.name) == fold_name(accounts.own)]
    return [*own, *(one for one in players if one not in own and fold_name(one.name) not in accounts.others)]


def find_player(reading: ReadTransaction, accounts: AccountNames) -> Participant | None:
    """Return the player as whom somebody talks, if there is one."""
    return next(iter(list_players(reading, accounts)), None)


def name_player(view: View, accounts: AccountNames) -> str:
    """Return the name of a new player: that of the account, else what the writer is called in the language."""
    return accounts.own or DEFAULT_PLAYER.render(view.project.language)


def ensure_player(view: View, tx: WriteTransaction, accounts: AccountNames) -> str:
    """Return the id of the player as whom somebody talks, who is added where there is none."""
    new = Participant(id=f"{PLAYER}:{new_id()}", name=name_player(view, accounts))
    return (find_player(tx, accounts) or save_participant(tx, new)).id


def ensure_participant(view: View, tx: WriteTransaction, name: str) -> str:
    """Return the id of the participant that a spelling means; a character of the codex becomes one."""
    found = resolve_participant(view, tx, name)
    if all(one.id != found.id for one in list_participants(tx)):
        save_participant(tx, found)
    return found.id

"""Routes of the codex: entries, progressions, relations, knowledge, pins, renames, facts and needs (cdx-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabula.access.model import Right
from fabula.codex import Entry
from fabula.codex.facts import Fact
from fabula.codex.knowledge import KnownFact
from fabula.server.routes.route import (
    Answer,
    Call,
    Route,
    make_list,
    make_optional,
    make_record,
    mount,
)
from fabula.workspace.facts import UsedFact
from fabula.workspace.needs import Need
from fabula.workspace.rename.offers import RenameOffer
from fabula.workspace.rename.rename import RenamePlace, UndoneRename
from fabula.workspace.schemas.codex import (
    EntryCardInfo,
    EntryInfo,
    EntrySharesInfo,
    KnowerInfo,
    MentionInfo,
    RelationInfo,
    RemovedEntryInfo,
    RenameInfo,
    RenameOfferInfo,
    RenamePlaceInfo,
    StoryPlace,
    describe_card,
    describe_entry,
    describe_mentions,
    describe_rename,
    describe_shares,
)
from fabula.workspace.schemas.facts import (
    FactInfo,
    FactList,
    UsedFactInfo,
    describe_fact,
    describe_facts,
    describe_used_fact,
)
from fabula.workspace.schemas.needs import NeedList, describe_needs
from fabula.workspace.schemas.schema import describe

ENTRY = Answer(EntryInfo, lambda entry, call: describe_entry(entry, names=call.names))
TEXT = Answer(str)
_KNOWERS = make_list(Answer(KnowerInfo, lambda one: describe(KnowerInfo, one)), "knower")
_REMOVED = make_list(Answer(RemovedEntryInfo, lambda one: describe(RemovedEntryInfo, one)))
_OFFERS = make_list(Answer(RenameOfferInfo, lambda one, language: describe(RenameOfferInfo, one, language)), "words")
_PLACES = make_list(Answer(RenamePlaceInfo, lambda one, language: describe(RenamePlaceInfo, one, language)), "label")
_MENTIONS = make_record(
    "FoundMentions",
    mentions=Answer(list[MentionInfo], lambda found, call: describe_mentions(found, call.arguments["text"])),
)
_RENAMED = {"old": "Jory", "new": "Jorin"}


def _describe_facts(facts: Sequence[Fact], call: Call) -> FactList:
    return describe_facts(facts, call.handle.view)


def _describe_fact(fact: Fact, call: Call) -> FactInfo:
    return describe_fact(fact, call.handle.view)


def _describe_used(used: UsedFact, call: Call) -> UsedFactInfo:
    return describe_used_fact(used, call.handle.view)


def _describe_needs(needs: Sequence[Need], call: Call) -> NeedList:
    return describe_needs(needs, call.handle.view)


_FORGOTTEN = make_record("ForgottenNeeds", count=Answer(int))
_FACT = Answer(FactInfo, _describe_fact)


def _describe_namesakes(found: Sequence[tuple[str, Entry]]) -> list[dict[str, str]]:
    return [{"name": name, "entry": entry.id} for name, entry in found]


def _describe_undone(undone: UndoneRename) -> dict[str, str | int]:
    return {"old": undone.old, "new": undone.new, "count": undone.count}


def _describe_before(fact: KnownFact | None) -> StoryPlace | None:
    return describe(StoryPlace, fact.since) if fact is not None and fact.since is not None else None


def _make_shares(*, applied: bool) -> Answer:
    """Make the answer with the entries that a book shares with its series, or would share."""
    return Answer(EntrySharesInfo, lambda shares, language: describe_shares(shares, applied, language))


def _rename(call: Call) -> Any:
    """Rename everywhere, and describe the places that were changed."""
    codex, given = call.handle.codex, dict(call.arguments)
    preview = {name: value for name, value in given.items() if name != "allow_duplicate"}
    places: Sequence[RenamePlace] = codex.preview_rename(**preview)
    offers: Sequence[RenameOffer] = codex.offer_renames(**preview)
    return describe_rename(places, codex.rename(**given), offers, call.language)


ROUTES = (
    mount(
        "codex",
        "/projects/{project}/codex",
        (
            Route("GET", "", "list_entries", Right.READ, make_list(ENTRY), {"kind": "character"}),
            Route("POST", "", "add", Right.EDIT, ENTRY, {"name": "Odile Marsh", "kind": "character"}, creates=True),
            Route("GET", "/{entry}", "find", Right.READ, ENTRY),
            Route("PATCH", "/{entry}", "edit", Right.EDIT, ENTRY, {"description": "Keeps the light at Harrow."}),
            Route("DELETE", "/{entry}", "remove", Right.EDIT, ENTRY),
            Route("GET", "/{entry}/knowers", "list_knowers", Right.READ, _KNOWERS),
            Route(
                "PUT",
                "/{entry}/knowers/{knower}",
                "set_knowledge",
                Right.EDIT,
                make_record(
                    "SetKnowledge",
                    entry=ENTRY,
                    knower=TEXT,
                    since_before=Answer(StoryPlace | None, _describe_before),
                ),
                {"since": "2"},
            ),
            Route(
                "GET",
                "/{entry}/unaware",
                "is_unaware",
                Right.READ,
                make_record("Unawareness", is_unaware=Answer(bool)),
            ),
            Route(
                "GET",
                "/{entry}/namesakes",
                "list_namesakes",
                Right.READ,
                make_record("Namesakes", namesakes=Answer(list[dict[str, str]], _describe_namesakes)),
            ),
            Route(
                "POST",
                "/{entry}/progressions",
                "add_progression",
                Right.EDIT,
                ENTRY,
                {"text": "Has left the light.", "since": "3"},
                creates=True,
            ),
            Route(
                "PATCH",
                "/{entry}/progressions/{number}",
                "edit_progression",
                Right.EDIT,
                ENTRY,
                {"text": "Has left the light for good."},
            ),
            Route(
                "DELETE",
                "/{entry}/progressions/{number}",
                "remove_progression",
                Right.EDIT,
                ENTRY,
            ),
            Route(
                "PUT",
                "/{entry}/relations/{other}",
                "relate",
                Right.EDIT,
                make_record(
                    "RelatedEntries",
                    entry=ENTRY,
                    other=ENTRY,
                    relation=Answer(RelationInfo, lambda one: describe(RelationInfo, one)),
                ),
                {"kind": "trusts"},
            ),
            Route(
                "DELETE",
                "/{entry}/relations/{other}",
                "unrelate",
                Right.EDIT,
                make_record("UnrelatedEntries", entry=ENTRY, other=ENTRY),
            ),
            Route(
                "PUT",
                "/{entry}/pins/{where}",
                "pin",
                Right.EDIT,
                make_record("PinnedEntry", entry=ENTRY, where=Answer(str, lambda place: place.id)),
                {"mode": "include"},
            ),
        ),
    )
    + mount(
        "mentions",
        "/projects/{project}/mentions",
        (
            Route("POST", "", "find", Right.READ, _MENTIONS, {"text": "Mara put out the lamp."}),
            Route("GET", "/{entry}", "read_card", Right.READ, Answer(EntryCardInfo, describe_card), {"chapter": "2"}),
        ),
    )
    + mount(
        "codex",
        "/projects/{project}/shares",
        (
            Route("GET", "/preview", "preview_share", Right.READ, _make_shares(applied=False), {"entries": ["Mara"]}),
            Route("POST", "", "share", Right.EDIT, _make_shares(applied=True), {"entries": ["Mara"]}, creates=True),
        ),
    )
    + mount(
        "codex",
        "/projects/{project}/removed-entries",
        (Route("GET", "", "list_removed", Right.READ, _REMOVED),),
    )
    + mount(
        "codex",
        "/projects/{project}/renames",
        (
            Route("GET", "/preview", "preview_rename", Right.READ, _PLACES, _RENAMED),
            Route("GET", "/offers", "offer_renames", Right.READ, _OFFERS, _RENAMED),
            Route(
                "GET",
                "/owner",
                "find_name_owner",
                Right.READ,
                make_record("NameOwner", owner=make_optional(ENTRY)),
                _RENAMED,
            ),
            Route("POST", "", "rename", Right.EDIT, Answer(RenameInfo), _RENAMED, creates=True, call=_rename),
            Route(
                "POST",
                "/undo",
                "undo_rename",
                Right.EDIT,
                make_record("RenameUndone", undone=Answer(dict[str, str | int], _describe_undone)),
            ),
        ),
    )
    + mount(
        "facts",
        "/projects/{project}/codex/{entry}/facts",
        (
            Route("GET", "", "list_facts", Right.READ, Answer(FactList, _describe_facts)),
            Route("POST", "/restore", "restore", Right.EDIT, make_record("RestoredFacts", count=Answer(int))),
            Route("GET", "/{fact}", "find", Right.READ, _FACT),
            Route("POST", "/{fact}", "use", Right.EDIT, Answer(UsedFactInfo, _describe_used), {"use": "progression"}),
            Route("DELETE", "/{fact}", "dismiss", Right.EDIT, _FACT),
        ),
    )
    + mount(
        "needs",
        "/projects/{project}/needs",
        (
            Route("GET", "", "list_needs", Right.READ, Answer(NeedList, _describe_needs)),
            Route("DELETE", "", "forget", Right.EDIT, _FORGOTTEN, {"need": "1"}),
        ),
    )
)

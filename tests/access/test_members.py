"""Members of a project, as its owner changes them, and the account that everybody has for themselves."""

from __future__ import annotations

import logging

import pytest

from fabula import access
from fabula.access import Membership, Person, Right, Role
from fabula.context.request import Principal
from fabula.core.errors import Code
from fabula.server.accounts import Accounts
from fabula.store.store import LOCAL_USER
from fabula.workspace.account import AccountVerbs
from fabula.workspace.members import MemberVerbs
from fabula.workspace.workspace import Workspace
from tests.access.test_access import PASSWORD, open_accounts, refuse, workspace

__all__ = ["workspace"]


def open_members(workspace: Workspace, user: str = "ann") -> MemberVerbs:
    return workspace.project("coast", Principal(user=user)).members


def open_account(workspace: Workspace, user: str = "ann") -> AccountVerbs:
    return workspace.account(principal=Principal(user=user))


def list_roles(people: list[Person]) -> dict[str, str]:
    return {one.id: ", ".join(f"{name}:{own.role}" for name, own in one.memberships.items()) for one in people}


def test_an_owner_gives_changes_and_takes_roles_in_the_project_alone(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    workspace.people.set_role("ann", "Coast", "owner")
    workspace.people.set_role("bob", "Inland", "editor")
    members = open_members(workspace)
    assert list_roles(members.list_members()) == {"ann": "coast:owner"}
    given = members.set_role("BOB", "reader")
    assert list_roles([given]) == {"bob": "coast:reader"}  # nothing of the other project
    assert list_roles(members.list_members()) == {"ann": "coast:owner", "bob": "coast:reader"}
    conversation = workspace.project("coast").conversations.start([], title="On the quay")
    grants = members.set_role("bob", "player", character="Mara", conversations=["On the quay"]).memberships["coast"]
    assert grants.grants.characters == frozenset({"mara"})
    assert grants.grants.conversations == frozenset({conversation.id})
    assert grants.grants.documents == frozenset()
    members.remove("bob")
    assert list_roles(members.list_members()) == {"ann": "coast:owner"}
    assert workspace.people.find("bob").memberships == {"inland": Membership(Role.EDITOR)}
    for line in ("role given: bob in coast: reader by ann", "role taken: bob in coast by ann"):
        assert line in caplog.text


def test_who_has_no_account_is_refused_without_a_name_of_others(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "owner")
    members = open_members(workspace)
    for name in ("bobb", "bo", "Bob Tarn", "", "owner"):
        refused = refuse(Code.STORE_NOT_FOUND, lambda name=name: members.set_role(name, "reader"))
        assert "Did you mean" not in refused.sentence
    workspace.people.add("an")
    assert members.set_role("an", "reader").id == "an"  # and not the member whose name begins so
    refused = refuse(Code.STORE_NOT_FOUND, lambda: members.set_role("Ann Tarn", "owner"))
    assert "Did you mean ann?" in refused.sentence
    refuse(Code.STORE_NOT_FOUND, lambda: members.remove("bob"))
    refuse(Code.REQUEST_INVALID, lambda: members.set_role("bob", "king"))
    refuse(Code.REQUEST_INVALID, lambda: members.set_role("bob", "reader", conversations=["x"]))


def test_the_last_owner_stays(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "owner")
    workspace.people.set_role("bob", "Inland", "owner")  # of another project, which does not count
    members = open_members(workspace)
    refuse(Code.ACCESS_LAST_OWNER, lambda: members.remove("ann"))
    refuse(Code.ACCESS_LAST_OWNER, lambda: members.set_role("ann", "editor"))
    assert members.set_role("ann", "owner").memberships["coast"].role is Role.OWNER
    members.set_role("bob", "owner")
    members.remove("ann")
    refuse(Code.ACCESS_LAST_OWNER, lambda: open_members(workspace, "bob").remove("bob"))


def test_a_new_password_needs_the_old_one_and_ends_the_other_sessions(workspace: Workspace) -> None:
    accounts, own = open_accounts(workspace), open_account(workspace)
    kept, other = accounts.sign_in("ann", PASSWORD), accounts.sign_in("ann", PASSWORD)
    assert kept is not None
    assert other is not None
    refuse(Code.ACCESS_PASSWORD_WRONG, lambda: own.set_password("battery staple", old_password="wrong horse"))
    refuse(Code.REQUEST_INVALID, lambda: own.set_password("short", old_password=PASSWORD))
    own.set_password("battery staple", old_password=PASSWORD, own_session=access.find_session_id(kept))
    fresh = open_accounts(workspace)
    assert fresh.find_access(kept) is not None
    assert fresh.find_access(other) is None
    assert fresh.sign_in("ann", PASSWORD) is None
    assert fresh.sign_in("ann", "battery staple") is not None
    refuse(Code.REQUEST_INVALID, lambda: open_account(workspace, "bob").set_password("x" * 9, old_password=""))
    refuse(Code.REQUEST_INVALID, lambda: workspace.account().set_password("x" * 9, old_password=""))


def test_wrong_old_passwords_are_counted_and_keep_nobody_from_signing_in(workspace: Workspace) -> None:
    own = open_account(workspace)
    for _ in range(5):
        refuse(Code.ACCESS_PASSWORD_WRONG, lambda: own.set_password("battery staple", old_password="wrong horse"))
    refuse(Code.ACCESS_TOO_MANY_TRIES, lambda: own.set_password("battery staple", old_password=PASSWORD))
    assert open_accounts(workspace).sign_in("ann", PASSWORD) is not None


def test_a_person_sees_and_ends_own_sessions_alone(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    secrets = [accounts.sign_in("ann", PASSWORD) for _ in range(3)]
    workspace.people.set_password("bob", PASSWORD)
    foreign = accounts.sign_in("bob", PASSWORD)
    assert foreign is not None
    own = open_account(workspace)
    assert {one.person for one in own.list_sessions()} == {"ann"}
    ids = [access.find_session_id(one or "") for one in secrets]
    own.end_session(ids[0])
    for wrong in (ids[0], access.find_session_id(foreign), "", "%", ids[1][:3]):
        refuse(Code.STORE_NOT_FOUND, lambda wrong=wrong: own.end_session(wrong))
    own.end_other_sessions(own_session=ids[1])
    assert [one.id for one in own.list_sessions()] == [ids[1]]
    assert Accounts(workspace.store, {}).find_access(foreign) is not None


def test_own_keys_have_no_more_than_the_person_and_are_for_own_projects(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "reader")
    own = open_account(workspace)
    made = own.create_key("mine", projects=["Coast"], rights=["read"])
    foreign = workspace.people.create_key("theirs", person="bob")
    assert [one.label for one in own.list_keys()] == ["mine"]
    refuse(Code.REQUEST_INVALID, lambda: own.create_key("x", rights=["edit"]))
    refusals = [
        refuse(Code.PROJECT_NOT_FOUND, lambda name=name: own.create_key("x", projects=[name])).sentence.replace(
            name, "?"
        )
        for name in ("Inland", "inland", "nowhere")
    ]
    assert len(set(refusals)) == 1
    refuse(Code.STORE_NOT_FOUND, lambda: own.revoke_key(foreign.key.id))
    assert own.revoke_key("mine").revoked_at is not None
    assert open_accounts(workspace).find_access(made.secret) is None
    assert open_accounts(workspace).find_access(foreign.secret) is not None


def test_a_key_that_names_verbs_may_use_these_where_its_person_has_the_right(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "reader")
    own, accounts = open_account(workspace), open_accounts(workspace)
    found = accounts.find_access(own.create_key("verbs", verbs=["project.search", "codex.add"]).secret)
    assert found is not None
    assert found.has_right(Right.ASSEMBLE, "coast", verb="project.search")
    assert not found.has_right(Right.ASSEMBLE, "coast", verb="project.assemble")
    assert not found.has_right(Right.ASSEMBLE, "coast")
    assert not found.has_right(Right.EDIT, "coast", verb="codex.add")  # a reader adds nothing
    assert not found.has_right(Right.ASSEMBLE, "inland", verb="project.search")
    both = accounts.find_access(own.create_key("both", rights=["read"], verbs=["project.search"]).secret)
    assert both is not None
    assert both.has_right(Right.READ, "coast", verb="chapters.list_chapters")
    assert both.has_right(Right.ASSEMBLE, "coast", verb="project.search")
    assert not both.has_right(Right.ASSEMBLE, "coast", verb="project.assemble")


@pytest.mark.parametrize(
    ("verb", "nearest"),
    [
        ("project.serch", "project.search"),
        ("context.assemble", "project.assemble"),
        ("search.search", "project.search"),
        ("assemble", "project.assemble"),
        ("codex.__init__", "codex."),
        ("workspace.people", ""),
        ("", ""),
    ],
)
def test_an_unknown_verb_is_refused_with_the_nearest(workspace: Workspace, verb: str, nearest: str) -> None:
    for make in (workspace.people.create_key, workspace.account().create_key):
        refused = refuse(Code.REQUEST_INVALID, lambda make=make: make("x", verbs=["project.search", verb]))
        assert nearest in refused.sentence
    assert workspace.people.list_keys() == []


def test_who_creates_a_project_becomes_its_owner_where_the_server_lets_people_create(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = open_account(workspace)
    refuse(Code.NOT_ALLOWED, lambda: own.create_project("Mine"))
    monkeypatch.setenv("FABULA_PROJECTS_PER_PERSON", "2")
    assert own.count_creatable_projects() == 2
    made = own.create_project("Coast")  # a title of somebody else's project is free
    assert workspace.people.find("ann").memberships == {made.id: Membership(Role.OWNER)}
    refuse(Code.PROJECT_INVALID, lambda: own.create_project(" "))
    other = own.create_project("Second")
    refuse(Code.NOT_ALLOWED, lambda: own.create_project("Third"))
    workspace.delete_project(other.id)
    assert own.count_creatable_projects() == 1  # what is deleted does not count
    own.create_project("Third")
    assert workspace.account().count_creatable_projects() is None
    assert [one.title for one in workspace.projects()].count("Third") == 1
    refuse(Code.STORE_NOT_FOUND, lambda: open_account(workspace, "zed").create_project("x"))
    assert open_account(workspace, "zed").count_creatable_projects() == 0
    with workspace.store.read(user=LOCAL_USER) as reading:
        assert access.find_person(reading, "zed") is None

"""People, roles, keys and sessions of a store."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import pytest

from fabula import access
from fabula.access import Membership, Right, Role
from fabula.access.edits import MAX_SESSIONS, find_wait
from fabula.access.tables import api_keys, people, sessions, sign_in_failures
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.server.access import OWNER_ACCESS, Access
from fabula.server.accounts import REMEMBERED_SECONDS, Accounts
from fabula.store.save.saving import save_project
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.workspace import Workspace

PASSWORD = "correct horse"


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def workspace(store: Store) -> Workspace:
    """Two projects with a character each, and two people."""
    projects.create(store, "Coast", project_id="coast")
    projects.create(store, "Inland", project_id="inland")
    workspace = Workspace(store)
    workspace.project("coast").codex.add("Mara", kind="character", entry_id="mara")
    workspace.people.add("Ann", name="Ann Tarn", password=PASSWORD)
    workspace.people.add("bob")
    return workspace


def open_accounts(workspace: Workspace, clock: Clock | None = None) -> Accounts:
    return Accounts(workspace.store, {}, clock=clock or Clock())


def refuse(code: Code, action: object) -> FabulaError:
    assert callable(action)
    with pytest.raises(FabulaError) as refused:
        action()
    assert refused.value.code is code
    return refused.value


def test_somebody_signs_in_with_their_password_and_is_who_they_are(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "editor")
    accounts = open_accounts(workspace)
    session = accounts.sign_in(" ANN ", PASSWORD)
    assert session is not None
    found = accounts.find_access(session)
    assert found == Access(user="ann", memberships={"coast": Membership(Role.EDITOR)})
    assert found.has_right(Right.EDIT, "coast")
    assert not found.has_right(Right.READ, "inland")
    accounts.sign_out(session)
    assert accounts.find_access(session) is None


def test_a_wrong_password_and_an_unknown_account_are_refused_alike(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    accounts = open_accounts(workspace)
    for account, password in (("ann", "wrong one"), ("ann", ""), ("zed", PASSWORD), ("bob", ""), ("bob", PASSWORD)):
        assert accounts.sign_in(account, password, address="10.0.0.7") is None
    assert "sign-in refused: account=ann address=10.0.0.7" in caplog.text
    assert "sign-in refused: account=- address=10.0.0.7" in caplog.text
    assert "wrong one" not in caplog.text
    assert "zed" not in caplog.text  # which may be a password in the wrong field


def test_wrong_passwords_are_counted_whichever_process_is_asked(workspace: Workspace) -> None:
    processes = [Accounts(workspace.store, {}) for _ in range(2)]
    assert [one.sign_in("ann", "wrong horse") for one in processes] == [None, None]
    with workspace.store.write(user=LOCAL_USER) as tx:
        for _ in range(3):
            access.count_failure(tx, "ann")
    for one in processes:
        with pytest.raises(FabulaError) as refused:
            one.sign_in("ANN ", PASSWORD)
        assert refused.value.code is Code.ACCESS_TOO_MANY_TRIES
        assert refused.value.details["retry_seconds"] in range(1, 61)
    with workspace.store.write(user=LOCAL_USER) as tx:
        access.forget_failures(tx, "ann")
        for _ in range(4):
            access.count_failure(tx, "ann")
    assert processes[0].sign_in("ann", PASSWORD) is not None  # which forgets the others
    with workspace.store.write(user=LOCAL_USER) as tx:
        access.count_failure(tx, "ann")
        assert find_wait(tx, "ann") == 0


def test_the_wrong_passwords_that_are_counted_are_bounded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.access.edits.MAX_COUNTED", 10)
    with workspace.store.write(user=LOCAL_USER) as tx:
        for number in range(30):
            access.count_failure(tx, f"nobody-{number}" * 1_000, f"10.0.0.{number}")
        assert tx.count(sign_in_failures) == 10
        assert tx.count(sessions) == 0


def test_wrong_passwords_from_one_address_keep_nobody_else_out(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    for _ in range(5):
        assert accounts.sign_in("ann", "wrong horse", address="10.0.0.66") is None
    for account in ("ann", "ANN "):
        refused = refuse(
            Code.ACCESS_TOO_MANY_TRIES,
            lambda account=account: accounts.sign_in(account, PASSWORD, address="10.0.0.66"),
        )
        assert refused.details["retry_seconds"] in range(1, 61)
    assert accounts.sign_in("bob", "wrong horse", address="10.0.0.66") is None  # another account from there
    assert accounts.sign_in("ann", PASSWORD, address="10.0.0.7") is not None
    refuse(Code.ACCESS_TOO_MANY_TRIES, lambda: accounts.sign_in("ann", PASSWORD, address="10.0.0.66"))


def test_all_addresses_of_an_ipv6_network_count_as_one(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    for number in range(5):
        assert accounts.sign_in("ann", "wrong horse", address=f"2001:db8:1:2::{number:x}") is None
    refuse(Code.ACCESS_TOO_MANY_TRIES, lambda: accounts.sign_in("ann", PASSWORD, address="2001:db8:1:2:ffff::9"))
    assert accounts.sign_in("ann", PASSWORD, address="2001:db8:1:3::1") is not None
    for address in ("10.0.0.9", "::ffff:10.0.0.9", "10.0.0.9", "::ffff:10.0.0.9", "10.0.0.9"):
        assert accounts.sign_in("ann", "wrong horse", address=address) is None
    refuse(Code.ACCESS_TOO_MANY_TRIES, lambda: accounts.sign_in("ann", PASSWORD, address="::ffff:10.0.0.9"))


def test_another_password_signs_everybody_out(workspace: Workspace) -> None:
    clock = Clock()
    accounts = open_accounts(workspace, clock)
    session = accounts.sign_in("ann", PASSWORD)
    assert session is not None
    workspace.people.set_password("ann", "battery staple")
    clock.now += REMEMBERED_SECONDS + 1
    assert accounts.find_access(session) is None
    assert accounts.sign_in("ann", PASSWORD) is None
    assert accounts.sign_in("ann", "battery staple") is not None


def test_a_key_opens_what_it_is_for_until_it_is_revoked(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "editor")
    workspace.people.set_role("ann", "Inland", "reader")
    made = workspace.people.create_key("my script", person="ann", projects=["Coast"], rights=["read", "assemble"])
    clock = Clock()
    accounts = open_accounts(workspace, clock)
    found = accounts.find_access(made.secret)
    assert found is not None
    assert found.user == "ann"
    assert found.has_right(Right.READ, "coast")
    assert not found.has_right(Right.EDIT, "coast")
    assert not found.has_right(Right.READ, "inland")
    assert [one.label for one in workspace.people.list_keys("ann")] == ["my script"]
    assert workspace.people.revoke_key("my script").revoked_at is not None
    clock.now += REMEMBERED_SECONDS + 1
    assert accounts.find_access(made.secret) is None


def test_a_key_of_the_owner_for_one_project_opens_no_other_and_not_the_store(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    whole = accounts.find_access(workspace.people.create_key("all").secret)
    part = accounts.find_access(workspace.people.create_key("some", projects=["Coast"]).secret)
    assert whole is not None
    assert part is not None
    assert whole.has_right(Right.STORE)
    assert part.has_right(Right.MANAGE, "coast")
    assert not part.has_right(Right.STORE)
    assert not part.has_right(Right.READ, "inland")


@pytest.mark.parametrize("change", ["", "x", "fabula-", "another secret", "another id", "cut", "upper"])
def test_a_secret_that_is_almost_right_opens_nothing(workspace: Workspace, change: str) -> None:
    secret = workspace.people.create_key("all").secret
    other = workspace.people.create_key("other").secret
    forged = {
        "": "",
        "x": "x",
        "fabula-": "fabula-",
        "another secret": secret[:28] + other[28:],
        "another id": other[:28] + secret[28:],
        "cut": secret[:-1],
        "upper": secret.upper(),
    }[change]
    assert open_accounts(workspace).find_access(forged) is None


def test_neither_passwords_nor_secrets_are_stored_or_saved(workspace: Workspace, tmp_path: Path) -> None:
    secret = workspace.people.create_key("all", projects=["Coast"]).secret
    with workspace.store.read(user=LOCAL_USER) as reading:
        rows = str([*reading.rows(people), *reading.rows(api_keys)])
    assert PASSWORD not in rows
    assert secret[-20:] not in rows
    save_project(workspace.store, "coast", tmp_path / "a.fabula", user=LOCAL_USER)
    with zipfile.ZipFile(tmp_path / "a.fabula") as save:
        assert not [name for name in save.namelist() if any(one in name for one in ("people", "keys", "sessions"))]


def test_a_player_sees_through_one_character(workspace: Workspace) -> None:
    refuse(Code.REQUEST_INVALID, lambda: workspace.people.set_role("bob", "Coast", "player"))
    person = workspace.people.set_role("bob", "Coast", "player", character="Mara")
    grants = person.memberships["coast"].grants
    assert grants.characters == frozenset({"mara"})
    assert grants.documents == frozenset()
    found = open_accounts(workspace).find_access(workspace.people.create_key("game", person="bob").secret)
    assert found is not None
    assert found.make_principal("coast").grants == grants


def test_who_is_removed_is_out_at_once(workspace: Workspace) -> None:
    workspace.people.set_role("ann", "Coast", "editor")
    key = workspace.people.create_key("x", person="ann").secret
    session = open_accounts(workspace).sign_in("ann", PASSWORD)
    assert session is not None
    workspace.people.remove("ann")
    fresh = open_accounts(workspace)
    assert [fresh.find_access(one) for one in (key, session)] == [None, None]
    assert [one.id for one in workspace.people.list_all()] == ["bob"]


def test_a_person_has_a_bounded_number_of_sessions(workspace: Workspace) -> None:
    with workspace.store.write(user=LOCAL_USER) as tx:
        secrets = [access.begin_session(tx, "ann") for _ in range(MAX_SESSIONS + 3)]
        assert sum(access.find_session(tx, one) is not None for one in secrets) == MAX_SESSIONS
        assert access.find_session(tx, secrets[-1]) == "ann"


def test_a_link_begins_one_session_of_the_owner_whichever_process_is_asked(workspace: Workspace) -> None:
    first, second = open_accounts(workspace), open_accounts(workspace)
    code = first.make_code()
    session = second.begin_session(code)
    assert session is not None
    assert [one.begin_session(code) for one in (first, second)] == [None, None]
    assert [one.find_access(session) for one in (first, second)] == [OWNER_ACCESS, OWNER_ACCESS]
    first.sign_out(session)
    assert open_accounts(workspace).find_access(session) is None


def test_a_link_for_somebody_signs_them_in_once_and_they_can_be_signed_out(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    code = workspace.people.create_link("ann")
    assert workspace.people.list_sessions() == []  # a link is no session
    session = accounts.begin_session(code)
    assert session is not None
    found = accounts.find_access(session)
    assert found is not None
    assert found.user == "ann"
    (listed,) = workspace.people.list_sessions("ann")
    assert listed.person == "ann"
    assert listed.id not in session
    assert workspace.people.list_sessions("owner") == []
    workspace.people.end_sessions("ann")
    assert workspace.people.list_sessions() == []
    assert open_accounts(workspace).find_access(session) is None
    refuse(Code.STORE_NOT_FOUND, lambda: workspace.people.create_link("nobody"))


def test_a_link_is_not_valid_for_ever(workspace: Workspace) -> None:
    accounts = open_accounts(workspace)
    code = accounts.make_code()
    with workspace.store.write(user=LOCAL_USER) as tx:
        assert code not in str(tx.rows(sessions))
        tx.update_rows(sessions, {"until": "2020-01-01T00:00:00.000000Z"}, sessions.c.person == LOCAL_USER)
    assert accounts.begin_session(code) is None


def test_mistakes_are_refused_and_change_nothing(workspace: Workspace) -> None:
    verbs = workspace.people
    before = verbs.list_all()
    refuse(Code.STORE_DUPLICATE, lambda: verbs.add("ANN"))
    for name in ("", "owner", "a b", "ä", "x" * 41, "../x"):
        refuse(Code.REQUEST_INVALID, lambda name=name: verbs.add(name))
    refuse(Code.REQUEST_INVALID, lambda: verbs.add("carl", password="short"))
    refuse(Code.REQUEST_INVALID, lambda: verbs.add("carl", password="x" * 201))
    assert "ann" in refuse(Code.STORE_NOT_FOUND, lambda: verbs.remove("annn")).sentence.lower()
    assert "editor" in refuse(Code.REQUEST_INVALID, lambda: verbs.set_role("ann", "Coast", "editr")).sentence
    refuse(Code.PROJECT_NOT_FOUND, lambda: verbs.set_role("ann", "Nowhere", "editor"))
    refuse(Code.REQUEST_INVALID, lambda: verbs.set_role("ann", "Coast", "editor", character="Mara"))
    refuse(Code.STORE_NOT_FOUND, lambda: verbs.remove_role("ann", "Coast"))
    refuse(Code.REQUEST_INVALID, lambda: verbs.create_key(" "))
    refuse(Code.REQUEST_INVALID, lambda: verbs.create_key("x", rights=["reed"]))
    refuse(Code.STORE_NOT_FOUND, lambda: verbs.revoke_key("nothing"))
    assert verbs.list_all() == before
    assert verbs.list_keys() == []

"""Routes of accounts, roles, sessions and keys: for the owner of the store, of a project, and of an account (ppl-2)."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.access.model import Person, Right
from fabula.server.access import make_store_principal
from fabula.server.address import LINK_PATH
from fabula.server.routes.route import NOTHING, Answer, Call, Route, make_list, make_record, mount
from fabula.store.store import LOCAL_USER
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.people import (
    AccountInfo,
    KeyInfo,
    MemberInfo,
    NewKeyInfo,
    OwnAccountInfo,
    SessionInfo,
    describe_account,
    describe_key,
    describe_member,
    describe_new_key,
    describe_own_account,
    describe_session,
)


def _find_titles(call: Call) -> dict[str, str]:
    return {one.id: one.title for one in call.workspace.projects()}


def _describe_account(person: Person, call: Call) -> AccountInfo:
    def names_of(project: str) -> DisplayNames:
        return DisplayNames(call.workspace.project(project).view)

    return describe_account(person, _find_titles(call), names_of)


def _describe_member(person: Person, call: Call) -> MemberInfo:
    return describe_member(person, call.handle.id, call.handle.view.project.title, lambda _: call.names)


def _describe_own(person: Person, call: Call) -> OwnAccountInfo:
    own = call.workspace.account(principal=make_store_principal(call.access))
    return describe_own_account(
        person,
        {one: title for one, title in _find_titles(call).items() if one in person.memberships},
        is_store_owner=person.id == LOCAL_USER,
        creatable_projects=own.count_creatable_projects(),
    )


_ACCOUNT = Answer(AccountInfo, _describe_account)
_KEY = Answer(KeyInfo, lambda key, call: describe_key(key, _find_titles(call)))
_SESSION = Answer(SessionInfo, lambda session, call: describe_session(session, call.session))
_MEMBER = Answer(MemberInfo, _describe_member)
_NEW_KEY = Answer(NewKeyInfo, describe_new_key, is_secret=True)
_LINK = replace(make_record("SignInLink", path=Answer(str, lambda code: LINK_PATH + code)), is_secret=True)

_OF_STORE = mount(
    "people",
    "",
    (
        Route("GET", "/accounts", "list_all", Right.STORE, make_list(_ACCOUNT)),
        Route(
            "POST",
            "/accounts",
            "add",
            Right.STORE,
            _ACCOUNT,
            {"account": "bea", "name": "Bea Marsh", "password": "a long one"},
            creates=True,
        ),
        Route("GET", "/accounts/{person}", "find", Right.STORE, _ACCOUNT),
        Route("DELETE", "/accounts/{person}", "remove", Right.STORE, _ACCOUNT),
        Route("PUT", "/accounts/{person}/password", "set_password", Right.STORE, NOTHING, {"password": "a longer one"}),
        Route("POST", "/accounts/{person}/link", "create_link", Right.STORE, _LINK, creates=True),
        Route("GET", "/sessions", "list_sessions", Right.STORE, make_list(_SESSION)),
        Route("DELETE", "/accounts/{person}/sessions", "end_sessions", Right.STORE, NOTHING),
        Route(
            "PUT",
            "/accounts/{person}/roles/{place}",
            "set_role",
            Right.STORE,
            _ACCOUNT,
            {"role": "editor"},
        ),
        Route("DELETE", "/accounts/{person}/roles/{place}", "remove_role", Right.STORE, _ACCOUNT),
        Route("GET", "/keys", "list_keys", Right.STORE, make_list(_KEY)),
        Route(
            "POST",
            "/keys",
            "create_key",
            Right.STORE,
            _NEW_KEY,
            {"label": "my script", "rights": ["read"]},
            creates=True,
        ),
        Route("DELETE", "/keys/{key}", "revoke_key", Right.STORE, _KEY),
    ),
)

_OF_PROJECT = mount(
    "members",
    "/projects/{project}/members",
    (
        Route("GET", "", "list_members", Right.MEMBERS, make_list(_MEMBER)),
        Route("GET", "/{person}", "find", Right.MEMBERS, _MEMBER),
        Route("PUT", "/{person}", "set_role", Right.MEMBERS, _MEMBER, {"role": "editor"}),
        Route("DELETE", "/{person}", "remove", Right.MEMBERS, _MEMBER),
    ),
)

_OWN = mount(
    "account",
    "/account",
    (
        Route("GET", "", "describe", Right.SIGN_IN, Answer(OwnAccountInfo, _describe_own)),
        Route(
            "PUT",
            "/password",
            "set_password",
            Right.SIGN_IN,
            NOTHING,
            {"password": "a longer one", "oldPassword": "a long one"},
        ),
        Route("GET", "/keys", "list_keys", Right.SIGN_IN, make_list(_KEY)),
        Route(
            "POST",
            "/keys",
            "create_key",
            Right.SIGN_IN,
            _NEW_KEY,
            {"label": "my script", "verbs": ["project.search"]},
            creates=True,
        ),
        Route("DELETE", "/keys/{key}", "revoke_key", Right.SIGN_IN, _KEY),
        Route("GET", "/sessions", "list_sessions", Right.SIGN_IN, make_list(_SESSION)),
        Route("DELETE", "/sessions", "end_other_sessions", Right.SIGN_IN, NOTHING),
        Route("DELETE", "/sessions/{session}", "end_session", Right.SIGN_IN, NOTHING),
    ),
)

ROUTES = (*_OF_STORE, *_OF_PROJECT, *_OWN)

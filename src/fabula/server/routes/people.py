"""Routes of accounts, roles, sessions and keys, for the owner of the store (ppl-2)."""

from __future__ import annotations

from fabula.access.model import Person, Right
from fabula.server.address import LINK_PATH
from fabula.server.routes.route import NOTHING, Answer, Call, Route, make_list, make_record, mount
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.people import (
    AccountInfo,
    KeyInfo,
    NewKeyInfo,
    SessionInfo,
    describe_account,
    describe_key,
    describe_new_key,
    describe_session,
)


def _find_titles(call: Call) -> dict[str, str]:
    return {one.id: one.title for one in call.workspace.projects()}


def _describe_account(person: Person, call: Call) -> AccountInfo:
    def names_of(project: str) -> DisplayNames:
        return DisplayNames(call.workspace.project(project).view)

    return describe_account(person, _find_titles(call), names_of)


_ACCOUNT = Answer(AccountInfo, _describe_account)
_KEY = Answer(KeyInfo, lambda key, call: describe_key(key, _find_titles(call)))
_LINK = make_record("SignInLink", path=Answer(str, lambda code: LINK_PATH + code))

ROUTES = mount(
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
        Route("GET", "/sessions", "list_sessions", Right.STORE, make_list(Answer(SessionInfo, describe_session))),
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
            Answer(NewKeyInfo, describe_new_key),
            {"label": "my script", "rights": ["read"]},
            creates=True,
        ),
        Route("DELETE", "/keys/{key}", "revoke_key", Right.STORE, _KEY),
    ),
)

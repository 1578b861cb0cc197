"""What a person can do with settings: their own, and those of a project."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message, show
from fabula.llm.pricing import parse_prices
from fabula.llm.provider_config import ProviderConfig, delete_api_key, store_api_key
from fabula.llm.user_providers import load_providers
from fabula.manuscript import projects
from fabula.settings import edits
from fabula.settings.edits import StoredBudget
from fabula.settings.registry import GROUPS, MACHINE, SETTINGS, SettingScope, find_setting, is_reserved
from fabula.settings.values import (
    SettingReport,
    list_settings,
    list_unknown,
    parse_value,
    read_values,
    report_setting,
)
from fabula.skills.files import parse_skill
from fabula.skills.project_skills import SETTING_PREFIX
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import WriteTransaction
from fabula.workspace.arguments import check_verbs
from fabula.workspace.grants import refuse_request
from fabula.workspace.schemas.budgets import BudgetProfileChange, LimitsChange
from fabula.workspace.schemas.settings import SettingList
from fabula.workspace.verbs import label_change


@check_verbs
class SettingVerbs:
    """The settings of a person and, where one is named, of a project; the project's count before the person's."""

    def __init__(self, store: Store, project: str | None = None, *, user: str = LOCAL_USER) -> None:
        self._store = store
        self._user = user
        found = None if project is None else projects.find_project(store, project)
        self._project_id = None if found is None else found.id
        self.language = "en" if found is None else found.language  # of the sentences about settings

    def list_settings(self) -> SettingList:
        """List every setting with its value and where that comes from, and stored names that are no settings.

        Those of the machine are for its owner.
        """
        with self._store.read(project=self._project_id, user=self._user) as reading:
            titles = {name: str(show(title, self.language)) for name, title in GROUPS.items()}
            found = [one for one in list_settings(reading, language=self.language) if self._may_see(one.name)]
            return SettingList(settings=found, groups=titles, unknown=list_unknown(reading))

    def _may_see(self, name: str) -> bool:
        return self._user == LOCAL_USER or SETTINGS[name].scopes != MACHINE

    def get(self, name: str) -> SettingReport:
        """Return one setting with its value and where that comes from."""
        definition = find_setting(name)
        if not self._may_see(definition.name):
            raise refuse_request()
        with self._store.read(project=self._project_id, user=self._user) as reading:
            return report_setting(read_values(reading, [definition.name]), definition.name, self.language)

    def set(self, name: str, value: Any, *, scope: SettingScope = "project") -> None:
        """Set a setting of the project or the person; it takes effect at once.

        A provider must exist on this machine, prices must be a price table, and a project's skill must be a valid
        skill file. The registry checks everything else.
        """
        if name.startswith(SETTING_PREFIX) and isinstance(value, str) and scope == "project":
            parse_skill(name.removeprefix(SETTING_PREFIX), value, origin="project")
        elif is_reserved(name):
            raise FabulaError(
                Code.SETTING_INVALID, message("Fabula itself sets {name}. Nothing was changed.", name=name)
            )
        match name.strip().lower():
            case "llm.provider":
                load_providers().find(str(value))
            case "llm.prices":
                parse_prices(value)
        with self._write(name, scope) as tx:
            edits.set_value(tx, name, value, scope=scope)

    def set_text(self, name: str, text: str, *, scope: SettingScope = "project") -> None:
        """Set a setting to a value that was typed: a word, a text, or any JSON value."""
        try:
            value = text if is_reserved(name) else parse_value(find_setting(name), text)
        except FabulaError:
            value = text  # the name is no setting: setting it is refused with the nearest ones
        self.set(name, value, scope=scope)

    def reset(self, name: str, *, scope: SettingScope = "project") -> None:
        """Return a setting to its default."""
        with self._write(name, scope) as tx:
            edits.reset(tx, name, scope=scope)

    def list_providers(self) -> list[ProviderConfig]:
        """List the providers of models that this machine knows."""
        return list(load_providers().providers.values())

    def set_provider_key(self, provider: str, key: str) -> ProviderConfig:
        """Put the key of a provider into the keyring of this machine; it is never shown again."""
        config = load_providers().find(provider)
        store_api_key(config, key)
        return config

    def remove_provider_key(self, provider: str) -> ProviderConfig:
        """Take the key of a provider out of the keyring of this machine."""
        config = load_providers().find(provider)
        delete_api_key(config)
        return config

    def read_budget(self) -> StoredBudget:
        """Return how the project divides its windows, and its limits; version 0 before anything was set (bud-7)."""
        with self._store.read(project=self._require_project(), user=self._user) as reading:
            return edits.read_budget(reading)

    def update_budget(
        self,
        *,
        profile: BudgetProfileChange | None = None,
        limits: LimitsChange | None = None,
        expected_version: int | None = None,
    ) -> StoredBudget:
        """Change how the project divides its windows, or its limits; refused if it has another version by now.

        What a change leaves out stays as it is. A change that says nothing leaves the version as it is too.
        """
        project_id = self._require_project()
        label = label_change(message("setting"), "budget")
        with self._store.write(project=project_id, user=self._user, undo_label=label) as tx:
            before = edits.read_budget(tx)
            changed = before.profile if profile is None else profile.apply(before.profile)
            new_limits = None if limits is None else limits.apply(before.limits)
            is_same = changed == before.profile and new_limits in (None, before.limits)
            if is_same and expected_version in (None, before.version):
                return before
            edits.update_budget(tx, changed, expected=expected_version, limits=new_limits)
            return edits.read_budget(tx)

    def _require_project(self) -> str:
        self._store.require_open()
        if self._project_id is None:
            raise FabulaError(
                Code.PROJECT_NOT_FOUND, message("A budget belongs to a project: name one. Nothing was changed.")
            )
        return self._project_id

    def _write(self, name: str, scope: SettingScope) -> AbstractContextManager[WriteTransaction]:
        """Change the settings of the project, or those of the person alone."""
        if scope == "project" and self._project_id is None:
            raise _refuse_without_project(name)
        project_id = self._project_id if scope == "project" else None
        return self._store.write(project=project_id, user=self._user, undo_label=label_change(message("setting"), name))


def _refuse_without_project(name: str) -> FabulaError:
    """Return the refusal to set something for a project where none is named, with the scope that would do."""
    definition = find_setting(name)
    if "person" in definition.scopes:
        advice = advise(
            message("Name a project, or set it for yourself: fabula setting set --user {name} VALUE.", name=name),
            message('Name a project, or set it for the person, with `"scope": "person"`.'),
        )
    elif definition.scopes == MACHINE:
        advice = message("It belongs to this machine: set {variable} in the environment.", variable=definition.variable)
    else:
        advice = message("Name a project.")
    return FabulaError(
        Code.SETTING_INVALID,
        message(
            "{name} cannot be set for a project here, because none is named. {advice} Nothing was changed.",
            name=definition.name,
            advice=advice,
        ),
    )

"""Set settings, with the checks that need more than the registry.

A provider must exist on this machine, prices must be a price table, and a project's skill (`skill.NAME`) must be a
valid skill file. The registry and the store check everything else.
"""

from __future__ import annotations

from typing import Any

from fabula.llm.pricing import parse_prices
from fabula.llm.user_providers import load_providers
from fabula.settings import edits
from fabula.settings.registry import SettingScope, is_reserved, refuse
from fabula.skills.files import parse_skill
from fabula.skills.project_skills import SETTING_PREFIX
from fabula.store.transaction import WriteTransaction


def set_setting(
    tx: WriteTransaction, name: str, value: Any, *, scope: SettingScope = "project", expected: int | None = None
) -> int:
    """Set a setting of the transaction's project or person; return its new version."""
    if name.startswith(SETTING_PREFIX) and isinstance(value, str) and scope == "project":
        parse_skill(name.removeprefix(SETTING_PREFIX), value, origin="project")
    elif is_reserved(name):
        raise refuse(f"{name} is kept by the program itself.")
    match name.strip().lower():
        case "llm.provider":
            load_providers().find(str(value))
        case "llm.prices":
            parse_prices(value)
    return edits.set_value(tx, name, value, scope=scope, expected=expected)

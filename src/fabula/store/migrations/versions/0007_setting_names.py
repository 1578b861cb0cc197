"""Settings get the names of the specification; money, prices and providers move from projects to the person.

Of several projects' monthly budgets the smallest becomes the person's: a limit that falls makes jobs wait and says
so, one that rises unasked costs money. Prompts are kept on record if every project that said something said so. A
provider moves if all projects agree; otherwise it is left out, and the log says which project had which.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import sqlalchemy as sa
from alembic import op

from fabula.store.renamed_settings import MONTHLY_BUDGET, PERSON_ONLY, RENAMED

revision = "0007"
down_revision = "0006"

log = logging.getLogger("fabula.store")

_OWNER = "owner"  # the one person of a local store
_MAX_TRIES = 5  # more was never obeyed
_COLUMNS = ("name", "value", "changed", "version")
_PROJECT_ROWS = sa.table("settings", sa.column("project_id"), *map(sa.column, _COLUMNS))
_PERSON_ROWS = sa.table("user_settings", sa.column("user_id"), *map(sa.column, _COLUMNS))


def upgrade() -> None:
    """Rename, then move, then bring tries within their bounds."""
    for table, owner in ((_PROJECT_ROWS, "project_id"), (_PERSON_ROWS, "user_id")):
        for old, new in RENAMED.items():
            _rename(table, owner, old, new)
        _limit_tries(table, owner)
    for name in sorted(PERSON_ONLY):
        _move_to_person(name)


def _rename(table: Any, owner: str, old: str, new: str) -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(table.c[owner]).where(table.c.name == old)).scalars().all():
        # A row of the new name can only be one that nothing read.
        connection.execute(sa.delete(table).where(table.c[owner] == row, table.c.name == new))
        connection.execute(sa.update(table).where(table.c[owner] == row, table.c.name == old).values(name=new))


def _limit_tries(table: Any, owner: str) -> None:
    connection = op.get_bind()
    rows = connection.execute(sa.select(table.c[owner], table.c.value).where(table.c.name == "judge.tries")).all()
    for row_owner, value in rows:
        tries = _parse(value)
        if isinstance(tries, int) and not 0 <= tries <= _MAX_TRIES:
            where = (table.c[owner] == row_owner, table.c.name == "judge.tries")
            limited = str(min(max(tries, 0), _MAX_TRIES))
            connection.execute(sa.update(table).where(*where).values(value=limited))


def _move_to_person(name: str) -> None:
    connection = op.get_bind()
    rows = connection.execute(sa.select(_PROJECT_ROWS).where(_PROJECT_ROWS.c.name == name)).all()
    if not rows:
        return
    mine = (_PERSON_ROWS.c.user_id == _OWNER, _PERSON_ROWS.c.name == name)
    own = connection.execute(sa.select(_PERSON_ROWS.c.value).where(*mine)).scalar()
    by_project = {row.project_id: _parse(row.value) for row in rows}
    value = _choose(name, list(by_project.values()), None if own is None else _parse(own))
    if value is not None and value != own:
        changed = max(row.changed for row in rows)
        connection.execute(sa.delete(_PERSON_ROWS).where(*mine))
        connection.execute(
            sa.insert(_PERSON_ROWS).values(
                user_id=_OWNER, name=name, value=json.dumps(value), changed=changed, version=1
            )
        )
    if name == "llm.provider":
        _drop_other_models(by_project, value)
    connection.execute(sa.delete(_PROJECT_ROWS).where(_PROJECT_ROWS.c.name == name))


def _choose(name: str, values: list[Any], own: Any) -> Any:
    """The person's value, from what projects and the person said; None where there is none."""
    if name == MONTHLY_BUDGET:  # a project's value that was no sum of money allowed nothing
        amounts = [value if _is_amount(value) else 0 for value in values]
        return min([*amounts, own] if _is_amount(own) else amounts)
    if own is not None or name == "llm.prices":
        return own
    if name == "runs.keepPrompts":
        return all(value is True for value in values)
    return values[0] if all(value == values[0] for value in values) and isinstance(values[0], str) else None


def _drop_other_models(by_project: dict[str, Any], provider: Any) -> None:
    """A model goes with the provider it was set for: where a project had another one, its model is left out too."""
    connection = op.get_bind()
    for project, said in by_project.items():
        if said != provider:
            log.warning(
                "project %s had the provider %s; providers are a person's now: fabula setting set --user llm.provider",
                project,
                said,
            )
            where = (_PROJECT_ROWS.c.project_id == project, _PROJECT_ROWS.c.name == "llm.model")
            connection.execute(sa.delete(_PROJECT_ROWS).where(*where))


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e9


def _parse(value: str | None) -> Any:
    try:
        return json.loads(value or "null")
    except (ValueError, RecursionError):
        return None

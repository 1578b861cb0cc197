"""Settings that were renamed or left projects with tables 0007 and save format 3, for stores and saves of before.

This is history and does not change with the registry of settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MONTHLY_BUDGET = "History.Budget.MonthlyBudgetUSD"
RENAMED: Mapping[str, str] = {
    "history.recaps": "History.Recaps",
    "history.summaryEveryNRounds": "History.SummaryEveryNRounds",
    "history.recapUpdateEveryRounds": "History.RecapUpdateEveryRounds",
    "history.recapMaxEntries": "History.RecapDictMaxEntries",
    "history.recapMaxChars": "History.RecapMaxChars",
    "budget.maxLatencyMs": "History.Budget.MaxLatencyMs",
    "jobs.monthlyBudget": MONTHLY_BUDGET,
}
PERSON_ONLY = frozenset({MONTHLY_BUDGET, "llm.provider", "llm.prices", "runs.keepPrompts"})


def rename_settings(rows: Iterator[dict[str, Any]], *, of_project: bool) -> Iterator[dict[str, Any]]:
    """Rows of settings under their present names; a project's rows of what belongs to a person are left out."""
    names = set()
    for row in rows:
        name = row.get("name")
        if isinstance(name, str):
            name = RENAMED.get(name, name)
            if name in names or (of_project and name in PERSON_ONLY):
                continue
            names.add(name)
            row = {**row, "name": name}
        yield row

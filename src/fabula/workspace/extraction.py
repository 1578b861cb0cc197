"""What a person can do with proposed codex entries: look at them, accept them, dismiss them (cdx-7).

Proposals are made anew each time, from the text as it stands. An accepted one is an entry of the codex from then
on, and a dismissed one is in a setting; neither is proposed again.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.codex import Codex, Entry, edits
from fabula.core.errors import Code
from fabula.core.messages import message
from fabula.manuscript.model import Manuscript
from fabula.settings import edits as settings
from fabula.store.transaction import ReadTransaction
from fabula.text.extraction.model import Progress, ProposedEntry
from fabula.text.extraction.propose import propose_entries
from fabula.text.lookup import find_by_name
from fabula.workspace.verbs import ProjectVerbs

DISMISSED = "extract.dismissed"
MAX_PROPOSALS = 2000


class ProposalReview(Struct, frozen=True):
    """What became of proposals: the accepted ones, the dismissed names, and what is still open."""

    accepted: list[ProposedEntry]
    dismissed: list[str]
    proposals: list[ProposedEntry]


class ExtractionVerbs(ProjectVerbs):
    """Entries for the codex, found in the manuscript of an open project."""

    def propose(self, *, progress: Progress | None = None) -> list[ProposedEntry]:
        """Propose entries for names that neither the codex nor its series has under any name; best first."""
        view = self._view
        manuscript, codex = view.snapshot(Manuscript) or Manuscript(), view.snapshot(Codex)
        names = [name for entry in (codex.entries if codex is not None else ()) for name in entry.names]
        if self._project.store is not None:
            with self._read() as reading:
                names += _dismissed_names(reading)
        return propose_entries(
            [(document.id, document.text) for document in manuscript.documents],
            language=view.project.language,
            limit=MAX_PROPOSALS,
            known=names,
            progress=progress,
        )

    def review(
        self, *, accept: Sequence[str] = (), dismiss: Sequence[str] = (), progress: Progress | None = None
    ) -> ProposalReview:
        """Make entries of some proposals and never propose others again; each by its name or an alias.

        If one of the names is not proposed, nothing is changed.
        """
        proposals = self.propose(progress=progress)
        accepted, dismissed = _find_proposals(proposals, accept), _find_proposals(proposals, dismiss)
        if accept or dismiss:
            with self._write(message("proposed entries decided on")) as tx:
                for one in accepted:
                    edits.create(tx, Entry(id="", type=one.kind, name=one.name, aliases=one.aliases))
                before = _dismissed_names(tx)
                after = list(dict.fromkeys([*before, *(one.name for one in dismissed)]))
                if after != before:
                    settings.set_value(tx, DISMISSED, after)
        decided = {one.name for one in (*accepted, *dismissed)}
        return ProposalReview(
            accepted, [one.name for one in dismissed], [one for one in proposals if one.name not in decided]
        )


def _dismissed_names(reading: ReadTransaction) -> list[str]:
    setting = settings.read_stored(reading, DISMISSED)
    names = setting.value if setting is not None else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _find_proposals(proposals: Sequence[ProposedEntry], names: Sequence[str]) -> list[ProposedEntry]:
    """Return the proposals of these names or aliases, each once."""
    found = [
        find_by_name(
            proposals,
            name,
            what=message("proposed entry"),
            id_of=lambda one: one.name,
            names_of=lambda one: one.names,
            code=Code.CODEX_INVALID,
        )
        for name in names
    ]
    return list({one.name: one for one in found}.values())

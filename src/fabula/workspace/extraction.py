"""What a person can do with proposed codex entries: look at them, accept them, dismiss them (cdx-7).

Proposals are made anew each time, from the text as it stands. An accepted one is an entry of the codex from then
on, and a dismissed one is in a setting; neither is proposed again, unless the dismissed one is restored.

An accepted entry starts where its name is first mentioned. Its description says what that chapter tells of it, if it
tells anything. What a later chapter tells becomes a progression, so that no prompt knows it earlier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Progression, edits
from fabula.codex.name_index import NameIndex
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.core.similar_names import find_similar_names
from fabula.core.story import Position
from fabula.manuscript.model import Manuscript
from fabula.settings import edits as settings
from fabula.store.transaction import ReadTransaction
from fabula.text.extraction.model import Progress, ProposedEntry
from fabula.text.extraction.propose import propose_entries
from fabula.text.extraction.sentences import TellingSentence, find_telling_sentences, quote_sentence
from fabula.text.lookup import find_by_name, find_matches, fold_name
from fabula.text.names.disambiguation import resolve_mentions
from fabula.workspace.verbs import ProjectVerbs

DISMISSED = "extract.dismissed"
MAX_PROPOSALS = 2000
MAX_QUOTATIONS = 3  # in a description
MAX_LATER = 2  # progressions from later chapters
MIN_SCORE = 1.0  # of a sentence in a description
MIN_LATER_SCORE = 4.0  # of a sentence that is worth a progression
_QUOTED_IN = message("The book says ({chapter}): {quotations}")
_QUOTED = message("The book says: {quotations}")


class ProposalReview(Struct, frozen=True):
    """What became of proposals: the accepted, dismissed and restored ones, what is still open, and chapter titles."""

    accepted: list[ProposedEntry]
    dismissed: list[str]
    restored: list[str]
    proposals: list[ProposedEntry]
    chapters: Mapping[str, str]  # titles by document id


class ExtractionVerbs(ProjectVerbs):
    """Entries for the codex, found in the manuscript of an open project."""

    def propose(self, *, progress: Progress | None = None) -> list[ProposedEntry]:
        """Propose entries for names that neither the codex nor its series has under any name; best first."""
        return self._propose(self.list_dismissed(), progress)

    def list_dismissed(self) -> list[str]:
        """List the names that are never proposed again, in the order in which they were dismissed."""
        if self._project.store is None:
            return []
        with self._read() as reading:
            return _dismissed_names(reading)

    def review(
        self,
        *,
        accept: Sequence[str] = (),
        dismiss: Sequence[str] = (),
        restore: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> ProposalReview:
        """Make entries of some proposals, never propose others again, and propose dismissed ones again.

        Each is given by its name or an alias. If one of the names is not there, nothing is changed.
        """
        before = self.list_dismissed()
        restored = list(dict.fromkeys(_find_dismissed(before, name) for name in restore))
        remaining = [name for name in before if name not in restored]
        proposals = self._propose(remaining, progress)
        known = self._list_known_names()
        accepted, dismissed = _find_proposals(proposals, accept, known), _find_proposals(proposals, dismiss, known)
        dismissed_names = [one.name for one in dismissed]
        if accept or dismiss or restore:
            entries = [self._make_entry(one) for one in accepted]
            with self._write(message("proposed entries decided on")) as tx:
                for entry in entries:
                    edits.create(tx, entry)
                if (after := [*remaining, *dismissed_names]) != before:
                    settings.set_value(tx, DISMISSED, after)
        decided = {one.name for one in (*accepted, *dismissed)}
        return ProposalReview(
            accepted,
            dismissed_names,
            restored,
            [one for one in proposals if one.name not in decided],
            {document.id: document.title for document in self._manuscript.documents},
        )

    @property
    def _manuscript(self) -> Manuscript:
        return self._view.snapshot(Manuscript) or Manuscript()

    def _propose(self, dismissed: Sequence[str], progress: Progress | None) -> list[ProposedEntry]:
        proposals = propose_entries(
            [(document.id, document.text) for document in self._manuscript.documents],
            language=self._view.project.language,
            limit=MAX_PROPOSALS,
            known=[*self._list_known_names(), *dismissed],
            progress=progress,
        )
        return self._count_mentions(proposals)

    def _count_mentions(self, proposals: Sequence[ProposedEntry]) -> list[ProposedEntry]:
        """Count how often each is named as the timeline will, where all of them are accepted."""
        entries = {
            str(number): Entry(id=str(number), type=one.kind, name=one.name, aliases=one.aliases)
            for number, one in enumerate(proposals)
        }
        codex = self._view.snapshot(Codex)
        index = NameIndex(()) if codex is None else codex.name_index
        matcher = index.with_changes(entries.keys(), entries).matcher
        counts = Counter(
            mention.owners[0]
            for document in self._manuscript.documents
            for mention in resolve_mentions(matcher.find(document.text))
        )
        return [replace(one, mentions=counts[str(number)] or one.mentions) for number, one in enumerate(proposals)]

    def _list_known_names(self) -> list[str]:
        codex = self._view.snapshot(Codex)
        return [name for entry in (codex.entries if codex is not None else ()) for name in entry.names]

    def _make_entry(self, proposal: ProposedEntry) -> Entry:
        """Make an entry that says what the book's own sentences tell of it."""
        documents, language = self._manuscript.documents, self._view.project.language
        sentences = find_telling_sentences(
            [(document.id, document.text) for document in documents],
            proposal.names,
            is_person=proposal.kind == "character",
            language=language,
        )
        first = next((one.text for one in sentences), 0)
        is_same_chapter = not sentences or documents[first].id == proposal.document
        here = _select_best([one for one in sentences if one.text == first], MAX_QUOTATIONS, MIN_SCORE)
        later = _select_best([one for one in sentences if one.text > first], MAX_LATER, MIN_LATER_SCORE)

        def quote(quoted: Sequence[TellingSentence]) -> str:
            title = documents[quoted[0].text].title
            quotations = ("" if language == "zh" else " ").join(quote_sentence(one.quotation) for one in quoted)
            told = _QUOTED_IN if title else _QUOTED
            return Sentence(told.template, {"chapter": title, "quotations": quotations}).render(language)

        return Entry(
            id="",
            type=proposal.kind,
            name=proposal.name,
            aliases=proposal.aliases,
            description=quote(here) if here else "",
            # A chapter in which the letters of the name are only part of other words does not mention it.
            since=Position(proposal.document, proposal.offset)
            if is_same_chapter
            else Position(documents[first].id, sentences[0].start),
            progressions=tuple(Progression(quote([one]), Position(documents[one.text].id, one.end)) for one in later),
        )


def _select_best(sentences: Sequence[TellingSentence], count: int, minimum: float) -> list[TellingSentence]:
    """Return the most telling sentences in the order of the story; of equal ones the earlier.

    Where none reaches the minimum, there is none: what only names somebody tells the model nothing.
    """
    best = sorted(sentences, key=lambda one: -one.score)[:count]
    return [one for one in sentences if one in best and one.score >= minimum]


def _find_dismissed(names: Sequence[str], wanted: str) -> str:
    return find_by_name(
        names,
        wanted,
        what=message("dismissed name"),
        id_of=str,
        names_of=lambda name: (name,),
        code=Code.CODEX_INVALID,
    )


def _dismissed_names(reading: ReadTransaction) -> list[str]:
    setting = settings.read_stored(reading, DISMISSED)
    names = setting.value if setting is not None else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _find_proposals(
    proposals: Sequence[ProposedEntry], names: Sequence[str], known: Sequence[str]
) -> list[ProposedEntry]:
    """Return the proposals of these names or aliases, each once; `known` are the names of the codex."""
    found = []
    for name in names:
        if not find_matches(proposals, name, id_of=lambda one: one.name, names_of=lambda one: one.names):
            proposed = (own for one in proposals for own in one.names)
            similar = find_similar_names(name, [*known, *proposed], most=1, fold=fold_name)
            if similar and similar[0] in known:
                sentence = message(
                    "There is no proposed entry called {name!r}. {entry} is in the codex already. Nothing was changed.",
                    name=name,
                    entry=similar[0],
                )
                raise FabulaError(Code.CODEX_INVALID, sentence)
        found.append(
            find_by_name(
                proposals,
                name,
                what=message("proposed entry"),
                id_of=lambda one: one.name,
                names_of=lambda one: one.names,
                code=Code.CODEX_INVALID,
            )
        )
    return list({one.name: one for one in found}.values())

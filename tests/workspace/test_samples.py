"""The sample stories, walked chapter by chapter through many eyes: nobody is told what they cannot know.

What is allowed before a reveal, and why:

- the chapter's own text, before the cursor and up to 500 characters after it: the writer wrote it, and a
  continuation has to meet it (ctx-3);
- the chapter's own title, synopsis-free beats and selection: they are on the desk;
- whatever the one whose eyes we look through knows: Grace knows from chapter 2 on who put out the lamp, and
  白露 knows from chapter 2 on who the 守礁人 is; the author knows all, marked as not to be revealed.

Everything else (codex, constraints, synopses, passages, memory, notes, presets) must keep quiet.
The oracle here reads the sample files by itself and shares no code with the engine's gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from fabula.codex import Codex, Level
from fabula.constraints import Constraints
from fabula.context import Perspective, Position, Reason, Result, Verdict
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory
from fabula.search.corpus import Corpus
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, sample_names
from fabula.workspace.writing_options import choose_model, size_request
from tests.context.builders import check_result

WINDOW = 8192
Stop = tuple[str, str, int, str]  # sample, chapter, cursor, eyes ("reader" or a character's id)


@cache
def open_sample(sample: str) -> ProjectHandle:
    return open_read_only(f"sample:{sample}")


def manuscript(sample: str) -> Manuscript:
    found = open_sample(sample).view.snapshot(Manuscript)
    assert found is not None
    return found


def codex(sample: str) -> Codex:
    found = open_sample(sample).view.snapshot(Codex)
    assert found is not None
    return found


def people(sample: str) -> list[str]:
    """Everybody through whose eyes some chapter is told, and those who hold a secret."""
    seen = {document.pov for document in manuscript(sample).documents if document.pov}
    for entry in codex(sample).entries:
        seen |= entry.known_to or set()
        for step in entry.progressions:
            seen |= step.known_to or set()
    return sorted(seen)


def cursors(document: Document) -> list[int]:
    length = len(document.text)
    return sorted({0, length // 4, length // 2, 3 * length // 4, length})


def stops() -> Iterator[Stop]:
    for sample in sample_names():
        for document in manuscript(sample).documents:
            for cursor in cursors(document):
                for eyes in ("reader", *people(sample)):
                    yield sample, document.id, cursor, eyes


@cache
def seen(sample: str, chapter: str, cursor: int, eyes: str) -> Result:
    fabula = open_sample(sample)
    through = (
        {"perspective": Perspective.READER}
        if eyes == "reader"
        else {"perspective": Perspective.CHARACTER, "character": eyes}
    )
    return fabula.assemble(fabula.request(document_id=chapter, cursor=cursor, window=WINDOW, **through))


class Oracle:
    """When something holds and who knows it, read straight from the sample."""

    def __init__(self, sample: str) -> None:
        documents = manuscript(sample).documents
        self._read = {document.id: place for place, document in enumerate(documents, start=1)}
        self._happens = {d.id: float(self._read[d.id]) if d.story_time is None else d.story_time for d in documents}
        self.since: dict[str, list[Position]] = {}
        self.until: dict[str, Position] = {}
        self.known_to: dict[str, frozenset[str]] = {}
        told = {d.id: frozenset({d.pov, "reader"}) if d.pov else None for d in documents}
        for document in documents:
            end = Position(document.id, len(document.text))
            self._note(f"synopsis:{document.id}", end, told[document.id])
        for entry in codex(sample).entries:
            self._note(entry.source, entry.since, entry.known_to)
            for n, step in enumerate(entry.progressions, start=1):
                self._note(f"{entry.source}#{n}", step.since, step.known_to)
                self._note(f"{entry.source}#{n}", entry.since, entry.known_to)
            for relation in entry.relations:
                other = codex(sample).by_id[relation.to]
                for one in (entry, other):
                    self._note(f"{entry.source}#to:{other.id}", one.since, one.known_to)
        corpus = open_sample(sample).view.snapshot(Corpus)
        assert corpus is not None
        for thread in corpus.build_index().documents:
            for passage in thread.passages:
                if thread.id in told:
                    self._note(passage.source, Position(thread.id, passage.end), told[thread.id])
        memory = open_sample(sample).view.snapshot(Memory)
        assert memory is not None
        for fragment in memory.fragments:
            since = fragment.since
            self._note(fragment.source, since, None if since is None else told[since.document])
        constraints = open_sample(sample).view.snapshot(Constraints)
        assert constraints is not None
        for constraint in constraints.constraints:
            self._note(f"constraint:{constraint.id}", constraint.since, None)
            if constraint.until is not None:
                self.until[f"constraint:{constraint.id}"] = constraint.until

    def _note(self, source: str, since: Position | None, known_to: frozenset[str] | None) -> None:
        if since is not None:
            self.since.setdefault(source, []).append(since)
        if known_to is not None:
            self.known_to[source] = self.known_to.get(source, known_to) & known_to

    def behind(self, mark: Position, here: Position) -> bool:
        """Read already, and happened already."""
        if mark.document == here.document:
            return mark.offset <= here.offset
        read = self._read[mark.document] < self._read[here.document]
        return read and self._happens[mark.document] <= self._happens[here.document]

    def objection(self, verdict: Verdict, here: Position, eyes: str) -> str | None:
        """Why this must not be in the prompt; None when it may be."""
        source = verdict.source
        if any(not self.behind(mark, here) for mark in self.since.get(source, [])):
            return "it lies later"
        if source in self.until and self.behind(self.until[source], here):
            return "it no longer holds"
        if source in self.known_to and eyes not in self.known_to[source]:
            return f"{eyes} does not know it"
        return None


@cache
def oracle(sample: str) -> Oracle:
    return Oracle(sample)


@pytest.mark.parametrize("sample", sample_names())
def test_nothing_later_and_nothing_unknown_is_in_any_prompt(sample: str) -> None:
    walked = 0
    for _, chapter, cursor, eyes in (stop for stop in stops() if stop[0] == sample):
        result = seen(sample, chapter, cursor, eyes)
        for verdict in result.trace:
            if verdict.included:
                why = oracle(sample).objection(verdict, Position(chapter, cursor), eyes)
                assert why is None, f"{verdict.source} at {chapter}:{cursor} through {eyes}: {why}"
                walked += 1
    assert walked > 1000


@pytest.mark.parametrize("sample", sample_names())
def test_what_may_be_known_is_not_held_back_by_the_gate(sample: str) -> None:
    """The gate is exact: whatever it stopped, the oracle objects to as well."""
    held = {Reason.NOT_YET, Reason.NOT_KNOWN, Reason.NO_LONGER}
    stopped = 0
    for _, chapter, cursor, eyes in (stop for stop in stops() if stop[0] == sample):
        for verdict in seen(sample, chapter, cursor, eyes).trace:
            if verdict.reason in held:
                why = oracle(sample).objection(verdict, Position(chapter, cursor), eyes)
                assert why is not None, f"{verdict.source} at {chapter}:{cursor} through {eyes}: {verdict.reason}"
                stopped += 1
    assert stopped > 100


@pytest.mark.parametrize("sample", sample_names())
def test_every_prompt_of_a_sample_is_counted_and_within_its_window(sample: str) -> None:
    for _, chapter, cursor, eyes in (stop for stop in stops() if stop[0] == sample):
        result = seen(sample, chapter, cursor, eyes)
        check_result(result)
        assert result.warnings == ()


# The secrets, in their own words

SECRETS = {
    "lantern_coast": re.compile(
        r"put out by Mara|it was she who put out|done by my daughter|Mara herself, aged eight"
        r"|kelp fires for sunrise|took them for the morning|the lamp was put out, and why|wrote a lie in the log"
    ),
    "wugang": re.compile(
        r"林晚没有死|我没有死|守礁人就是|就是北礁的守礁人|灭灯的是(?:我|她|林晚)|亲手熄灭灯塔的也是她|让给(?:了)?(?:你|他|靠)"
        r"|林晚在灯房按三档停了灯"
    ),
}
REVEALED = {
    "lantern_coast": ("ch-06", "and took them for the morning"),
    "wugang": ("ch-06", "你叫了六年的守礁人就是我"),
}
KEEPER = {"lantern_coast": "grace", "wugang": "bailu"}  # knows from chapter 2 on


def revealed(sample: str) -> Position:
    """Where the story itself says it."""
    chapter, words = REVEALED[sample]
    text = manuscript(sample).by_id[chapter].text
    return Position(chapter, text.index(words) + len(words))


def around(sample: str) -> list[int]:
    """Cursors near the reveal: well before it, and right before it."""
    at = revealed(sample).offset
    return [0, at // 2, at - 600, at - 60]


def without_own_text(result: Result, document: Document, cursor: int) -> str:
    """The prompt without the chapter's own words around the cursor."""
    prompt = result.prompt
    for verdict in result.trace:
        if verdict.source == "editor:after":
            prompt = prompt.replace(verdict.text.strip(), "")
    for paragraph in document.text[:cursor].split("\n"):
        if len(paragraph) > 20:
            prompt = prompt.replace(paragraph.strip(), "")
    return prompt


def test_the_secrets_are_in_the_samples_where_the_story_tells_them() -> None:
    """So that looking for the words proves something."""
    for sample, pattern in SECRETS.items():
        chapter, _ = REVEALED[sample]
        assert pattern.search(manuscript(sample).by_id[chapter].text)
        steps = [step.text for entry in codex(sample).entries for step in entry.progressions]
        assert sum(bool(pattern.search(text)) for text in steps) >= 3
        assert pattern.search(manuscript(sample).by_id[chapter].synopsis)


@pytest.mark.parametrize("sample", sample_names())
def test_the_secret_is_in_no_prompt_before_it_is_revealed(sample: str) -> None:
    here = oracle(sample)
    looked = 0
    places = [(chapter, cursor, eyes) for name, chapter, cursor, eyes in stops() if name == sample]
    chapter, _ = REVEALED[sample]
    places += [(chapter, cursor, eyes) for cursor in around(sample) for eyes in ("reader", *people(sample))]
    for chapter, cursor, eyes in places:
        if eyes == KEEPER[sample] or here.behind(revealed(sample), Position(chapter, cursor)):
            continue
        document = manuscript(sample).by_id[chapter]
        prompt = without_own_text(seen(sample, chapter, cursor, eyes), document, cursor)
        found = SECRETS[sample].search(prompt)
        assert found is None, f"{chapter}:{cursor} through {eyes}: {found and found[0]}"
        looked += 1
    assert looked > 50


@pytest.mark.parametrize("sample", sample_names())
@pytest.mark.parametrize("skill", ["critique", "plan"])
def test_the_author_is_told_the_secret_and_that_it_must_not_be_revealed(sample: str, skill: str) -> None:
    fabula = open_sample(sample)
    entry = {"lantern_coast": "dark-hour", "wugang": "linwan"}[sample]
    request = fabula.request(document_id="ch-01", skill_id=skill, include=(f"codex:entity:{entry}",), window=32_000)
    result = fabula.assemble(request)
    mark = {"lantern_coast": "(not to be revealed yet) ", "wugang": "（尚不可揭示）"}[sample]
    revealing = [verdict for verdict in result.trace if verdict.included and SECRETS[sample].search(verdict.text)]
    assert {f"codex:entity:{entry}#{n}" for n in (2, 3)} <= {verdict.source for verdict in revealing}
    for verdict in revealing:
        assert verdict.reason is Reason.NOT_REVEALED
        for paragraph in verdict.text.strip().split("\n\n"):
            assert mark + paragraph in result.prompt


def test_whoever_keeps_the_secret_is_told_it() -> None:
    """Grace, in her own chapter, knows what she has read."""
    fabula = open_sample("lantern_coast")
    request = fabula.request(document_id="ch-04", include=("dark-hour",), window=WINDOW)
    result = fabula.assemble(request)
    assert result.vantage.character == "grace"
    assert "The lamp was put out by Mara, aged eight." in result.prompt


@pytest.mark.parametrize("sample", sample_names())
def test_a_flashback_is_not_told_what_happens_after_it(sample: str) -> None:
    """Chapter 5 of both stories lies years before the first one."""
    result = seen(sample, "ch-05", len(manuscript(sample).by_id["ch-05"].text), "reader")
    told = [verdict.source for verdict in result.trace if verdict.included]
    assert not [source for source in told if "#" in source and source.startswith(("codex:", "search:"))]
    assert not [source for source in told if source.startswith("synopsis:")]


@pytest.mark.parametrize("sample", sample_names())
def test_notes_and_never_entries_are_in_no_prompt_even_when_asked_for(sample: str) -> None:
    fabula = open_sample(sample)
    everything = tuple(entry.id for entry in codex(sample).entries)
    for eyes in (Perspective.AUTHOR, Perspective.READER):
        for recipe in ("novel", "chat"):
            request = fabula.request(
                include=everything, perspective=eyes, recipe=recipe, conversation_id="desk", model="gpt-4o"
            )
            prompt = fabula.assemble(request).prompt
            for entry in codex(sample).entries:
                if entry.notes:
                    assert entry.notes not in prompt
                if entry.level is Level.NEVER:
                    assert entry.description not in prompt
                elif eyes is Perspective.AUTHOR:
                    assert entry.description in prompt


@pytest.mark.parametrize("sample", sample_names())
def test_manual_entries_enter_only_by_hand(sample: str) -> None:
    manual = [entry for entry in codex(sample).entries if entry.level is Level.MANUAL]
    assert manual
    for _, chapter, cursor, eyes in (stop for stop in stops() if stop[0] == sample):
        prompt = seen(sample, chapter, cursor, eyes).prompt
        assert not [entry.id for entry in manual if entry.description in prompt]


# Paths that carry no terms of their own


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("lantern_coast", "Chapter 7 now breaks off with Hope facing Mara on the quay"),
        ("lantern_coast", "Will holds the lantern through the reading"),
        ("wugang", "林远已经到了北礁外面"),
    ],
)
def test_notes_of_this_sitting_about_chapter_seven_are_not_told_in_chapter_three(sample: str, words: str) -> None:
    """cdx-4: writing chapter 3 never sees what is revealed later, by any path."""
    assert words not in seen(sample, "ch-03", 0, "reader").prompt
    assert words in seen(sample, "ch-07", len(manuscript(sample).by_id["ch-07"].text), "reader").prompt


@pytest.mark.parametrize("chapter", ["ch-01", "ch-02", "ch-03"])
def test_episodes_about_a_later_chapter_are_not_told_in_an_earlier_one(chapter: str) -> None:
    prompt = seen("lantern_coast", chapter, 0, "reader").prompt
    assert "the stolen cheese" not in prompt  # chapter 5
    assert "the brig scene" not in prompt  # chapter 4


@pytest.mark.parametrize("chapter", ["ch-06", "ch-07"])
def test_what_only_grace_has_on_her_conscience_reaches_mara_by_no_path(chapter: str) -> None:
    """cdx-8: the codex says that Ardle Point is known to Grace alone, and chapter 4 is told through her eyes."""
    for cursor in cursors(manuscript("lantern_coast").by_id[chapter]):
        result = seen("lantern_coast", chapter, cursor, "mara")
        told = [verdict.source for verdict in result.trace if verdict.included and "Ardle" in verdict.text]
        assert told == []


def test_what_will_hides_is_not_told_to_grace_before_he_says_it() -> None:
    """cdx-8: chapter 2 is told through Will's eyes; in chapter 4 Grace cannot know what he thought there."""
    for cursor in cursors(manuscript("lantern_coast").by_id["ch-04"]):
        prompt = seen("lantern_coast", "ch-04", cursor, "grace").prompt
        assert "the late watch on the night of the wreck was his" not in prompt


def test_the_demo_reads_every_rule_of_the_samples() -> None:
    for sample in sample_names():
        fabula = open_sample(sample)
        for document in manuscript(sample).documents:
            request = size_request(fabula.request(document_id=document.id), choose_model(provider="demo"))
            assert fabula.assemble(request).warnings == (), (sample, document.id)

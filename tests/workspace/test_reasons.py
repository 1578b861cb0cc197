"""Everything that is in a prompt or left out has a reason that a person would give, in either language (ctx-9)."""

from __future__ import annotations

import re
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex import Codex
from fabula.codex.source import CodexSource
from fabula.context.gather import Source, find_character_name
from fabula.context.reasons import explain_gate
from fabula.context.recipes import RECIPES
from fabula.context.trace import Reason
from fabula.conversation.source import CONVERSATION_SOURCE
from fabula.core.fragment import Visibility
from fabula.core.story import Perspective, Position, Vantage
from fabula.manuscript.model import Manuscript
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, sample_names
from tests.test_leaks import QUESTIONS, session_of

_INTERNAL = re.compile(r"\b(codex|memory|search|synopsis|editor|history|lorebook|constraint|style|relevant|rollup):\S")
_STRAY = re.compile(r"[\u4e00-\u9fff] [\u4e00-\u9fff]|  |\( | \)|（ | ）|^\s|\s$")


@cache
def open_sample(name: str) -> ProjectHandle:
    return open_read_only(f"sample:{name}")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(sample_names()),
    st.sampled_from(sorted(RECIPES)),
    st.integers(0, 100),
    st.floats(0, 1),
    st.sampled_from([3_000, 6_000, 12_000, 64_000]),
    st.sampled_from([Perspective.AUTHOR, Perspective.READER]),
    st.booleans(),
)
def test_every_fragment_has_a_reason_in_words_in_both_languages(
    sample: str, recipe: str, chapter: int, at: float, window: int, perspective: Perspective, asks: bool
) -> None:
    project = open_sample(sample)
    documents = (project.view.snapshot(Manuscript) or Manuscript()).documents
    document = documents[chapter % len(documents)]
    request = project.request(
        document_id=document.id,
        cursor=int(at * len(document.text)),
        recipe=recipe,
        window=window,
        perspective=perspective,
        additional_input=QUESTIONS[sample] if asks else "",
    )
    for verdict in project.inspect(request, working_memory=session_of(sample)).trace:
        for language in ("en", "zh"):
            reason = verdict.message.render(language)
            assert reason.strip(), verdict.source
            assert not _INTERNAL.search(reason), reason
            assert not _STRAY.search(reason), reason
            if language == "zh" and sample == "wugang":
                assert re.search(r"[\u4e00-\u9fff]", reason), reason


@pytest.mark.parametrize(
    ("ident", "name"), [("character:hope", "Hope Tarn"), ("hope", "Hope Tarn"), ("character:moth", "moth")]
)
def test_a_reason_names_the_character_who_does_not_know_something(ident: str, name: str) -> None:
    project = open_sample("lantern_coast")
    vantage = Vantage(Perspective.CHARACTER, Position("ch-02"), ident)
    entry = next(one for one in project.view.snapshots[Codex].entries if one.id == "grace")
    limits = Visibility(entry.source, known_to=frozenset({"grace", "character:grace", "reader"}))
    sources: list[Source] = [CodexSource(), CONVERSATION_SOURCE]
    names = partial(find_character_name, sources, view=project.view)
    sentence = explain_gate([limits], Reason.NOT_KNOWN, vantage, project.view.timeline, names)
    assert sentence is not None
    assert sentence.render() == f"{name} does not know this; known to Grace Odell, the reader"
    nobody = Visibility(entry.source, known_to=frozenset())
    sentence = explain_gate([nobody], Reason.NOT_KNOWN, vantage, project.view.timeline, names)
    assert str(sentence) == "nobody in the story has been told this"
    assert sentence is not None
    assert sentence.render("zh") == "故事里还没有人得知这件事"

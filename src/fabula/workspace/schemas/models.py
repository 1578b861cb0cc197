"""Schemas of the model that writes, and of the sample stories."""

from __future__ import annotations

from typing import Literal

from fabula.context.request import Request
from fabula.core.messages import ENGLISH, show
from fabula.llm.providers.local import BUNDLED_MODEL
from fabula.workspace.read_only import SampleStory
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.writing_options import ModelChoice, size_request

ChosenModelKind = Literal["hosted", "local", "bundled", "demo", "none"]


class ChosenModelInfo(Schema):
    """Who writes, and why; of the kind `none` nobody does, and the prompt is handed over instead."""

    provider: str
    model: str
    kind: ChosenModelKind
    reason: str
    window: int | None  # and the encoding: what a request for this model says, where no table knows it
    encoding: str | None


class SampleInfo(Schema):
    """A sample story that comes with Fabula."""

    name: str
    title: str
    language: str
    chapters: int


def describe_choice(choice: ModelChoice, language: str = ENGLISH) -> ChosenModelInfo:
    """Describe who writes."""
    kinds: dict[str, ChosenModelKind] = {"clipboard": "none", "demo": "demo", "local": "local"}
    kind = kinds.get(choice.provider.api_style, "hosted")
    if kind == "local" and choice.model == BUNDLED_MODEL:
        kind = "bundled"
    reason = "" if choice.reason is None else str(show(choice.reason, language))
    sized = size_request(Request(project_id="", document_id=""), choice)
    return ChosenModelInfo(
        provider=choice.provider.name,
        model=choice.model,
        kind=kind,
        reason=reason,
        window=sized.window,
        encoding=sized.encoding,
    )


def describe_sample(sample: SampleStory) -> SampleInfo:
    """Describe a sample story."""
    return describe(SampleInfo, sample)

"""The assistant: a model that works for the house in the background, on behalf of a job.

It asks as a writer would: one prompt from the one engine, with the same stable prefix, on record with what it cost.
Nobody watches, so the answer is waited for; but the job's token is looked at all the while, and money is reported
as it is spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.view import Language
from fabula.jobs import guards
from fabula.jobs.cancellation import Stop
from fabula.llm.pricing import price_of
from fabula.llm.providers.factory import provider_at
from fabula.text.chunks import pieces
from fabula.text.tokens.models import find_model
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library
from fabula.workspace.writing import Broken, Finished, Writer
from fabula.workspace.writing_options import Chosen, Judging, for_background, sized

SHARE = 0.4  # of a window that a text to be told in short may fill
MOST = 24_000  # tokens of it, in any window
_LOOKS = 0.1  # seconds between looks at the token
_DEPTH = 4  # times a text is told in short again because it is still too long
_SAYS: dict[Language, tuple[str, str]] = {
    "en": ("In about {length} words.", " Name {names}."),
    "zh": ("约{length}字。", "写出{names}的名字。"),
}


def assistant_for(library: Library, project_id: str, stop: Stop) -> Assistant | None:
    """Whoever works for a project in the background; None where nobody may, or where the month's money is used up."""
    who = for_background(library.store, project_id)
    if who is None:
        return None
    with library.store.read(project=project_id) as reading:
        if guards.money(reading, reading.clock()).left <= 0:
            return None
    return Assistant(library, project_id, who, stop)


class Assistant:
    """One model, one project, one job."""

    def __init__(self, library: Library, project_id: str, who: Chosen, stop: Stop) -> None:
        terms = replace(who.terms, judging=Judging(policy="off"))
        self._who = replace(who, terms=terms)
        self._library = library
        self._house = Fabula.open(project_id, library=library)
        self._stop = stop
        asked = sized(self._house.request(), self._who)
        self._model = find_model(asked.model, window=asked.window, encoding_name=asked.encoding)
        self.trouble: FabulaError | None = None  # the latest refusal

    def answer(
        self,
        skill_id: str,
        text: str,
        *,
        document_id: str = "",
        conversation_id: str = "",
        seconds: float | None = None,
    ) -> str:
        """What the model says to a text that a skill is given; refusals are coded, and remembered."""
        request = self._house.request(
            skill_id=skill_id, additional_input=text, document_id=document_id, conversation_id=conversation_id
        )
        try:
            self._stop.check()
            self._may_spend()
            return asyncio.run(self._waited(sized(request, self._who), seconds))
        except FabulaError as error:
            self.trouble = error
            raise

    def told_in_short(
        self, text: str, *, language: Language, length: int, names: Sequence[str] = (), document_id: str = ""
    ) -> str:
        """A text in about so many words; one too long for the window in pieces, and the pieces together again."""
        room, tokenizer = min(int(self._model.window * SHARE), MOST), self._model.tokenizer()
        how, who = _SAYS[language]
        asked = how.format(length=length) + (who.format(names=", ".join(names)) if names else "")
        told = text
        for _ in range(_DEPTH):
            parts = pieces(told, tokenizer, room)
            said = [self.answer("digest", f"{asked}\n\n{part}", document_id=document_id).strip() for part in parts]
            told = "\n\n".join(said)
            if len(parts) == 1:
                break
        return told

    def _may_spend(self) -> None:
        """Refuse where the month's money is used up, or where nobody could tell."""
        place, model = self._who.place, self._who.model
        if place.needs_key and price_of(model, self._who.terms.prices) is None:
            raise FabulaError(
                Code.SETTING_INVALID,
                f"No price of {model} is known, so the month's money cannot be counted. Set it in llm.prices. "
                "Nothing was sent.",
            )
        with self._library.store.read(project=self._house.view.project.id) as reading:
            left = guards.money(reading, reading.clock()).left
        if left <= self._stop.spent:  # what this job has spent may be counted twice; with money, doubt means no
            raise FabulaError(Code.JOB_BUDGET, "The month's money for background work is used up. Nothing was sent.")

    async def _waited(self, request: Request, seconds: float | None) -> str:
        provider = provider_at(self._who.place)
        terms = self._who.terms
        if seconds is not None:
            terms = replace(terms, patience=replace(terms.patience, whole_seconds=seconds, tries=1))
        writer = Writer(self._house, provider, store=self._library.store, terms=terms, settled="used")
        try:
            task = asyncio.create_task(_end(writer, request))
            while not (await asyncio.wait({task}, timeout=_LOOKS))[0]:
                if self._stop.asked:
                    task.cancel()
                    await asyncio.wait({task})
                    self._stop.check()
            end = task.result()
        finally:
            await provider.aclose()
            self._stop.spend(writer.spent)
        if isinstance(end, Broken):
            raise end.error
        if end.why == "length":
            raise FabulaError(Code.LLM_ANSWER_INVALID, "The answer was cut off in the middle, so it is not kept.")
        return end.text


async def _end(writer: Writer, request: Request) -> Finished | Broken:
    """How an answer ended."""
    ends = [step async for step in writer.write(request) if isinstance(step, Finished | Broken)]
    return ends[-1]

"""The background model: a language model that works for a project on behalf of a job.

It gets a prompt from the same engine as a writer would, with the same stable prefix, and the run is recorded with its
cost. The answer is awaited as a whole; meanwhile the job's token is checked, and costs are reported as they arise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from fabula.context.recipes.builtin import SCENE
from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Vantage
from fabula.core.view import Language
from fabula.jobs import guards
from fabula.jobs.cancellation import CancellationToken
from fabula.llm.local_model import find_counted_model, load_tokenizer
from fabula.llm.pricing import find_price
from fabula.llm.providers import make_provider
from fabula.store.store import Store
from fabula.text.truncation import split_into_chunks
from fabula.workspace.read_only import open_view
from fabula.workspace.views import ProjectViews
from fabula.workspace.writing import Completed, Failed, Writer
from fabula.workspace.writing_options import JudgeOptions, ModelChoice, choose_background_model, size_request

WINDOW_SHARE = 0.4  # of the model's window, for a text to be summarised
MAX_TOKENS = 24_000  # of such a text, in any window
MAX_PLACED_TOKENS = 8_000  # of the window of a request at a vantage, answer included
SPENT = message("The month's budget for background work is used up. Nothing was sent.")
_CHECK_SECONDS = 0.1  # between checks of the token
_MAX_PASSES = 4  # over a text that is still too long


def find_background_model(views: ProjectViews, project_id: str, token: CancellationToken) -> BackgroundModel | None:
    """The background model of a project; None where none is set up, or the monthly budget is used up."""
    choice = choose_background_model(views.store, project_id)
    if choice is None:
        return None
    return BackgroundModel(views, project_id, choice, token) if _read_remaining(views.store, project_id) > 0 else None


def _read_remaining(store: Store, project_id: str) -> int:
    """Return what is left of the month's budget, in millionths."""
    budget = guards.read_monthly_budget(store)
    with store.read(project=project_id) as reading:
        return guards.read_spending(reading, reading.current_time(), budget).remaining


class BackgroundModel:
    """A model that works for one project and one job."""

    def __init__(self, views: ProjectViews, project_id: str, choice: ModelChoice, token: CancellationToken) -> None:
        options = replace(choice.options, judge=JudgeOptions(policy="off"))
        self._choice = replace(choice, options=options)
        self._store = views.store
        self._project = open_view(
            lambda conversation: views.view(project_id, conversation=conversation), store=views.store
        )
        self._token = token
        request = size_request(self._project.request(), self._choice)
        self._model = find_counted_model(request.model, window=request.window, encoding_name=request.encoding)
        self.last_error: FabulaError | None = None

    def run_skill(
        self,
        skill_id: str,
        text: str,
        *,
        document_id: str = "",
        conversation_id: str = "",
        timeout: float | None = None,
        vantage: Vantage | None = None,
    ) -> str:
        """Run a skill on a text; return the answer. An error is raised and kept as `last_error`.

        With a vantage the model is told what may be known there of its scene, in a short prompt.
        """
        request = self._project.request(
            skill_id=skill_id, additional_input=text, document_id=document_id, conversation_id=conversation_id
        )
        if vantage is not None:
            request = self._place(request, vantage)
        try:
            self._check_budget()
            self._token.confirm_lease()
            return asyncio.run(self._complete(size_request(request, self._choice), timeout))
        except FabulaError as error:
            self.last_error = error
            raise

    def _place(self, request: Request, vantage: Vantage) -> Request:
        """A request about the scene at a vantage, without what only one person is told."""
        cursor = None if vantage.position is None else vantage.position.offset
        return replace(
            request,
            cursor=cursor,
            perspective=vantage.perspective,
            character=vantage.character,
            recipe=SCENE.name,
            preset=SCENE.preset,
            window=min(self._model.window, MAX_PLACED_TOKENS),
        )

    def split_text(self, text: str) -> list[str]:
        """Split a text into chunks that the model can read, each with room for an answer."""
        budget = min(int(self._model.window * WINDOW_SHARE), MAX_TOKENS)
        return split_into_chunks(text, load_tokenizer(self._model), budget)

    def summarise(
        self, text: str, *, language: Language, length: int, names: Sequence[str] = (), document_id: str = ""
    ) -> str:
        """Summarise a text in about `length` words; one that is too long in chunks, and the summaries again."""
        instruction = message("In about {length} words.", length=length)
        if names:
            instruction = message("{length} Name {names}.", length=instruction, names=", ".join(names))
        wanted = instruction.render(language)
        for _ in range(_MAX_PASSES):
            chunks = self.split_text(text)
            summaries = [
                self.run_skill("digest", f"{wanted}\n\n{chunk}", document_id=document_id).strip() for chunk in chunks
            ]
            text = "\n\n".join(summaries)
            if len(chunks) == 1:
                break
        return text

    def _check_budget(self) -> None:
        """Refuse where the monthly budget is used up, or where the price of the model is unknown."""
        provider, model = self._choice.provider, self._choice.model
        if provider.needs_key and find_price(model, self._choice.options.prices) is None:
            raise FabulaError(
                Code.SETTING_INVALID,
                message(
                    "The price of {model} is not known, so Fabula cannot keep to the month's budget. "
                    "Set it in llm.prices. Nothing was sent.",
                    model=model,
                ),
            )
        remaining = _read_remaining(self._store, self._project.id)
        if remaining <= self._token.cost_micros:  # the cost of this job may be counted twice, which is on the safe side
            raise FabulaError(Code.JOB_BUDGET, SPENT)

    async def _complete(self, request: Request, timeout: float | None) -> str:
        """Send a request and wait for the whole answer; a cancelled token ends the wait."""
        provider = make_provider(self._choice.provider)
        options = self._choice.options
        if timeout is not None:
            options = replace(
                options, retry_policy=replace(options.retry_policy, total_seconds=timeout, max_attempts=1)
            )
        writer = Writer(self._project, provider, options=options, run_state="used")
        try:
            task = asyncio.create_task(_write(writer, request))
            while not (await asyncio.wait({task}, timeout=_CHECK_SECONDS))[0]:
                if self._token.is_cancelled:
                    task.cancel()
                    await asyncio.wait({task})
                    self._token.raise_if_cancelled()
            result = task.result()
        finally:
            await provider.aclose()
            self._token.add_cost(writer.spent_micros)
        if isinstance(result, Failed):
            raise result.error
        if result.finish_reason == "length":
            raise FabulaError(
                Code.LLM_ANSWER_INVALID, message("The answer was cut off in the middle, so it was not used.")
            )
        return result.text


async def _write(writer: Writer, request: Request) -> Completed | Failed:
    """Write an answer to its end; the last step."""
    results = [step async for step in writer.write(request) if isinstance(step, Completed | Failed)]
    return results[-1]

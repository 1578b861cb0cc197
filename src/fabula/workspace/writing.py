"""Write: stream a model's answers to a request, judge them, retry on violations, and record the run (con-4).

One prompt is assembled; one or several answers to it (variants) stream in parallel. The judge checks each complete
answer. If the project's settings ask for it, an answer that breaks a rule is written again, with the judge's complaint
in the prompt, a limited number of times. If a retry fails, the answer before it is the result.

Every variant is recorded as a run: a summary of its prompt, its cost, and the text and verdict of each attempt. If
the caller stops iterating, the requests are cancelled, and the text received so far is recorded. That a run has begun
is recorded before the model is called, and every few seconds its text so far, so that a process that is killed leaves
it: the run stays `begun`, and its text reaches a chapter or a conversation only if a person takes it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from fabula.context.render import PromptMessage
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, message
from fabula.core.view import Language, View
from fabula.llm.local_model import load_tokenizer
from fabula.llm.model import HANDED_OVER, FinishReason, ModelCall, Provider, StreamEnd, Usage
from fabula.llm.pricing import Cost, Price, compute_cost, find_price
from fabula.llm.providers.demo import DEMO_MODEL
from fabula.llm.retry import estimate_usage, stream_answer
from fabula.llm.runs import GenerationRun, RunOutcome, record_run, summarise_assembly
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory
from fabula.skills.extracted_entries import ENTRIES_SCHEMA as ENTRIES
from fabula.skills.insertion import make_insertion_point
from fabula.skills.judge import JudgeVerdict, find_active_constraints, format_complaint
from fabula.skills.model import AnswerAction, Skill, resolve_target
from fabula.skills.source import find_skill
from fabula.workspace.document_conversations import Instruction, make_instruction, record_answer
from fabula.workspace.judging import describe_error, judge_answer
from fabula.workspace.project import ProjectHandle
from fabula.workspace.writing_options import DEFAULT_OPTIONS, ModelChoice, WritingOptions, reserve_schema, size_request

log = logging.getLogger("fabula.writing")

MAX_VARIANTS = 8
MAX_ATTEMPTS = 5
ANSWER_SCHEMAS = {AnswerAction.ENTRIES: ENTRIES}  # of answers that are not prose
FREE = Price(input=0.0, output=0.0)
KEEP_SECONDS = 5.0  # between two records of a text that is being written
_MIN_REPLY_TOKENS = 64  # without space for these, an answer is not written again


class TextDelta(Struct, frozen=True):
    """The next piece of a variant's text, or of calls of a client's tools."""

    variant: int
    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()


class JudgeStart(Struct, frozen=True, gc=False):
    """The judge model begins to check a variant, which may take a while."""

    variant: int


class Retry(Struct, frozen=True):
    """A variant broke a rule and is written again; its text so far is not the answer."""

    variant: int
    verdict: JudgeVerdict


class VariantEnd(Struct, frozen=True, kw_only=True):
    """The end of a variant: its text, the cost of all attempts, and where the run is recorded.

    `record_error` says why the run could not be recorded; the text is then stored nowhere.
    """

    variant: int
    text: str
    cost: Cost = Cost()
    run_id: str = ""
    record_error: FabulaError | None = None
    unknown_macros: tuple[str, ...] = ()  # that the prompt holds as they are written


class Completed(VariantEnd, frozen=True, kw_only=True):
    """A variant is complete, with the judge's verdict and the usage of all attempts."""

    finish_reason: FinishReason
    verdict: JudgeVerdict
    usage: Usage


class Failed(VariantEnd, frozen=True, kw_only=True):
    """A variant failed; the text received before is recorded."""

    error: FabulaError


WritingEvent = TextDelta | JudgeStart | Retry | Completed | Failed


async def write_answers(
    project: ProjectHandle, request: Request, choice: ModelChoice, *, variants: int = 1
) -> AsyncGenerator[WritingEvent, None]:
    """Write answers with the chosen model and yield them as they come; the provider is closed at the end."""
    from fabula.llm.providers import make_provider

    provider = make_provider(choice.provider)
    writer = Writer(project, provider, options=choice.options)
    try:
        recent = await asyncio.to_thread(project.working_memory, current_timestamp())
        sized = size_request(request, choice)
        async with aclosing(writer.write(sized, variants=variants, working_memory=recent)) as events:
            async for event in events:
                yield event
    finally:
        await provider.aclose()


def _refuse_demo(skill: Skill, language: Language) -> FabulaError:
    return FabulaError(
        Code.LLM_REFUSED,
        message(
            "The demo writes prepared sentences and knows nothing of your story. For {skill!r}, choose a model. "
            "Nothing was changed.",
            skill=skill.title_in(language),
        ),
    )


class Writer:
    """Lets a model write for an open project. Of a project in a store, every run is recorded."""

    def __init__(
        self,
        project: ProjectHandle,
        provider: Provider,
        *,
        options: WritingOptions = DEFAULT_OPTIONS,
        run_state: RunOutcome = "open",
        adapt_call: Callable[[ModelCall], ModelCall] = lambda call: call,
    ) -> None:
        """`run_state` is recorded of a finished run: `open` until a person decides, or `used` by a background job.

        `adapt_call` may change the parameters of a call before it is made.
        """
        self.run_state = run_state
        self.adapt_call = adapt_call
        self.project = project
        self.provider = provider
        self.options = options
        self.spent_micros = 0  # the cost of all runs so far, in millionths
        self._cost_lock = threading.Lock()

    async def write(
        self, request: Request, *, variants: int = 1, working_memory: WorkingMemory = EMPTY_WORKING_MEMORY
    ) -> AsyncGenerator[WritingEvent, None]:
        """Write answers to a request and yield them as they come."""
        view = await asyncio.to_thread(self.project.view_with, request.conversation_id)
        skill = find_skill(view, request.skill_id)
        if self.provider.name == DEMO_MODEL and self.run_state == "open" and not skill.answer_action.is_prose:
            raise _refuse_demo(skill, view.project.language)
        request = resolve_target(request, skill)
        request = reserve_schema(request, ANSWER_SCHEMAS.get(skill.answer_action), view.project.language)
        result = await asyncio.to_thread(self.project.assemble, request, working_memory=working_memory)
        queue: asyncio.Queue[WritingEvent | None] = asyncio.Queue()
        instruction = make_instruction(request, skill, view.project.language) if self.run_state == "open" else None
        tasks = [
            asyncio.create_task(_Variant(self, queue, number, request, view, skill, result, instruction).stream())
            for number in range(variants)
        ]
        for task in tasks:
            task.add_done_callback(lambda _: queue.put_nowait(None))
        ended, answered = 0, False
        try:
            while ended < len(tasks):
                event = await queue.get()
                if event is None:
                    ended += 1
                else:
                    answered = answered or (isinstance(event, Completed) and event.record_error is None)
                    yield event
            await asyncio.gather(*tasks)
            if answered:
                await asyncio.to_thread(self._report_answer, result.assembly_id)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _report_answer(self, assembly_id: str) -> None:
        """Report an answer; one whose assembly is forgotten, because many others followed it, counts all the same."""
        try:
            self.project.report_answer(assembly_id)
        except FabulaError as error:
            if error.code is not Code.ASSEMBLY_UNKNOWN:
                raise

    def record_run(self, request: Request, run: GenerationRun, instruction: Instruction | None = None) -> str:
        """Record a run, if the project is in a store, and its answer under the instruction; return the run's id."""
        if run.outcome != "begun":  # whose cost is that of its end
            with self._cost_lock:
                self.spent_micros += run.cost.micros
        store = self.project.store
        if store is None:
            return ""
        with store.write(project=request.project_id, user=self.project.principal.user) as tx:
            run_id = record_run(tx, run)
            if instruction is not None and run.outcome != "begun":
                record_answer(tx, instruction, replace(run, id=run_id), run.answer)
            return run_id


class _Attempt(Struct, frozen=True):
    """One text of a variant, the judge's verdict on it, and why the model stopped."""

    text: str
    verdict: JudgeVerdict
    finish_reason: FinishReason


class _Variant:
    """Writes one variant: attempts, verdicts, and the record of the run."""

    def __init__(
        self,
        writer: Writer,
        queue: asyncio.Queue[WritingEvent | None],
        number: int,
        request: Request,
        view: View,
        skill: Skill,
        result: Result,
        instruction: Instruction | None,
    ) -> None:
        self._writer, self._queue, self._number, self._request = writer, queue, number, request
        self._view, self._skill, self._result, self._instruction = view, skill, result, instruction
        self._tokenizer = load_tokenizer(result.model)
        self._usage = Usage()
        self._text = ""
        self._attempts: list[_Attempt] = []
        self._outcome: RunOutcome = "stopped"
        self._end_reason = "stopped"  # a finish reason, or the code of an error
        self._record_lock = threading.Lock()
        self._run_id = ""  # of the record of the beginning, and of the whole run
        self._is_recorded = False
        self._recording = False

    async def stream(self) -> None:
        """Write the variant and put its events into the queue."""
        keeping: asyncio.Task[None] | None = None
        try:
            await asyncio.to_thread(self._record_beginning)
            keeping = asyncio.create_task(self._keep_text())
            end = await self._run()
            self._queue.put_nowait(await asyncio.to_thread(self._record_end, end))
        finally:
            if keeping is not None:
                keeping.cancel()
            if not self._recording:  # cancelled: the text received so far is recorded
                self._record()

    async def _keep_text(self) -> None:
        """Record the text so far again and again, as long as it grows, with the beginning of the run."""
        kept = ""
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            if self._text != kept and self._writer.provider.name != "clipboard":  # whose answer is the prompt
                kept = self._text
                await asyncio.to_thread(self._record_beginning)

    async def _run(self) -> Completed | Failed:
        try:
            last = await self._write_until_accepted()
            if not last.text.strip() and self._writer.run_state == "open":  # else a client has tool calls perhaps
                raise FabulaError(
                    Code.LLM_ANSWER_EMPTY,
                    message("The model was asked, and the answer was empty. Ask again, or use another model."),
                )
        except FabulaError as error:
            self._outcome, self._end_reason = "failed", error.code.value
            return Failed(
                variant=self._number,
                text=self._text,
                error=error,
                cost=self._cost(),
                unknown_macros=self._result.unknown_macros,
            )
        self._text, self._outcome, self._end_reason = last.text, self._writer.run_state, last.finish_reason
        return Completed(
            variant=self._number,
            text=last.text,
            finish_reason=last.finish_reason,
            verdict=last.verdict,
            usage=self._usage,
            cost=self._cost(),
            unknown_macros=self._result.unknown_macros,
        )

    async def _write_until_accepted(self) -> _Attempt:
        """Write the answer, and again while the judge finds violations and retries are left; return the last one."""
        judging, language = self._writer.options.judge, self._view.project.language
        retries_left = min(max(judging.tries, 0), MAX_ATTEMPTS) if judging.policy == "regenerate" else 0
        messages = tuple(self._result.messages)
        last = await self._write_once(messages)
        while retries_left and last.verdict.violations:
            retries_left -= 1
            rules = find_active_constraints(self._view, self._result.vantage.position)
            complaint = format_complaint(last.verdict.violations, rules, language)
            messages = (
                *self._result.messages,
                PromptMessage("assistant", last.text),
                PromptMessage("user", complaint),
            )
            if self._count_free_tokens(messages) < _MIN_REPLY_TOKENS:
                return self._add_problem(last, message("It was not written again: the window has no room for that."))
            self._queue.put_nowait(Retry(self._number, last.verdict))
            try:
                last = await self._write_once(messages)
            except FabulaError as error:
                why = describe_error(error, self._reader_language)
                self._attempts.append(_Attempt(self._text, JudgeVerdict(problem=why), "stop"))
                return self._add_problem(
                    last, message("It could not be written again ({why}). This is the answer before that.", why=why)
                )
        return last

    @property
    def _reader_language(self) -> str:
        return self._request.reader_language or self._view.project.language

    def _add_problem(self, attempt: _Attempt, problem: Sentence) -> _Attempt:
        """Add to an attempt's verdict why it was not written again."""
        problems = f"{attempt.verdict.problem} {problem.render(self._reader_language)}".lstrip()
        changed = _Attempt(attempt.text, replace(attempt.verdict, problem=problems), attempt.finish_reason)
        self._attempts[self._attempts.index(attempt)] = changed
        return changed

    async def _write_once(self, messages: tuple[PromptMessage, ...]) -> _Attempt:
        """Stream the model's answer to these messages into the queue, and judge it."""
        self._text = ""
        end: StreamEnd | None = None
        call = self._make_call(messages)
        stream = stream_answer(
            self._writer.provider, call, retry_policy=self._writer.options.retry_policy, tokenizer=self._tokenizer
        )
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, StreamEnd):
                        end = event
                    else:
                        self._text += event.text
                        self._queue.put_nowait(TextDelta(self._number, event.text, event.tool_calls))
        finally:
            if end is not None:
                self._add_usage(end.usage)
            elif self._text:  # a broken stream is charged too
                self._add_usage(estimate_usage(call, self._text, self._tokenizer))
        attempt = _Attempt(self._text, await self._judge(), end.finish_reason if end is not None else "stop")
        self._attempts.append(attempt)
        return attempt

    def _make_call(self, messages: tuple[PromptMessage, ...]) -> ModelCall:
        generation, request = self._skill.generation, self._request
        free_tokens = self._count_free_tokens(messages)  # servers refuse a prompt and an answer over the window
        max_tokens = max(min(request.reply_tokens or generation.max_tokens, free_tokens), 1)
        if self._writer.provider.name == "clipboard":  # its answer is the prompt itself
            max_tokens = self._result.model.window
        call = ModelCall(
            model=request.model,
            messages=messages,
            max_tokens=max_tokens,
            temperature=generation.temperature,
            top_p=generation.top_p,
            stop=generation.stop,
            schema=ANSWER_SCHEMAS.get(self._skill.answer_action),
            input_tokens=self._result.model.window - free_tokens,
            language=self._view.project.language,
        )
        return self._writer.adapt_call(call)

    def _count_free_tokens(self, messages: tuple[PromptMessage, ...]) -> int:
        """Count the tokens of the window that are left for an answer to the prompt and the messages after it."""
        model, added = self._result.model, messages[len(self._result.messages) :]
        added_tokens = sum(self._tokenizer.count(message.content) + model.tokens_per_message for message in added)
        return model.window - self._result.token_count - added_tokens

    async def _judge(self) -> JudgeVerdict:
        """Judge the current text, if it is prose and judging is not off."""
        options, provider = self._writer.options, self._writer.provider
        has_prose = self._skill.answer_action.is_prose and bool(self._text.strip())
        if options.judge.policy == "off" or not has_prose or provider.name == "clipboard":
            return JudgeVerdict()
        if options.judge.with_model:
            self._queue.put_nowait(JudgeStart(self._number))
        verdict, usage = await judge_answer(
            self._text,
            self._request,
            self._view,
            self._result.vantage.position,
            project=self._writer.project,
            provider=provider,
            options=options,
        )
        self._add_usage(usage)
        return verdict

    def _add_usage(self, usage: Usage) -> None:
        before = self._usage
        self._usage = Usage(
            input_tokens=before.input_tokens + usage.input_tokens,
            cached_tokens=before.cached_tokens + usage.cached_tokens,
            cache_write_tokens=before.cache_write_tokens + usage.cache_write_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
            reported_by_provider=before.reported_by_provider and usage.reported_by_provider,
        )

    def _cost(self) -> Cost:
        """Return the cost of all attempts, as far as the price is known; a model on this machine costs nothing."""
        is_free = self._writer.provider.name in ("local", "clipboard", "demo")
        price = FREE if is_free else find_price(self._request.model, self._writer.options.prices)
        return compute_cost(self._usage, price)

    def _record_end(self, end: Completed | Failed) -> Completed | Failed:
        """Record the run, and return the event with the run's id or with the error; the text is never lost."""
        self._recording = True
        recorded = self._record()
        if isinstance(recorded, FabulaError):
            return replace(end, record_error=recorded)
        return replace(end, run_id=recorded)

    def _record_beginning(self) -> None:
        """Record that the run has begun, with its text so far, for the case that the program is killed.

        Failing is no harm.
        """
        with self._record_lock, suppress(FabulaError):
            if not self._is_recorded:  # stopped before it began
                self._run_id = self._writer.record_run(self._request, replace(self._make_run(), outcome="begun"))

    def _record(self) -> str | FabulaError:
        """Record the run once; return its id, or the error that prevented it."""
        with self._record_lock:
            try:
                if not self._is_recorded:
                    self._run_id = self._writer.record_run(self._request, self._make_run(), self._instruction)
                    self._is_recorded = True
                return self._run_id
            except FabulaError as error:
                log.warning("a run of project %s is not on record: %s", self._request.project_id, error.code.value)
                return error

    def _make_run(self) -> GenerationRun:
        request, result = self._request, self._result
        handed_over = self._end_reason in HANDED_OVER  # then the text is the prompt, stored only with `keep_prompts`
        answer = "" if handed_over else self._text or (self._attempts[-1].text if self._attempts else "")
        place = make_insertion_point(request, self._skill, self._view, result.vantage.position)
        return GenerationRun(
            id=self._run_id,
            model=f"{self._writer.provider.name}/{request.model}",
            skill_id=request.skill_id,
            document_id=request.document_id,
            conversation_id=request.conversation_id
            or (self._instruction.conversation_id if self._instruction is not None else ""),
            usage=self._usage,
            cost=self._cost(),
            prefix_hash=result.stable_prefix_hash,
            assembly_summary={**summarise_assembly(result), "place": to_builtins(place), "ended": self._end_reason},
            prompt=result.prompt if self._writer.options.keep_prompts else None,
            answer=answer,
            outcome=self._outcome,
            verdicts=() if handed_over else tuple(_make_record(attempt, answer) for attempt in self._attempts),
        )


def _make_record(attempt: _Attempt, answer: str) -> Mapping[str, Any]:
    """Return an attempt as it is recorded: its verdict, and its text if that is not the answer."""
    verdict: dict[str, Any] = to_builtins(attempt.verdict)
    return verdict if attempt.text == answer else {**verdict, "text": attempt.text}

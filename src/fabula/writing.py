"""Writing: from a request to text on the page, with the judge beside it and everything on record.

One prompt is assembled; one or several answers to it stream side by side. Each is checked when it is whole,
written anew with the complaint stated where the project asks for that (a bounded number of times), and put
on record with what it saw and what it cost. Whoever stops listening stops the requests; what came is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from fabula.app import Fabula
from fabula.context.render import Message
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.core.errors import FabulaError
from fabula.core.story import Eyes
from fabula.core.view import View
from fabula.llm.asking import ask, counted
from fabula.llm.model import Call, Ended, Provider, Usage, Why
from fabula.llm.money import Cost, Price, cost_of, price_of
from fabula.llm.runs import Run, State, record, seen
from fabula.llm.whole import whole
from fabula.manuscript.model import Manuscript
from fabula.memory.sitting import NOT_BEGUN, Sitting
from fabula.skills.aim import aimed
from fabula.skills.entries import SCHEMA as ENTRIES
from fabula.skills.judge import SCHEMA, Verdict, by_program, complaint, in_order, read_verdict
from fabula.skills.model import Answer, Skill
from fabula.skills.source import skill_of
from fabula.store.store import OWNER, Store
from fabula.writing_terms import DEFAULTS, Judging, Terms

MOST_VARIANTS = 8
MOST_TRIES = 5
SHAPES = {Answer.ENTRIES: ENTRIES}  # what an answer must look like before it can be kept


class Piece(Struct, frozen=True, gc=False):
    """Some text of one variant."""

    variant: int
    text: str


class Again(Struct, frozen=True):
    """A variant broke something and is written anew; what it said so far is not the answer."""

    variant: int
    verdict: Verdict


class Finished(Struct, frozen=True, kw_only=True):
    """A variant is whole: its text, the judge's verdict, and what it used and cost in all tries."""

    variant: int
    text: str
    why: Why
    verdict: Verdict
    usage: Usage
    cost: Cost
    run_id: str = ""


class Broken(Struct, frozen=True, kw_only=True):
    """A variant failed; what came before is kept and on record."""

    variant: int
    text: str
    error: FabulaError
    cost: Cost = Cost()
    run_id: str = ""


Step = Piece | Again | Finished | Broken


class Writer:
    """Lets a model write for an open project. With a store, every run is on record."""

    def __init__(
        self,
        house: Fabula,
        provider: Provider,
        *,
        store: Store | None = None,
        user: str = OWNER,
        terms: Terms = DEFAULTS,
        settled: State = "open",
    ) -> None:
        """`settled` is how a finished run stands on record: open until somebody takes it, or used by the house."""
        self._settled = settled
        self._house = house
        self._provider = provider
        self._store = store
        self._user = user
        self._terms = terms

    async def write(
        self, request: Request, *, variants: int = 1, sitting: Sitting = NOT_BEGUN
    ) -> AsyncGenerator[Step, None]:
        """The answers to a request, as they come; `sitting` is what its writer did lately."""
        view = self._house.view_with(request.conversation_id)
        skill = skill_of(view, request.skill_id)
        request = aimed(request, skill)
        result = self._house.assemble(request, sitting=sitting)
        arriving: asyncio.Queue[Step | None] = asyncio.Queue()
        tasks = [
            asyncio.create_task(_Answer(self, number, request, view, skill, result).stream(arriving))
            for number in range(min(max(variants, 1), MOST_VARIANTS))
        ]
        for task in tasks:
            task.add_done_callback(lambda _: arriving.put_nowait(None))
        ended = 0
        try:
            while ended < len(tasks):
                step = await arriving.get()
                if step is None:
                    ended += 1
                else:
                    yield step
            await asyncio.gather(*tasks)
            self._house.commit(request, result)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def settled(self) -> State:
        """How a finished run stands on record."""
        return self._settled

    @property
    def terms(self) -> Terms:
        """How this writer works."""
        return self._terms

    @property
    def house(self) -> Fabula:
        """The open project."""
        return self._house

    @property
    def provider(self) -> Provider:
        """Whoever answers."""
        return self._provider

    def price(self, model: str) -> Price | None:
        """What a model costs; what runs on this machine costs nothing."""
        free = Price(input=0.0, output=0.0)
        return free if self._provider.name in ("local", "clipboard") else price_of(model, self._terms.prices)

    def note(self, request: Request, run: Run) -> str:
        """A run on record, where there is a store; its id."""
        if self._store is None:
            return ""
        with self._store.write(project=request.project_id, user=self._user) as tx:
            return record(tx, run)


class _Answer:
    """One variant: its tries, its judgement, its record."""

    def __init__(self, writer: Writer, number: int, request: Request, view: View, skill: Skill, result: Result) -> None:
        self._writer, self._number, self._request = writer, number, request
        self._view, self._skill, self._result = view, skill, result
        self._usage = Usage()
        self._text = ""
        self._verdicts: list[Verdict] = []
        self._noted = False

    async def stream(self, arriving: asyncio.Queue[Step | None]) -> None:
        """Everything that comes, into the queue."""
        try:
            await self._tries(arriving)
        except FabulaError as error:
            noted = await asyncio.to_thread(self._note, "failed", error.code.value)
            broken = Broken(variant=self._number, text=self._text, error=error, cost=self._cost(), run_id=noted)
            arriving.put_nowait(broken)
        finally:
            if not self._noted:  # stopped in the middle: what came is kept
                self._note("stopped", "stopped")

    async def _tries(self, arriving: asyncio.Queue[Step | None]) -> None:
        judging = self._writer.terms.judging
        again = judging.policy == "regenerate"
        tries = 1 + (min(max(judging.tries, 0), MOST_TRIES) if again else 0)
        messages = tuple(self._result.messages)
        for number in range(1, tries + 1):
            why = await self._once(messages, arriving)
            verdict = await self._judged(judging)
            self._verdicts.append(verdict)
            if not verdict.broken or number == tries or why == "handed_over":
                break
            arriving.put_nowait(Again(self._number, verdict))
            rules = in_order(self._view, self._result.vantage.position)
            said = complaint(verdict.broken, rules, self._view.project.language)
            messages = (*self._result.messages, Message("assistant", self._text), Message("user", said))
        noted = await asyncio.to_thread(self._note, self._writer.settled, why)
        arriving.put_nowait(
            Finished(
                variant=self._number,
                text=self._text,
                why=why,
                verdict=verdict,
                usage=self._usage,
                cost=self._cost(),
                run_id=noted,
            )
        )

    async def _once(self, messages: tuple[Message, ...], arriving: asyncio.Queue[Step | None]) -> Why:
        self._text = ""
        end: Ended | None = None
        call, tokenizer = self._call(messages), self._result.model.tokenizer()
        asked = ask(self._writer.provider, call, patience=self._writer.terms.patience, tokenizer=tokenizer)
        try:
            async with aclosing(asked) as events:
                async for event in events:
                    if isinstance(event, Ended):
                        end = event
                    else:
                        self._text += event.text
                        arriving.put_nowait(Piece(self._number, event.text))
        finally:
            if end is not None:
                self._used(end.usage)
            elif self._text:  # broken off: what was read and written costs all the same
                self._used(counted(call, self._text, tokenizer))
        return end.why if end is not None else "stop"

    def _call(self, messages: tuple[Message, ...]) -> Call:
        wishes, request = self._skill.wishes, self._request
        left = self._result.model.window - self._result.token_count  # no server takes a prompt with a longer answer
        return Call(
            model=request.model,
            messages=messages,
            max_tokens=max(min(request.reply_tokens or wishes.max_tokens, left), 1),
            temperature=wishes.temperature,
            top_p=wishes.top_p,
            stop=wishes.stop,
            schema=SHAPES.get(self._skill.answer),
            input_tokens=self._result.token_count,
        )

    async def _judged(self, judging: Judging) -> Verdict:
        """The verdict on the text as it stands: a program's, then the model's where it is wanted."""
        written = self._skill.answer.prose and bool(self._text.strip())
        if judging.policy == "off" or not written or self._writer.provider.name == "clipboard":
            return Verdict()
        here = self._result.vantage.position
        story = self._view.room(Manuscript)
        known = "\n".join(document.text for document in story.documents) if story is not None else ""
        found = await asyncio.to_thread(by_program, self._text, self._view, here, known)
        if not judging.with_model:
            return Verdict(findings=tuple(found))
        told = await self._asked_the_model()
        return Verdict(findings=(*found, *told.findings), asked=True, problem=told.problem)

    async def _asked_the_model(self) -> Verdict:
        request = replace(
            self._request, skill_id="judge", additional_input=self._text, eyes=Eyes.AUTHOR, conversation_id=""
        )
        rules = in_order(self._view, self._result.vantage.position)
        try:
            result = self._writer.house.assemble(request)
            skill = skill_of(self._view, "judge")
            call = Call(
                model=request.model,
                messages=tuple(result.messages),
                max_tokens=skill.wishes.max_tokens,
                temperature=skill.wishes.temperature,
                schema=SCHEMA,
                input_tokens=result.token_count,
            )
            said = await whole(self._writer.provider, call, patience=self._writer.terms.patience)
        except FabulaError as error:  # the judge being away is said, and does not stand in the text's way
            return Verdict(asked=True, problem=str(error))
        self._used(said.usage)
        return read_verdict(said.text, self._text, rules, self._view.project.language)

    def _used(self, usage: Usage) -> None:
        before = self._usage
        self._usage = Usage(
            input_tokens=before.input_tokens + usage.input_tokens,
            cached_tokens=before.cached_tokens + usage.cached_tokens,
            written_tokens=before.written_tokens + usage.written_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
            told=before.told and usage.told,
        )

    def _cost(self) -> Cost:
        return cost_of(self._usage, self._writer.price(self._request.model))

    def _note(self, outcome: State, why: str) -> str:
        self._noted = True
        request, result = self._request, self._result
        place = {
            "cursor": result.vantage.position.offset if result.vantage.position is not None else None,
            "selection": request.selection,
            "instruction": request.additional_input,
            "revision": self._revision(),
            "answer": self._skill.answer.value,
        }
        return self._writer.note(
            request,
            Run(
                model=f"{self._writer.provider.name}/{request.model}",
                skill_id=request.skill_id,
                document_id=request.document_id,
                conversation_id=request.conversation_id,
                usage=self._usage,
                cost=self._cost(),
                prefix_hash=result.stable_prefix_hash,
                saw={**seen(result), "place": place, "ended": why},
                prompt=result.prompt if self._writer.terms.keep_prompts else None,
                answer=self._text,
                outcome=outcome,
                verdicts=tuple(to_builtins(verdict) for verdict in self._verdicts),
            ),
        )

    def _revision(self) -> int | None:
        story = self._view.room(Manuscript)
        document = story.by_id.get(self._request.document_id) if story is not None else None
        return document.revision if document is not None else None

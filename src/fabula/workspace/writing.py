"""Writing: from a request to text on the page, with the judge beside it and everything on record.

One prompt is assembled; one or several answers to it stream side by side. Each is checked when it is whole,
written anew with the complaint stated where the project asks for that (a bounded number of times), and put
on record with what it saw, what it cost and every text that was left on the way. Whoever stops listening stops
the requests; what came is kept. Writing anew in vain takes nothing away: the answer before it stands.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from fabula.context.render import Message
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.core.errors import FabulaError
from fabula.core.view import Language, View
from fabula.llm.model import Call, Ended, Provider, Usage, Why
from fabula.llm.pricing import Cost, Price, cost_of, price_of
from fabula.llm.retry import ask, counted
from fabula.llm.runs import Run, State, record, seen
from fabula.memory.working_memory import NOT_BEGUN, Sitting
from fabula.skills.extracted_entries import SCHEMA as ENTRIES
from fabula.skills.insertion import place_for
from fabula.skills.judge import Verdict, active, complaint
from fabula.skills.model import Answer, Skill
from fabula.skills.source import skill_of
from fabula.skills.target import aimed
from fabula.store.store import OWNER, Store
from fabula.workspace.judging import judged
from fabula.workspace.project import Fabula
from fabula.workspace.writing_options import DEFAULTS, Terms

log = logging.getLogger("fabula.writing")

MOST_VARIANTS = 8
MOST_TRIES = 5
SHAPES = {Answer.ENTRIES: ENTRIES}  # what an answer must look like before it can be kept
_LEAST = 64  # tokens of room without which nothing is written anew
_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "in_vain": "It could not be written anew ({why}); this is the answer before.",
        "no_room": "It was not written anew: the window has no room for that.",
    },
    "zh": {"in_vain": "未能重写（{why}），这是之前的答案。", "no_room": "窗口没有余地，未重写。"},
}


class Piece(Struct, frozen=True, gc=False):
    """Some text of one variant."""

    variant: int
    text: str


class Again(Struct, frozen=True):
    """A variant broke something and is written anew; what it said so far is not the answer."""

    variant: int
    verdict: Verdict


class Finished(Struct, frozen=True, kw_only=True):
    """A variant is whole: its text, the judge's verdict, and what it used and cost in all tries.

    `unrecorded` says why it is not on record where it should be: then this text is all there is of it.
    """

    variant: int
    text: str
    why: Why
    verdict: Verdict
    usage: Usage
    cost: Cost
    run_id: str = ""
    unrecorded: FabulaError | None = None


class Broken(Struct, frozen=True, kw_only=True):
    """A variant failed; what came before is kept and on record."""

    variant: int
    text: str
    error: FabulaError
    cost: Cost = Cost()
    run_id: str = ""
    unrecorded: FabulaError | None = None


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
        self.spent = 0  # by every run so far, in millionths
        self._counting = threading.Lock()

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
        ended, answered = 0, False
        try:
            while ended < len(tasks):
                step = await arriving.get()
                if step is None:
                    ended += 1
                else:
                    answered = answered or (isinstance(step, Finished) and step.unrecorded is None)
                    yield step
            await asyncio.gather(*tasks)
            if answered:
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
        with self._counting:
            self.spent += run.cost.micros
        if self._store is None:
            return ""
        with self._store.write(project=request.project_id, user=self._user) as tx:
            return record(tx, run)


class _Try(Struct, frozen=True):
    """One text of a variant, what the judge says of it, and how it ended."""

    text: str
    verdict: Verdict
    why: Why


class _Answer:
    """One variant: its tries, its judgement, its record."""

    def __init__(self, writer: Writer, number: int, request: Request, view: View, skill: Skill, result: Result) -> None:
        self._writer, self._number, self._request = writer, number, request
        self._view, self._skill, self._result = view, skill, result
        self._tokenizer = result.model.tokenizer()
        self._usage = Usage()
        self._text = ""
        self._tries: list[_Try] = []
        self._outcome: State = "stopped"
        self._why = "stopped"
        self._noting = threading.Lock()
        self._run_id: str | None = None
        self._told = False

    async def stream(self, arriving: asyncio.Queue[Step | None]) -> None:
        """Everything that comes, into the queue."""
        try:
            end = await self._ended(arriving)
            arriving.put_nowait(await asyncio.to_thread(self._recorded, end))
        finally:
            if not self._told:  # stopped in the middle: what came is kept
                self._kept()

    async def _ended(self, arriving: asyncio.Queue[Step | None]) -> Finished | Broken:
        try:
            last = await self._written(arriving)
        except FabulaError as error:
            self._outcome, self._why = "failed", error.code.value
            return Broken(variant=self._number, text=self._text, error=error, cost=self._cost())
        self._text, self._outcome, self._why = last.text, self._writer.settled, last.why
        return Finished(
            variant=self._number,
            text=last.text,
            why=last.why,
            verdict=last.verdict,
            usage=self._usage,
            cost=self._cost(),
        )

    async def _written(self, arriving: asyncio.Queue[Step | None]) -> _Try:
        """The answer, written anew as often as the project wants; the last that is whole."""
        judging, says = self._writer.terms.judging, _SAYS[self._view.project.language]
        anew = min(max(judging.tries, 0), MOST_TRIES) if judging.policy == "regenerate" else 0
        messages = tuple(self._result.messages)
        last = await self._tried(messages, arriving)
        while anew and last.verdict.broken:
            anew -= 1
            rules = active(self._view, self._result.vantage.position)
            said = complaint(last.verdict.broken, rules, self._view.project.language)
            messages = (*self._result.messages, Message("assistant", last.text), Message("user", said))
            if self._room(messages) < _LEAST:
                return self._standing(last, says["no_room"])
            arriving.put_nowait(Again(self._number, last.verdict))
            try:
                last = await self._tried(messages, arriving)
            except FabulaError as error:
                why = says["in_vain"].format(why=error)
                self._tries.append(_Try(self._text, Verdict(problem=str(error)), "stop"))
                return self._standing(last, why)
        return last

    def _standing(self, last: _Try, why: str) -> _Try:
        """An answer that stands as it is, and why nothing came after it."""
        said = " ".join(part for part in (last.verdict.problem, why) if part)
        stands = _Try(last.text, replace(last.verdict, problem=said), last.why)
        self._tries[self._tries.index(last)] = stands
        return stands

    async def _tried(self, messages: tuple[Message, ...], arriving: asyncio.Queue[Step | None]) -> _Try:
        why = await self._once(messages, arriving)
        done = _Try(self._text, await self._judged(), why)
        self._tries.append(done)
        return done

    async def _once(self, messages: tuple[Message, ...], arriving: asyncio.Queue[Step | None]) -> Why:
        self._text = ""
        end: Ended | None = None
        call = self._call(messages)
        asked = ask(self._writer.provider, call, patience=self._writer.terms.patience, tokenizer=self._tokenizer)
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
                self._used(counted(call, self._text, self._tokenizer))
        return end.why if end is not None else "stop"

    def _call(self, messages: tuple[Message, ...]) -> Call:
        wishes, request = self._skill.wishes, self._request
        room = self._room(messages)  # no server takes a prompt with a longer answer
        longest = max(min(request.reply_tokens or wishes.max_tokens, room), 1)
        if self._writer.provider.name == "clipboard":  # which hands over the prompt itself
            longest = self._result.model.window
        return Call(
            model=request.model,
            messages=messages,
            max_tokens=longest,
            temperature=wishes.temperature,
            top_p=wishes.top_p,
            stop=wishes.stop,
            schema=SHAPES.get(self._skill.answer),
            input_tokens=self._result.model.window - room,
        )

    def _room(self, messages: tuple[Message, ...]) -> int:
        """What the window leaves for an answer to these messages: those of the prompt, and some behind them."""
        model, more = self._result.model, messages[len(self._result.messages) :]
        behind = sum(self._tokenizer.count(message.content) + model.per_message for message in more)
        return model.window - self._result.token_count - behind

    async def _judged(self) -> Verdict:
        """The verdict on the text as it stands, where there is a text of the story to judge."""
        terms, provider = self._writer.terms, self._writer.provider
        written = self._skill.answer.prose and bool(self._text.strip())
        if terms.judging.policy == "off" or not written or provider.name == "clipboard":
            return Verdict()
        verdict, usage = await judged(
            self._text,
            self._request,
            self._view,
            self._result.vantage.position,
            house=self._writer.house,
            provider=provider,
            terms=terms,
        )
        self._used(usage)
        return verdict

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

    def _recorded(self, end: Finished | Broken) -> Finished | Broken:
        """The end with its place on record, or with the reason why it has none: what was written is told anyway."""
        self._told = True
        noted = self._kept()
        return replace(end, unrecorded=noted) if isinstance(noted, FabulaError) else replace(end, run_id=noted)

    def _kept(self) -> str | FabulaError:
        """On record, once; its id, or what was in the way."""
        with self._noting:
            try:
                if self._run_id is None:
                    self._run_id = self._writer.note(self._request, self._run())
                return self._run_id
            except FabulaError as error:
                log.warning("a run of project %s is not on record: %s", self._request.project_id, error.code.value)
                return error

    def _run(self) -> Run:
        request, result = self._request, self._result
        handed_over = self._why == "handed_over"  # then the text is the prompt, which is kept only where that is wanted
        answer = "" if handed_over else self._text or (self._tries[-1].text if self._tries else "")
        place = place_for(request, self._skill, self._view, result.vantage.position)
        return Run(
            model=f"{self._writer.provider.name}/{request.model}",
            skill_id=request.skill_id,
            document_id=request.document_id,
            conversation_id=request.conversation_id,
            usage=self._usage,
            cost=self._cost(),
            prefix_hash=result.stable_prefix_hash,
            saw={**seen(result), "place": to_builtins(place), "ended": self._why},
            prompt=result.prompt if self._writer.terms.keep_prompts else None,
            answer=answer,
            outcome=self._outcome,
            verdicts=() if handed_over else tuple(_told(one, answer) for one in self._tries),
        )


def _told(one: _Try, answer: str) -> Mapping[str, Any]:
    """A try as it stands on record, with its text where that is not the answer."""
    said: dict[str, Any] = to_builtins(one.verdict)
    return said if one.text == answer else {**said, "text": one.text}

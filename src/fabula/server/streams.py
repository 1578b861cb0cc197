"""Streams of events: server-sent events with ids, kept in the store so that a reader can go on after a break.

The verb that makes the events runs in a task of its own. Whoever started it reads along; a reader who comes back with
`Last-Event-ID` gets what is missing, from this process or, by the store, from another one. A stream that nobody reads
for a few seconds is cancelled, and so is one that is asked to stop; what the verb had received by then it has stored.

Access is asked for again every few seconds, for the writer and for each reader: a stream ends with the refusal for
whoever may not go on with it. A stream whose process was killed cannot go on, because the model would have to be asked
again: whoever reads it in another process gets the events that were kept, and then a problem with the code
`SERVER_CUT_OFF`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import msgspec

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, message
from fabula.responses.streams import StreamEvent
from fabula.server.problems import Problem, describe_exception, describe_refusal
from fabula.workspace.workspace import Workspace

FLUSH_SECONDS = 0.2  # between two writes of events to the store
POLL_SECONDS = 0.25  # between two looks at the events of another process
LINGER_SECONDS = 5.0  # that a stream goes on without a reader
PING_SECONDS = 15.0  # without an event after which a reader gets a comment, so that no proxy ends the connection
PING = b": still here\n\n"
ALIVE_SECONDS = 2.0  # after which a writer that has no events says that it is there
READ_SECONDS = 2.0  # after which a reader of another process says again that it is there
CHECK_SECONDS = 5.0  # that the access of a writer or a reader is taken for granted
FINAL_STATUSES = (401, 403, 404)  # of refusals that whoever asks again would get too
LOST_SECONDS = 10.0  # without a word of it after which the writer of another process counts as gone

Event = TypeVar("Event")
Value = TypeVar("Value")
Check = Callable[[], None]  # which refuses once the caller may not go on
Encode = Callable[[Any], tuple[str, bytes]]  # an event of a verb as its kind and JSON


class LiveStream:
    """A stream that this process writes, with all its events so far."""

    def __init__(self, project_id: str, stream_id: str) -> None:
        self.project_id, self.id = project_id, stream_id
        self.events: list[StreamEvent] = []
        self.has_ended = False
        self.readers = 0
        self.written_at = 0.0  # when this process last wrote to the store
        self._news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def add(self, kind: str, data: bytes) -> None:
        """Add an event, and wake those who read."""
        self.events.append(StreamEvent(len(self.events) + 1, kind, data.decode()))
        self.wake()

    def end(self) -> None:
        """Say that nothing more follows."""
        self.has_ended = True
        self.wake()

    def wake(self) -> None:
        """Wake those who wait for news."""
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self, after: int) -> AsyncGenerator[bytes, None]:
        """Yield the events behind a number as they come, and a comment now and then while there are none."""
        self.readers += 1
        try:
            while True:
                news = self._news
                while after < len(self.events):
                    after += 1
                    yield encode_event(self.id, self.events[after - 1])
                if self.has_ended:
                    return
                try:
                    await asyncio.wait_for(news.wait(), PING_SECONDS)
                except TimeoutError:
                    yield PING
        finally:
            self.readers -= 1


class StreamHub:
    """The streams that this process writes, by id."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._live: dict[str, LiveStream] = {}
        self._is_closing = False
        self._unkept: set[asyncio.Future[Any]] = set()  # answers that no reader comes back to, until they end
        self._stopped = asyncio.Event()

    async def start(
        self,
        project_id: str,
        user: str,
        verb: str,
        events: AsyncGenerator[Any, None],
        encode: Encode,
        *,
        check: Check,
        language: str,
    ) -> LiveStream:
        """Begin a stream with the events of a verb, which goes on as long as `check` does not refuse."""
        log = self._workspace.responses
        stream_id = await self._workspace.call(log.begin_stream, project_id, user, verb)
        live = self._live[stream_id] = LiveStream(project_id, stream_id)
        live.add("stream", msgspec.json.encode({"stream": stream_id}))
        live.task = asyncio.create_task(self._write(live, events, encode, check, language))
        return live

    async def follow(
        self, project_id: str, stream_id: str, after: int, *, check: Check, language: str = ENGLISH
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream behind a number as long as `check` does not refuse; else that is the last."""
        live, clock = self._live.get(stream_id), asyncio.get_running_loop().time
        followed = live.follow(after) if live is not None else self._poll(project_id, stream_id, after, language)
        checked = clock()
        async with aclosing(followed) as events:
            async for event in events:
                if clock() - checked >= CHECK_SECONDS:
                    try:
                        await self._check(check)
                    except FabulaError as error:
                        yield encode_refused(describe_refusal(error, language))
                        return
                    checked = clock()
                yield event

    async def cancel(self, project_id: str, stream_id: str) -> None:
        """Stop a stream, of this process at once, of another one soon."""
        log = self._workspace.responses
        await self._workspace.call(log.cancel_stream, project_id, stream_id)
        live = self._live.get(stream_id)
        if live is not None and live.task is not None:
            live.task.cancel()
            with suppress(asyncio.CancelledError):
                await live.task

    def find_verb(self, project_id: str, user: str, stream_id: str) -> str:
        """Return the verb of somebody's stream; one that is not there and one of somebody else are refused alike."""
        try:
            record, _ = self._workspace.responses.read_stream(project_id, stream_id)
        except FabulaError as error:
            if error.code is not Code.STORE_NOT_FOUND:
                raise
            raise refuse_stream() from None
        if record.user != user:
            raise refuse_stream()
        return record.verb

    async def _check(self, check: Check) -> None:
        """Ask for access again; where the store does not answer, that is asked again later."""
        try:
            await self._workspace.call(check)
        except FabulaError as error:
            if describe_refusal(error, ENGLISH).status in FINAL_STATUSES:
                raise

    async def close(self, seconds: float = 0.0) -> None:
        """Stop every stream that does not end by itself within some seconds; each says so to its readers."""
        self._is_closing = True
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if seconds and (running := [*tasks, *self._unkept]):
            await asyncio.wait(running, timeout=seconds)
        self._stopped.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def follow_unkept(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Yield the events of a stream that is not kept; where the server stops before its end, that is refused."""
        stopped, ended = asyncio.ensure_future(self._stopped.wait()), asyncio.get_running_loop().create_future()
        self._unkept.add(ended)
        pending: asyncio.Future[Event] | None = None
        try:
            while True:
                pending = asyncio.ensure_future(anext(events))
                await asyncio.wait({pending, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not pending.done():
                    raise _refuse_stopping()
                yield pending.result()
        except StopAsyncIteration:
            return
        finally:
            stopped.cancel()
            await _end(pending, events)
            self._unkept.discard(ended)
            ended.set_result(None)

    async def await_for_client(
        self, receive: Callable[[], Awaitable[Any]] | None, work: Coroutine[Any, Any, Value]
    ) -> Value:
        """Await what a client waits for without a stream; where the client has gone, the work is cancelled.

        Without `receive` the work goes on then. Where the server stops before the end, that is refused.
        """
        task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self._stopped.wait())
        watches: list[asyncio.Future[Any]] = [stopped]
        if receive is not None:
            watches.append(asyncio.ensure_future(_wait_for_disconnect(receive)))
        self._unkept.add(task)
        try:
            await asyncio.wait({task, *watches}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if stopped.done():
                raise _refuse_stopping()
            raise FabulaError(Code.REQUEST_INVALID, message("The client did not wait for the answer."))
        finally:
            for one in (task, *watches):
                one.cancel()
            await asyncio.gather(task, *watches, return_exceptions=True)
            self._unkept.discard(task)

    async def _write(
        self, live: LiveStream, events: AsyncGenerator[Any, None], encode: Encode, check: Check, language: str
    ) -> None:
        """Take events from a verb until it ends, fails, is stopped, has no readers or may not go on."""
        loop = asyncio.get_running_loop()
        stored, last_flush, unread_since = 0, loop.time(), loop.time()
        live.written_at = checked = loop.time()
        pending: asyncio.Future[Any] | None = None
        read_at = ""
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(events))
                done, _ = await asyncio.wait({pending}, timeout=FLUSH_SECONDS)
                if done:
                    event, pending = pending.result(), None
                    live.add(*await self._workspace.call(encode, event))
                now = loop.time()
                if now - checked >= CHECK_SECONDS:
                    await self._check(check)
                    checked = now
                if now - last_flush >= FLUSH_SECONDS:
                    may_go_on, stored, last_flush = await self._flush(live, stored), len(live.events), loop.time()
                    if not may_go_on:
                        live.add("stopped", b"{}")
                        return
                unread_since = now if live.readers else unread_since
                if now - unread_since > LINGER_SECONDS:
                    log = self._workspace.responses
                    record, _ = await self._workspace.call(log.read_stream, live.project_id, live.id, len(live.events))
                    if record.read_at == read_at:
                        live.add("stopped", b"{}")
                        return
                    read_at, unread_since = record.read_at, now  # somebody reads it in another process
        except StopAsyncIteration:
            live.add("done", b"{}")
        except asyncio.CancelledError:
            live.add("stopped", b'{"reason":"shutdown"}' if self._is_closing else b"{}")
        except Exception as error:
            live.add("problem", msgspec.json.encode(describe_exception(error, language)))
        finally:
            await _end(pending, events)
            live.end()
            with suppress(FabulaError):  # the store may be closed already; readers of this process have all
                await self._flush(live, stored, ended=True)
            self._live.pop(live.id, None)

    async def _flush(self, live: LiveStream, stored: int, *, ended: bool = False) -> bool:
        new = live.events[stored:]
        log, now = self._workspace.responses, asyncio.get_running_loop().time()
        if not new and not ended and now - live.written_at < ALIVE_SECONDS:
            record, _ = await self._workspace.call(log.read_stream, live.project_id, live.id, len(live.events))
            return record.state == "running"
        live.written_at = now
        return await self._workspace.call(log.append, live.project_id, live.id, new, ended=ended)

    async def _poll(self, project_id: str, stream_id: str, after: int, language: str) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream that another process writes; the last one may be a refusal without a number.

        While the store is away, the reader waits for it, and so is the writer given time. When that takes too long, or
        this server stops, nothing more follows: a reader who comes back goes on with the stream, or is told why not.
        """
        loop = asyncio.get_running_loop()
        heard, heard_at, noted_at, sent_at, answered_at = "", loop.time(), -READ_SECONDS, loop.time(), loop.time()
        while not self._stopped.is_set():
            events: list[StreamEvent] = []
            has_ended = False
            try:
                log = self._workspace.responses
                record, events = await self._workspace.call(log.read_stream, project_id, stream_id, after)
                answered_at, has_ended = loop.time(), record.state == "ended"
                if record.state == "running" and loop.time() - noted_at >= READ_SECONDS:
                    await self._workspace.call(log.note_reader, project_id, stream_id)
                    noted_at = loop.time()
                if record.changed_at != heard:
                    heard, heard_at = record.changed_at, loop.time()
                elif not has_ended and loop.time() - heard_at > LOST_SECONDS:
                    problem = msgspec.json.encode(describe_refusal(_refuse_cut_off(), language)).decode()
                    await self._workspace.call(
                        log.close_stream, project_id, stream_id, problem, unchanged_since=heard, after=after
                    )
            except FabulaError as error:
                refusal = describe_refusal(error, language)
                if refusal.status in FINAL_STATUSES:
                    yield encode_refused(refusal)
                    return
                heard_at = loop.time()  # whoever writes is not heard either
                if heard_at - answered_at > LOST_SECONDS:
                    return
            for event in events:
                after, sent_at = event.number, loop.time()
                yield encode_event(stream_id, event)
            if has_ended:
                return
            if loop.time() - sent_at >= PING_SECONDS:
                sent_at = loop.time()
                yield PING
            await asyncio.sleep(POLL_SECONDS)


async def _wait_for_disconnect(receive: Callable[[], Awaitable[Any]]) -> None:
    """Wait until the client of a request whose body was read has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(pending: asyncio.Future[Any] | None, events: AsyncGenerator[Any, None]) -> None:
    """End what makes events, which may be making one."""
    if pending is not None:  # also one that has failed, whose error asyncio would log, with a text perhaps
        pending.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await pending
    await events.aclose()


def _refuse_stopping() -> FabulaError:
    return FabulaError(
        Code.SERVER_STOPPING,
        message("The server was told to stop before the answer was complete. Ask again in a moment."),
    )


def _refuse_cut_off() -> FabulaError:
    return FabulaError(
        Code.SERVER_CUT_OFF,
        message(
            "The process of the server that wrote this answer has ended before it was complete. What it had written so "
            "far stands above. Ask again, or keep that as the answer."
        ),
    )


def encode_event(stream_id: str, event: StreamEvent) -> bytes:
    """Encode an event as it is sent."""
    return f"id: {stream_id}.{event.number}\nevent: {event.kind}\ndata: {event.data}\n\n".encode()


def encode_refused(refusal: Problem) -> bytes:
    """Encode a refusal as the last event for somebody who may not go on; it is no event of the stream."""
    return b"event: problem\ndata: %s\n\n" % msgspec.json.encode(refusal)


def read_last_event(header: str, stream_id: str) -> int:
    """Return the number in a `Last-Event-ID`; 0 where it is empty or of another stream."""
    stream, _, number = header.rpartition(".")
    return int(number) if stream == stream_id and number.isdecimal() and len(number) < 10 else 0


def refuse_stream() -> FabulaError:
    """Return the refusal of a stream that is not there, or not the caller's."""
    return FabulaError(Code.STORE_NOT_FOUND, message("There is no such stream, or not any more."))

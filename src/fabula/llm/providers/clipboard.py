"""Provider without a model: answers with the prompt, and copies it to the clipboard if there is one (ppl-3)."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

from fabula.core.messages import message
from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk, Usage

# Programs that copy their standard input, and the environment variable without which there is no such clipboard.
_COPY_COMMANDS = (
    (("pbcopy",), ""),
    (("wl-copy",), "WAYLAND_DISPLAY"),
    (("xclip", "-selection", "clipboard"), "DISPLAY"),
    (("xsel", "--clipboard", "--input"), "DISPLAY"),
    (("termux-clipboard-set",), ""),
    (("clip.exe",), ""),
)
_COPY_SECONDS = 5.0


class ClipboardProvider:
    """Answers every call with its prompt."""

    name = "clipboard"

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """The prompt as one chunk, then the end. Nothing was sent, so the usage is zero."""
        prompt = join_messages(call)
        yield TextChunk(prompt)
        is_copied = await asyncio.to_thread(copy_text, prompt)
        yield StreamEnd(finish_reason="copied" if is_copied else "handed_over", usage=Usage())

    async def aclose(self) -> None:
        """Nothing to close."""


def copy_text(text: str) -> bool:
    """Copy a text to the clipboard of this machine; return whether there is one that took it."""
    for command, variable in _COPY_COMMANDS:
        program = shutil.which(command[0])
        if program is None or (variable and not os.environ.get(variable)):
            continue
        data = text.encode("utf-16" if command[0] == "clip.exe" else "utf-8", errors="replace")
        try:
            done = subprocess.run(
                [program, *command[1:]],
                input=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_COPY_SECONDS,
                check=False,
                env={**os.environ, "LC_CTYPE": "UTF-8"},  # pbcopy reads its input in the encoding of the locale
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return True
    return False


def join_messages(call: ModelCall) -> str:
    """The messages as one text, with the roles where the prompt is of a chat or contains assistant messages.

    A prompt of a chat begins with whom it is for, and a role has the name of who speaks in it, if one person does.
    """
    shows_roles = bool(call.speaker_name) or any(one.role == "assistant" for one in call.messages)
    texts = [f"{_mark_role(call, one.role)}\n{one.content}" if shows_roles else one.content for one in call.messages]
    if call.speaker_name:
        head = message("[A prompt for {name}. Each part of it stands below its role.]", name=call.speaker_name)
        texts.insert(0, head.render(call.language))
    names = [_read_name(reference) for one in call.messages for reference in one.attachments]
    return "\n\n".join([*texts, *(f"[{name}]" for name in names)])


def _mark_role(call: ModelCall, role: str) -> str:
    name = call.role_names.get(role)
    return f"[{role}: {name}]" if name else f"[{role}]"


def _read_name(reference: str) -> str:
    """The name of an attachment, which the user must attach by hand."""
    return "attachment" if reference.startswith("data:") else Path(reference).name

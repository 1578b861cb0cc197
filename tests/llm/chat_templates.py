"""What a server reads of a request: the published chat templates, counted with a vocabulary.

A template turns messages into pieces: text, which the vocabulary splits, and control tokens, which are one token each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabula.text.tokens.tokenizer import load_encoding

CONTROL = object()  # one control token
Turn = tuple[str, str]  # role and text
Piece = object  # text or CONTROL
Template = Callable[[Sequence[Turn]], list[Piece]]
_MISTRAL_DEFAULT = (
    "You are Mistral Small 3, a Large Language Model (LLM) created by Mistral AI, a French startup headquartered in "
    "Paris.\nYour knowledge base was last updated on 2023-10-01. The current date is 2025-01-30. When you're not sure "
    "about some information, you say that you don't have the information and don't make up anything.\nIf the user's "
    "question is not clear, ambiguous, or does not provide enough context for you to accurately answer the question, "
    "you do not try to answer it right away and you rather ask the user to clarify their request."
)


def count_tokens(turns: Sequence[Turn], template: Template, vocabulary: str) -> int:
    """What a server with this template and vocabulary reads."""
    count = load_encoding(vocabulary).count
    return sum(count(piece) if isinstance(piece, str) else 1 for piece in template(turns) if piece != "")


def read_turns(request: dict[str, Any]) -> list[Turn]:
    """The turns of a request of either API; attachments that are text belong to their turn."""
    system = request.get("system", [])
    turns = [("system", "\n\n".join(part["text"] for part in system))] if system else []
    for message in request["messages"]:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [_read_part(part) for part in content]
        turns.append((message["role"], "".join(parts)))
    return turns


def _read_part(part: dict[str, Any]) -> str:
    text = part["text"] if part["type"] == "text" else part["source"]["data"]
    assert isinstance(text, str)
    return text


def _with_default(turns: Sequence[Turn], default: str) -> list[Turn]:
    has_system = any(role == "system" for role, _ in turns)
    return [*turns] if has_system else [("system", default), *turns]


def openai(turns: Sequence[Turn]) -> list[Piece]:
    """GPT-3.5 to GPT-5, as OpenAI's cookbook counts them."""
    pieces: list[Piece] = []
    for role, text in turns:
        pieces += [CONTROL, CONTROL, CONTROL, role, text]
    return [*pieces, CONTROL, CONTROL, CONTROL]


def harmony(turns: Sequence[Turn]) -> list[Piece]:
    """GPT-OSS."""
    own = (
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
        "Current date: 2025-08-05\n\nReasoning: medium\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for every message."
    )
    pieces: list[Piece] = [CONTROL, "system", CONTROL, own, CONTROL]
    for role, text in turns:
        if role == "system":
            pieces += [CONTROL, "developer", CONTROL, f"# Instructions\n\n{text}\n\n", CONTROL]
        elif role == "assistant":
            pieces += [CONTROL, "assistant", CONTROL, "final", CONTROL, text, CONTROL]
        else:
            pieces += [CONTROL, role, CONTROL, text, CONTROL]
    return [*pieces, CONTROL, "assistant"]


def chatml(default: str = "", *, reply: Sequence[Piece] = ()) -> Template:
    """Qwen and others; `default` is the system message of a prompt without one, `reply` what the answer begins with."""

    def template(turns: Sequence[Turn]) -> list[Piece]:
        pieces: list[Piece] = []
        for role, text in _with_default(turns, default) if default else turns:
            pieces += [CONTROL, f"{role}\n{text}", CONTROL, "\n"]
        return [*pieces, CONTROL, "assistant\n", *reply]

    return template


def llama3(turns: Sequence[Turn]) -> list[Piece]:
    """Llama 3."""
    pieces: list[Piece] = [CONTROL]
    for role, text in turns:
        pieces += [CONTROL, role, CONTROL, f"\n\n{text.strip()}", CONTROL]
    return [*pieces, CONTROL, "assistant", CONTROL, "\n\n"]


def llama31(turns: Sequence[Turn]) -> list[Piece]:
    """Llama 3.1 to 3.3, which put dates before the first system message."""
    dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
    first = turns[0][1] if turns and turns[0][0] == "system" else ""
    return llama3([("system", f"{dates}{first}|"), *(turns[1:] if first else turns)])


def llama2(turns: Sequence[Turn]) -> list[Piece]:
    """Llama 2."""
    pieces: list[Piece] = []
    system = ""
    for role, text in turns:
        if role == "system":
            system += f"<<SYS>>\n{text}\n<</SYS>>\n\n"
        elif role == "user":
            pieces += [CONTROL, f"[INST] {system}{text} [/INST]"]
            system = ""
        else:
            pieces += [f" {text} ", CONTROL]
    return [*pieces, CONTROL, f"[INST] {system} [/INST]"] if system else pieces


def mistral(*, control: bool, default: str = "") -> Template:
    """Mistral: marks in brackets are text in the first vocabulary, and control tokens in the newer ones."""

    def template(turns: Sequence[Turn]) -> list[Piece]:
        begin, end = (CONTROL, CONTROL) if control else (" [INST] ", " [/INST]")
        pieces: list[Piece] = [CONTROL]
        system = ""
        for role, text in _with_default(turns, default) if default else turns:
            if role == "assistant":
                pieces += [text, CONTROL]
            elif control:
                pieces += [begin, text, end]
            elif role == "system":
                system += f"{text}\n\n"
            else:
                pieces.append(f"{begin}{system}{text}{end}")
                system = ""
        return [*pieces, f"{begin}{system}{end}"] if system else pieces

    return template


def gemma(turns: Sequence[Turn]) -> list[Piece]:
    """Gemma, and Gemini as far as anybody knows."""
    pieces: list[Piece] = [CONTROL]
    for role, text in turns:
        pieces += [CONTROL, f"{'model' if role == 'assistant' else 'user'}\n{text.strip()}", CONTROL, "\n"]
    return [*pieces, CONTROL, "model\n"]


def deepseek(turns: Sequence[Turn]) -> list[Piece]:
    """DeepSeek V3 and R1."""
    pieces: list[Piece] = [CONTROL]
    for role, text in turns:
        if role == "system":
            pieces += [text, "\n\n"]
        else:
            pieces += [CONTROL, text, *([CONTROL] if role == "assistant" else [])]
    return [*pieces, CONTROL, CONTROL, "\n"]


def glm(turns: Sequence[Turn]) -> list[Piece]:
    """GLM 4."""
    pieces: list[Piece] = [CONTROL, CONTROL]
    for _, text in turns:
        pieces += [CONTROL, f"\n{text}"]
    return [*pieces, CONTROL, "\n", CONTROL, CONTROL]


def kimi(turns: Sequence[Turn]) -> list[Piece]:
    """Kimi K2."""
    pieces: list[Piece] = []
    for role, text in _with_default(turns, "You are Kimi, an AI assistant created by Moonshot AI."):
        pieces += [CONTROL, role, CONTROL, text, CONTROL]
    return [*pieces, CONTROL, "assistant", CONTROL]


def phi(turns: Sequence[Turn]) -> list[Piece]:
    """Phi 4."""
    pieces: list[Piece] = []
    for role, text in turns:
        pieces += [CONTROL, role, CONTROL, text, CONTROL]
    return [*pieces, CONTROL, "assistant", CONTROL]


def anthropic(turns: Sequence[Turn]) -> list[Piece]:
    """Claude, as far as its counts tell: up to eleven tokens for one message, and a few for each more."""
    pieces: list[Piece] = [CONTROL] * 8
    for _, text in turns:
        pieces += [CONTROL, CONTROL, CONTROL, CONTROL, text]
    return pieces


QWEN2 = chatml("You are a helpful assistant")
QWEN25 = chatml("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")
QWEN3 = chatml(reply=(CONTROL, "\n\n", CONTROL, "\n\n"))
MISTRAL_1 = mistral(control=False)
NEMO = mistral(control=True)
MISTRAL = mistral(control=True, default=_MISTRAL_DEFAULT)

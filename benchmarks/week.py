"""A week of group chat in a process that is killed again and again, against a scripted model server.

Six people talk: a player and five characters, in the group mode. Every message and every reply holds a word of its
own. One message in forty is a whisper, and one character is away for part of the time. Recaps are written in the
background, by the same server, and quote the words that they were made from. The process that talks is killed at
random moments and started again, and goes on from what is stored. Every prompt that the server receives is checked:

    prefix_reuse                   the share of prompt tokens that are a prefix of the same speaker's previous prompt
    prefix_reuse_between_speakers  the same for different speakers in turn, where both know everything in both prompts
    leaks                          words in prompts of speakers who could not know them
    over_budget                    prompts that leave less room for the answer than the request asks for
    doubled_recaps                 summaries, or recaps, that share a round with another one
    lost                           messages that were acknowledged and are not stored
    kills                          how often the process was killed

    python -m benchmarks.week [--messages 10000] [--kills 50] [--seed 7] [--json]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import IO, Any

from msgspec import Struct

from benchmarks.figures import arguments, report, show
from benchmarks.prefix import Reuse
from fabula.text.tokens.models import find_model
from fabula.text.tokens.tokenizer import load_encoding

MESSAGES, KILLS = 10_000, 50
PLAYER, CHARACTERS = "Ann", ("Bo", "Cleo", "Dov", "Eve", "Fay")
MODEL = "llama-3"  # a window of 8,192 tokens, and a known vocabulary
AWAY, AWAY_EVERY = "Fay", 400  # she is away for a tenth of so many messages of the player
WHISPERS = 0.025  # the share of the player's messages
PLAYER_WORD = re.compile(r"zq[a-j]{6}")
_ANY_WORD = re.compile(r"z[qr][a-j]{6}")
_LETTERS = str.maketrans("0123456789", "abcdefghij")  # a number would be a word of its own, which other words share
_DIGITS = str.maketrans("abcdefghij", "0123456789")
_TURN = re.compile(r"\[(\w+) speaks next\.")
_WORDS = re.findall(
    r"\w+",
    "lamp pier fog boat letter captain harbour stair window gull rope keeper tide anchor barrel market lantern coat "
    "storm ledger bell bread cellar map coin knife song door river bridge candle wagon orchard saddle ferry chimney",
)


def make_word(prefix: str, number: int) -> str:
    """The word of a message: a prefix and six letters that stand for its number."""
    return prefix + f"{number:06}".translate(_LETTERS)


def read_number(word: str) -> int:
    """The number of a word's message."""
    return int(word[2:].translate(_DIGITS))


class PlannedMessage(Struct, frozen=True):
    """A message that the player will send: its text, its audience, and who is present."""

    text: str
    audience: tuple[str, ...] | None
    present: frozenset[str]

    @property
    def listeners(self) -> frozenset[str]:
        """Who hears it, and the replies to it."""
        return self.present if self.audience is None else frozenset({PLAYER, *self.audience})


def plan_message(number: int, seed: int) -> PlannedMessage:
    """Plan one message of the player; the same number and seed give the same one."""
    random = Random(f"{seed}-{number}")
    is_away = number % AWAY_EVERY >= AWAY_EVERY * 9 // 10
    present = frozenset({PLAYER, *CHARACTERS} - ({AWAY} if is_away else set()))
    audience = (random.choice(sorted(present - {PLAYER})),) if random.random() < WHISPERS else None
    return PlannedMessage(f"{make_sentence(random)} {make_word('zq', number)}", audience, present)


def make_sentence(random: Random) -> str:
    """A sentence of 6 to 18 common words."""
    return f"{' '.join(random.choices(_WORDS, k=random.randint(6, 18))).capitalize()}."


class WeekServer:
    """Answers as the characters and as the writer of recaps, and checks every prompt."""

    def __init__(self, seed: int) -> None:
        self.knowers: dict[str, frozenset[str]] = {}  # of the words of replies
        self.leaks: list[str] = []
        self.prompts = self.recaps = self.over_budget = 0
        self.url = ""
        self._seed, self._random = seed, Random(seed)
        self._lock = threading.Lock()
        self._by_speaker: dict[str, Reuse] = {}
        self._between = Reuse()
        self._last: tuple[str, str] = ("", "")  # the last speaker and prompt
        self._model = find_model(MODEL)
        self._count_sent = load_encoding(self._model.encoding).count

    @property
    def reuse(self) -> float:
        """The share of prompts that is a prefix of the same speaker's previous prompt."""
        reuses = self._by_speaker.values()
        return sum(one.shared for one in reuses) / max(sum(one.total for one in reuses), 1)

    @property
    def reuse_between(self) -> float:
        """The share of prompts that is a prefix of another speaker's previous prompt, where no secrets differ."""
        return self._between.share

    def answer(self, body: Mapping[str, Any]) -> str:
        """Check a prompt, and answer it."""
        prompt = "\n".join(f"<{one['role']}> {one['content']}" for one in body["messages"])
        with self._lock:
            sent = [self._count_sent(one["content"]) + self._model.tokens_per_message for one in body["messages"]]
            self.over_budget += sum(sent) + (body.get("max_tokens") or 0) > self._model.window
            asked = _TURN.findall(body["messages"][-1]["content"])
            return self._speak(asked[-1], prompt) if asked else self._recap(body["messages"][-1]["content"])

    def _recap(self, text: str) -> str:
        """A recap that quotes words of what it was made from."""
        self.recaps += 1
        quoted = list(dict.fromkeys(_ANY_WORD.findall(text)))
        return f"They spoke of {' and '.join(self._random.sample(_WORDS, 3))}: {' '.join(quoted[-6:])}."

    def _speak(self, speaker: str, prompt: str) -> str:
        self.prompts += 1
        words = set(_ANY_WORD.findall(prompt))
        self.leaks += (f"{speaker} was told {word}" for word in words if speaker not in self.find_knowers(word))
        self._by_speaker.setdefault(speaker, Reuse()).add(prompt)
        other, before = self._last
        if other != speaker and before:
            told = words | set(_ANY_WORD.findall(before))
            if all({speaker, other} <= self.find_knowers(word) for word in told):
                pair = Reuse()
                pair.add(before)
                pair.add(prompt)
                self._between.shared += pair.shared
                self._between.total += pair.total
        self._last = (speaker, prompt)
        word = make_word("zr", len(self.knowers))
        asked = max(PLAYER_WORD.findall(prompt), default="")
        self.knowers[word] = self.find_knowers(asked) if asked else frozenset({PLAYER, speaker})
        return f"{make_sentence(self._random)} {word}"

    def find_knowers(self, word: str) -> frozenset[str]:
        """Return who may know a word."""
        if word.startswith("zr"):
            return self.knowers.get(word, frozenset())
        return plan_message(read_number(word), self._seed).listeners


@contextmanager
def serve(server: WeekServer) -> Iterator[None]:
    """Serve OpenAI's API on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = server.answer(body)
            events: list[dict[str, Any]] = [{"delta": {"content": text}}, {"delta": {}, "finish_reason": "stop"}]
            lines = [json.dumps({"id": "c", "choices": [{"index": 0, **event}]}) for event in events]
            data = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except ConnectionError:  # the process was killed
                self.close_connection = True

        def log_message(self, *args: object) -> None: ...

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None: ...

    listening = Quiet(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join(10)


class Log:
    """What the processes acknowledged: messages by id, and summaries and recaps with their rounds."""

    def __init__(self) -> None:
        self.stored: set[str] = set()
        self.recaps: dict[str, tuple[str, tuple[int, ...]]] = {}  # by id: its kind and its rounds
        self.final: set[str] | None = None  # every message of the conversation, told at the end

    def add(self, line: str) -> None:
        """Read one line of a process; one that is torn by its end was never acknowledged."""
        if not line.endswith("\n"):
            return
        kind, _, rest = line.strip().partition(" ")
        if kind == "stored":
            self.stored.add(rest)
        elif kind in ("summary", "recap"):
            ident, _, rounds = rest.partition(" ")
            self.recaps[ident] = kind, tuple(json.loads(rounds))
        elif kind == "final":
            self.final = set(json.loads(rest))

    @property
    def lost(self) -> int:
        """How many acknowledged messages are not stored."""
        return len(self.stored if self.final is None else self.stored - self.final)

    @property
    def doubled(self) -> int:
        """How many summaries and recaps share a round with an earlier one of the same kind."""
        return count_doubled(self.recaps.values())


def count_doubled(recaps: Iterable[tuple[str, Sequence[int]]]) -> int:
    """Count the summaries and recaps that share a round with another one of the same kind."""
    covered: set[tuple[str, int]] = set()
    doubled = 0
    for kind, rounds in recaps:
        keys = {(kind, one) for one in rounds}
        doubled += not covered.isdisjoint(keys)
        covered |= keys
    return doubled


def start_process(folder: Path, messages: int, seed: int, url: str) -> subprocess.Popen[str]:
    """Start a process that talks until there are so many messages."""
    models = folder / "models.toml"
    models.write_text(
        f'background = "week"\n[places.week]\nbase_url = "{url}"\nmodel = "{MODEL}"\nneeds_key = false\n'
        'proxy = "none"\n'
    )
    environment = {**os.environ, "FABULA_DATA": str(folder), "FABULA_CACHE": str(folder / "cache")}
    environment |= {"FABULA_MODELS": str(models)}
    command = [sys.executable, "-m", "benchmarks.week_process", str(folder), str(messages), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def measure(folder: Path, *, messages: int = MESSAGES, kills: int = KILLS, seed: int = 7) -> dict[str, float]:
    """Run the week; return all figures."""
    server, log, random = WeekServer(seed), Log(), Random(seed)
    moments = sorted(random.sample(range(1, max(messages, kills + 2)), kills))
    began, killed = time.perf_counter(), 0
    with serve(server):
        while True:
            process = start_process(folder, messages, seed, server.url)
            output = process.stdout
            assert output is not None
            wanted = moments[killed] if killed < len(moments) else None
            _read_until(output, log, wanted)
            if wanted is not None and process.poll() is None:
                time.sleep(random.random() * 0.1)
                process.kill()
                killed += 1
                print(f"{len(log.stored)} messages, {killed} kills, {100 * server.reuse:.2f} %", file=sys.stderr)
            for line in output:
                log.add(line)
            output.close()
            if process.wait() == 0:
                break
            if wanted is None:
                raise RuntimeError(f"the process ended with {process.returncode}")
    assert log.final is not None
    for leak in server.leaks[:10]:
        print(leak, file=sys.stderr)
    return {
        "prefix_reuse": 100 * server.reuse,
        "prefix_reuse_between_speakers": 100 * server.reuse_between,
        "leaks": len(server.leaks),
        "doubled_recaps": log.doubled,
        "over_budget": server.over_budget,
        "kills": killed,
        "lost": log.lost,
        "messages": len(log.final),
        "prompts": server.prompts,
        "recaps": len(log.recaps),
        "seconds": time.perf_counter() - began,
    }


def _read_until(output: IO[str], log: Log, wanted: int | None) -> None:
    """Read what a process acknowledges until there are so many messages, or it ends."""
    for line in output:
        log.add(line)
        if wanted is not None and len(log.stored) >= wanted:
            return


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-week-") as folder:
        figures = measure(Path(folder), messages=options.messages, kills=options.kills, seed=options.seed)
    show("a week of group chat", ("figure", "value"), list(figures.items()))
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()

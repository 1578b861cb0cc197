"""The registry of settings: every setting once, as data.

A setting has the specification's name, a kind, a default, bounds, the scopes that may set it and one sentence for
people. Reading, setting, listing and the documentation all follow from this table. A name that is not in it is
refused with the nearest ones, and a value out of bounds with the bounds.

Money, prices, providers and what is kept belong to a person or to the machine, never to a project: a project's settings
travel with its save, and a save may come from anybody. What no project can set is in no save (`is_portable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Literal

from msgspec import Struct

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, join_alternatives, message
from fabula.core.similar_names import MIN_PARTIAL, find_similar_names

SettingScope = Literal["project", "person", "machine"]
SettingKind = Literal["bool", "int", "float", "text", "choice", "table"]
SCOPES: tuple[SettingScope, ...] = ("project", "person", "machine")  # the first that has a value decides

GROUPS = {
    "history": message("History and recaps"),
    "context": message("What enters a prompt"),
    "budget": message("How a window is divided"),
    "limits": message("Limits"),
    "models": message("Models and money"),
    "judge": message("Judging answers"),
    "modes": message("Modes of conversations"),
    "server": message("The server"),
}

# Rows of these names are kept among a project's settings by other parts of the program. Nobody sets them by hand.
RESERVED_PREFIXES = ("skill.", "extract.", "facts.")
MAX_RESERVED = 200  # rows of one prefix


class SettingDefinition(Struct, frozen=True, kw_only=True):
    """One setting: its name, what values it takes, who may set it and what it does."""

    name: str
    group: str
    kind: SettingKind
    scopes: tuple[SettingScope, ...]
    sentence: Sentence
    default: Any = None  # None: `without_value` says what happens then
    without_value: Sentence | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # former names
    variable: str = ""  # the environment variable that sets it for the machine
    budget_path: tuple[str, ...] = ()  # where the project's budget keeps it; empty for a row of its own

    def describe_values(self) -> Sentence:
        """Say which values it takes: `a whole number from 1 to 1,000`."""
        match self.kind:
            case "bool":
                return message("true or false")
            case "choice":
                return join_alternatives(self.choices)
            case "text":
                return message("a text")
            case "table":
                return message("a JSON object")
            case "int":
                return message("a whole number from {low:,} to {high:,}", low=self.minimum, high=self.maximum)
            case "float":
                return message("a number from {low:,.10g} to {high:,.10g}", low=self.minimum, high=self.maximum)

    def accepts(self, value: object) -> bool:
        """Tell whether a value has the right kind and lies within the bounds."""
        match self.kind:
            case "bool":
                return isinstance(value, bool)
            case "choice":
                return isinstance(value, str) and value in self.choices
            case "text":
                return isinstance(value, str) and bool(value.strip())
            case "table":
                return isinstance(value, Mapping)
            case _:
                kinds = int if self.kind == "int" else int | float
                return (
                    isinstance(value, kinds)
                    and not isinstance(value, bool)
                    and isfinite(value)
                    and (self.minimum is None or value >= self.minimum)
                    and (self.maximum is None or value <= self.maximum)
                )

    def check(self, value: object) -> None:
        """Refuse a value that this setting does not take."""
        if not self.accepts(value):
            shown = repr(value)
            shown = shown if len(shown) <= 80 else shown[:79] + "…"
            raise refuse(
                message("{name} is {values}, not {value}.", name=self.name, values=self.describe_values(), value=shown)
            )


_PROJECT: tuple[SettingScope, ...] = ("project",)
_PERSON: tuple[SettingScope, ...] = ("person",)
MACHINE: tuple[SettingScope, ...] = ("machine",)
_BOTH: tuple[SettingScope, ...] = ("project", "person")
_LIMITS, _PROFILE = Limits(), BudgetProfile()

_HISTORY = (
    SettingDefinition(
        name="History.Recaps",
        group="history",
        kind="bool",
        default=True,
        scopes=_PROJECT,
        aliases=("history.recaps",),
        sentence=message("Whether conversations are summarised in the background; messages are recorded either way."),
    ),
    SettingDefinition(
        name="History.SummaryEveryNRounds",
        group="history",
        kind="int",
        default=5,
        minimum=1,
        maximum=1000,
        scopes=_PROJECT,
        aliases=("history.summaryEveryNRounds",),
        sentence=message("After how many rounds of a conversation a summary is made."),
    ),
    SettingDefinition(
        name="History.RecapUpdateEveryRounds",
        group="history",
        kind="int",
        default=10,
        minimum=1,
        maximum=10_000,
        scopes=_PROJECT,
        aliases=("history.recapUpdateEveryRounds",),
        sentence=message("After how many rounds the summaries are combined into one recap."),
    ),
    SettingDefinition(
        name="History.RecapDictMaxEntries",
        group="history",
        kind="int",
        default=20,
        minimum=-10_000,
        maximum=10_000,
        scopes=_PROJECT,
        aliases=("history.recapMaxEntries",),
        sentence=message(
            "How many recaps a conversation keeps, the oldest going first; 1 keeps the newest only, "
            "0 or less keeps all."
        ),
    ),
    SettingDefinition(
        name="History.RecapMaxChars",
        group="history",
        kind="int",
        default=1200,
        minimum=40,
        maximum=20_000,
        scopes=_PROJECT,
        aliases=("history.recapMaxChars",),
        sentence=message("How many characters one summary or recap may have."),
    ),
    SettingDefinition(
        name="History.SummaryOverMessages",
        group="history",
        kind="int",
        default=60,
        minimum=2,
        maximum=100_000,
        scopes=_PROJECT,
        sentence=message("With how many messages that no summary covers the older ones are summarised at once."),
    ),
    SettingDefinition(
        name="History.SummaryOverTokens",
        group="history",
        kind="int",
        default=6000,
        minimum=100,
        maximum=1_000_000,
        scopes=_PROJECT,
        sentence=message(
            "With how many tokens that no summary covers the older ones are summarised at once; also where a character "
            "chat does not show them any more."
        ),
    ),
    SettingDefinition(
        name="History.Injection",
        group="history",
        kind="bool",
        default=True,
        scopes=_PROJECT,
        sentence=message(
            "Whether a chat is told anything beside the persona, your rules and the conversation; "
            "without it the prompt has these alone."
        ),
    ),
    SettingDefinition(
        name="History.MaxPromptChars",
        group="history",
        kind="int",
        default=4000,
        minimum=0,
        maximum=1_000_000,
        scopes=_PROJECT,
        aliases=("MaxPromptChars",),
        sentence=message(
            "How many characters of fixed prompts, biography, recaps and earlier messages a chat is told; the running "
            "conversation does not count. The default applies only where a player and a character talk alone."
        ),
    ),
    SettingDefinition(
        name="History.LatestRecaps",
        group="history",
        kind="int",
        default=3,
        minimum=0,
        maximum=100,
        scopes=_PROJECT,
        sentence=message("How many recaps of a conversation a chat is told, the latest first."),
    ),
    SettingDefinition(
        name="History.RelevantHistory",
        group="history",
        kind="choice",
        default="embedding-first",
        choices=("classic", "embedding-first"),
        scopes=_PROJECT,
        sentence=message(
            "Which earlier messages a chat is told: the latest ones (classic), or those that have to do with what is "
            "said now (embedding-first)."
        ),
    ),
    SettingDefinition(
        name="History.HistoryPageSize",
        group="history",
        kind="int",
        default=100,
        minimum=1,
        maximum=1000,
        scopes=_PROJECT,
        sentence=message("How many messages of a conversation are shown at a time."),
    ),
    SettingDefinition(
        name="History.Budget.MaxLatencyMs",
        group="history",
        kind="int",
        default=5000,
        minimum=100,
        maximum=600_000,
        scopes=_PROJECT,
        aliases=("budget.maxLatencyMs",),
        sentence=message("How many milliseconds the model may take for one summary or recap."),
    ),
    SettingDefinition(
        name="maxHistoryTokens",
        group="history",
        kind="int",
        minimum=0,
        maximum=1_000_000,
        scopes=_BOTH,
        sentence=message(
            "How many tokens of the conversation a prompt shows at most, the newest messages first. "
            "When a chat has more, about a quarter of that stays, and grows again."
        ),
        without_value=message("as the recipe says, 4000 in all that come with Fabula"),
    ),
)

_MODES = (
    SettingDefinition(
        name="Modes.WorkflowMaxRounds",
        group="modes",
        kind="int",
        default=3,
        minimum=1,
        maximum=20,
        scopes=_PROJECT,
        sentence=message(
            "How many rounds of coder, reviewer and tester the workflow mode runs at most before it stops."
        ),
    ),
)

_CONTEXT = (
    SettingDefinition(
        name="lateJoiners",
        group="context",
        kind="bool",
        scopes=_BOTH,
        sentence=message(
            "Whether an entry that is first noticed in this request stands behind the text until the window "
            "next moves, so that the cached part of the prompt stays as it is."
        ),
        without_value=message("as the recipe says: off for novels, on for chats"),
    ),
    SettingDefinition(
        name="codex.relationDepth",
        group="context",
        kind="int",
        default=1,
        minimum=0,
        maximum=5,
        scopes=_BOTH,
        sentence=message("How many steps of relations bring further codex entries along; 0 brings none."),
    ),
    SettingDefinition(
        name="codex.factsPerEntry",
        group="context",
        kind="int",
        default=3,
        minimum=0,
        maximum=20,
        scopes=_BOTH,
        sentence=message(
            "How many sentences that the book says of an entry stand beside it in a prompt; 0 leaves them out."
        ),
    ),
    SettingDefinition(
        name="codex.factsByModel",
        group="context",
        kind="bool",
        default=True,
        scopes=_BOTH,
        sentence=message(
            "Whether the model that works in the background looks for facts in changed chapters too; each must quote "
            "its sentence."
        ),
    ),
    SettingDefinition(
        name="search.needs",
        group="context",
        kind="choice",
        default="auto",
        choices=("off", "auto", "on"),
        scopes=_PERSON,
        sentence=message(
            "Whether the model that works in the background is asked which earlier details a new scene needs: never, "
            "where it needs no key, or always."
        ),
    ),
    SettingDefinition(
        name="search.passages",
        group="context",
        kind="bool",
        default=True,
        scopes=_BOTH,
        sentence=message("Whether prompts hold passages of earlier chapters and conversations that search finds."),
    ),
    SettingDefinition(
        name="search.embedding",
        group="context",
        kind="choice",
        default="off",
        choices=("off", "auto", "local", "endpoint"),
        scopes=SCOPES,
        variable="FABULA_EMBEDDING",
        sentence=message(
            "Whether search compares passages by meaning too: not at all, with whatever is there, with the "
            "model on this machine, or with a server."
        ),
    ),
)


def _share(layer: str, title: Sentence) -> Iterable[SettingDefinition]:
    """The share of the budget of one layer, and its guaranteed minimum."""
    share = getattr(_PROFILE, layer)
    yield SettingDefinition(
        name=f"budget.{layer}.share",
        group="budget",
        kind="float",
        default=share.ratio,
        minimum=0,
        maximum=1,
        scopes=_PROJECT,
        budget_path=("profile", layer, "ratio"),
        sentence=message(
            "Which share of the budget {layer} may count on; the four shares add up to 1 at most.", layer=title
        ),
    )
    yield SettingDefinition(
        name=f"budget.{layer}.minimum",
        group="budget",
        kind="int",
        default=share.minimum,
        minimum=0,
        maximum=10_000_000,
        scopes=_PROJECT,
        budget_path=("profile", layer, "minimum"),
        sentence=message("How many tokens are guaranteed to {layer} while the window has room.", layer=title),
    )


_BUDGET = (
    *_share("rules", message("the rules")),
    *_share("settings", message("preferences and style")),
    *_share("retrieved", message("retrieved texts")),
    *_share("immediate", message("the immediate text")),
    SettingDefinition(
        name="budget.outputReserve.share",
        group="budget",
        kind="float",
        default=_PROFILE.reply_ratio,
        minimum=0,
        maximum=1,
        scopes=_PROJECT,
        budget_path=("profile", "reply_ratio"),
        sentence=message("Which share of the window is kept free for the answer."),
    ),
    SettingDefinition(
        name="budget.outputReserve.maximum",
        group="budget",
        kind="int",
        default=_PROFILE.reply_most,
        minimum=0,
        maximum=10_000_000,
        scopes=_PROJECT,
        budget_path=("profile", "reply_most"),
        sentence=message("How many tokens are kept free for the answer at most."),
    ),
)

_LIMIT_SETTINGS = (
    SettingDefinition(
        name="limits.inputTokens",
        group="limits",
        kind="int",
        default=_LIMITS.input_tokens,
        minimum=1,
        maximum=100_000_000,
        scopes=_PROJECT,
        budget_path=("limits", "input_tokens"),
        sentence=message("How many tokens may be gathered for one prompt; more is refused (CONTEXT_INPUT_TOO_LARGE)."),
    ),
    SettingDefinition(
        name="limits.retrievedChunks",
        group="limits",
        kind="int",
        default=_LIMITS.retrieved_chunks,
        minimum=1,
        maximum=100_000,
        scopes=_PROJECT,
        budget_path=("limits", "retrieved_chunks"),
        sentence=message("How many retrieved fragments a prompt is chosen from; the best are kept."),
    ),
    SettingDefinition(
        name="limits.constraints",
        group="limits",
        kind="int",
        default=500,
        minimum=1,
        maximum=10_000,
        scopes=_PROJECT,
        sentence=message("How many constraints a project may have; the next one is refused (CONSTRAINT_LIMIT)."),
    ),
    SettingDefinition(
        name="limits.assembliesAtOnce",
        group="limits",
        kind="int",
        default=_LIMITS.at_once,
        minimum=1,
        maximum=10_000,
        scopes=MACHINE,
        variable="FABULA_ASSEMBLIES_AT_ONCE",
        budget_path=("limits", "at_once"),
        sentence=message("How many prompts of one document are assembled at once in one process."),
    ),
    SettingDefinition(
        name="limits.assembliesWaiting",
        group="limits",
        kind="int",
        default=_LIMITS.waiting,
        minimum=0,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_ASSEMBLIES_WAITING",
        budget_path=("limits", "waiting"),
        sentence=message(
            "How many more requests of one document may wait; the next is refused (CONTEXT_BACKPRESSURE)."
        ),
    ),
    SettingDefinition(
        name="limits.sourceSeconds",
        group="limits",
        kind="float",
        default=_LIMITS.source_seconds,
        minimum=0.01,
        maximum=3600,
        scopes=MACHINE,
        variable="FABULA_SOURCE_SECONDS",
        budget_path=("limits", "source_seconds"),
        sentence=message(
            "How many seconds a source that waits for something outside has; then the prompt goes without it."
        ),
    ),
    SettingDefinition(
        name="limits.sourceFragments",
        group="limits",
        kind="int",
        default=_LIMITS.source_fragments,
        minimum=1,
        maximum=10_000_000,
        scopes=MACHINE,
        variable="FABULA_SOURCE_FRAGMENTS",
        budget_path=("limits", "source_fragments"),
        sentence=message("How many fragments one source may offer for a prompt."),
    ),
    SettingDefinition(
        name="limits.memoryMegabytes",
        group="limits",
        kind="int",
        default=800,
        minimum=200,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_MEMORY_MB",
        sentence=message(
            "How many megabytes one process keeps at hand of open projects: texts, indexes, conversations and token "
            "counts. What was used longest ago leaves first, and is read again when it is asked for."
        ),
    ),
)

_MODELS = (
    SettingDefinition(
        name="llm.provider",
        group="models",
        kind="text",
        scopes=_PERSON,
        sentence=message("Which provider writes, unless a request names another."),
        without_value=message("the first one with a key, else the model on this machine, else the clipboard"),
    ),
    SettingDefinition(
        name="llm.model",
        group="models",
        kind="text",
        scopes=_BOTH,
        sentence=message("Which model of that provider writes, unless a request names another."),
        without_value=message("the provider's usual model"),
    ),
    SettingDefinition(
        name="llm.prices",
        group="models",
        kind="table",
        scopes=_PERSON,
        sentence=message(
            "Prices that differ from the list: by model, `input`, `output`, `cached` and `written` per million "
            "tokens, and `currency`."
        ),
        without_value=message("the list prices"),
    ),
    SettingDefinition(
        name="History.Budget.MonthlyBudgetUSD",
        group="models",
        kind="float",
        default=5.0,
        minimum=0,
        maximum=1e9,
        scopes=("person", "machine"),
        variable="FABULA_MONTHLY_BUDGET_USD",
        aliases=("jobs.monthlyBudget",),
        sentence=message(
            "How many dollars background work may cost in each of your projects per calendar month (UTC)."
        ),
    ),
    SettingDefinition(
        name="runs.keepPrompts",
        group="models",
        kind="bool",
        default=False,
        scopes=_PERSON,
        sentence=message("Whether the whole prompt of every run is kept on record."),
    ),
)

_JUDGE = (
    SettingDefinition(
        name="judge.policy",
        group="judge",
        kind="choice",
        default="flag",
        choices=("off", "flag", "regenerate"),
        scopes=_BOTH,
        sentence=message(
            "What happens with an answer that breaks a constraint: nothing, it is marked, or it is written again."
        ),
    ),
    SettingDefinition(
        name="judge.tries",
        group="judge",
        kind="int",
        default=2,
        minimum=0,
        maximum=5,
        scopes=_BOTH,
        sentence=message("How many times an answer is written again at most."),
    ),
    SettingDefinition(
        name="judge.withModel",
        group="judge",
        kind="bool",
        default=False,
        scopes=_BOTH,
        sentence=message("Whether the model judges answers too, beside what a program can check."),
    ),
)

_SERVER = (
    SettingDefinition(
        name="server.logLevel",
        group="server",
        kind="choice",
        default="info",
        choices=("debug", "info", "warning", "error", "critical"),
        scopes=MACHINE,
        variable="FABULA_LOG_LEVEL",
        sentence=message(
            "From which level on the server writes its log to standard error. Changes of access are at info, refusals "
            "at warning."
        ),
    ),
    SettingDefinition(
        name="server.openMetrics",
        group="server",
        kind="bool",
        default=False,
        scopes=MACHINE,
        variable="FABULA_OPEN_METRICS",
        sentence=message("Whether /metrics needs no token, for a server that only Prometheus can reach."),
    ),
    SettingDefinition(
        name="server.requestsPerSecond",
        group="server",
        kind="int",
        default=100,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_REQUESTS_PER_SECOND",
        sentence=message(
            "How many requests a second one caller may send, and ten times as many at once; the next is refused "
            "(HTTP_TOO_MANY_REQUESTS). From this machine itself, a hundred times as many."
        ),
    ),
    SettingDefinition(
        name="server.addressRequestsPerSecond",
        group="server",
        kind="int",
        default=200,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_ADDRESS_REQUESTS_PER_SECOND",
        sentence=message(
            "How many requests a second may come from one address, and ten times as many at once; the next is refused "
            "(HTTP_TOO_MANY_REQUESTS). From this machine itself, a hundred times as many."
        ),
    ),
    SettingDefinition(
        name="server.openRequests",
        group="server",
        kind="int",
        default=100,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_OPEN_REQUESTS",
        sentence=message(
            "How many requests and streams of events one person may have open at once; the next is refused "
            "(HTTP_TOO_MANY_OPEN). From this machine itself, a hundred times as many."
        ),
    ),
    SettingDefinition(
        name="server.addressOpenRequests",
        group="server",
        kind="int",
        default=400,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_ADDRESS_OPEN_REQUESTS",
        sentence=message(
            "How many requests and streams of events may be open at once from one address, whoever sends them; the "
            "next is refused (HTTP_TOO_MANY_OPEN). From this machine itself, a hundred times as many."
        ),
    ),
    SettingDefinition(
        name="server.addressConnections",
        group="server",
        kind="int",
        default=800,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_ADDRESS_CONNECTIONS",
        sentence=message(
            "How many connections one address may have, open requests or not; the next is refused "
            "(HTTP_TOO_MANY_OPEN). From this machine itself, a hundred times as many; from a trusted proxy, any number."
        ),
    ),
    SettingDefinition(
        name="server.uploadsPerHour",
        group="server",
        kind="int",
        default=200,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_UPLOADS_PER_HOUR",
        sentence=message("How many files one person may upload within an hour."),
    ),
    SettingDefinition(
        name="server.uploadMegabytesPerHour",
        group="server",
        kind="int",
        default=1_000,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_UPLOAD_MEGABYTES_PER_HOUR",
        sentence=message("How many megabytes one person may upload within an hour."),
    ),
    SettingDefinition(
        name="server.uploadSecondsPerHour",
        group="server",
        kind="int",
        default=600,
        minimum=1,
        maximum=1_000_000,
        scopes=MACHINE,
        variable="FABULA_UPLOAD_SECONDS_PER_HOUR",
        sentence=message("How many seconds of processor time the uploads of one person may take within an hour."),
    ),
    SettingDefinition(
        name="server.projectsPerPerson",
        group="server",
        kind="int",
        default=0,
        minimum=0,
        maximum=10_000,
        scopes=MACHINE,
        variable="FABULA_PROJECTS_PER_PERSON",
        sentence=message(
            "How many projects somebody with an account may own and therefore create; with 0, only the owner of the "
            "store creates projects."
        ),
    ),
    SettingDefinition(
        name="server.hosts",
        group="server",
        kind="text",
        scopes=MACHINE,
        variable="FABULA_HOSTS",
        sentence=message("Under which names the server is reached beside its own address, separated by commas."),
        without_value=message("none"),
    ),
    SettingDefinition(
        name="server.trustedProxies",
        group="server",
        kind="text",
        scopes=MACHINE,
        variable="FABULA_TRUSTED_PROXIES",
        sentence=message(
            "Addresses and networks of reverse proxies that are believed what they say of a request, separated by "
            "commas."
        ),
        without_value=message("none"),
    ),
    SettingDefinition(
        name="server.proxyHeader",
        group="server",
        kind="text",
        scopes=MACHINE,
        variable="FABULA_PROXY_HEADER",
        sentence=message(
            "The header by which a trusted proxy names the account of whoever signed in there; from anybody else it "
            "is refused (ACCESS_PROXY_REFUSED)."
        ),
        without_value=message("no proxy signs anybody in"),
    ),
)

SETTINGS: Mapping[str, SettingDefinition] = {
    one.name: one for one in (*_HISTORY, *_CONTEXT, *_BUDGET, *_LIMIT_SETTINGS, *_MODELS, *_JUDGE, *_MODES, *_SERVER)
}
_BY_ANY_NAME = {name.lower(): one for one in SETTINGS.values() for name in (one.name, *one.aliases)}


def find_setting(name: str) -> SettingDefinition:
    """Find a setting by its name or a former one, in any case; refuse an unknown name with the nearest ones."""
    found = _BY_ANY_NAME.get(name.strip().lower())
    if found is None:
        nearest = suggest_names(name)
        hint = advise(
            message(" `fabula setting list` shows all of them."), message(" The list of settings has all of them.")
        )
        if nearest:
            hint = message(" Did you mean {names}?", names=join_alternatives(nearest))
        raise refuse(message("There is no setting {name!r}.{hint}", name=name[:100], hint=hint))
    return found


def suggest_names(name: str) -> list[str]:
    """The settings whose names are nearest to a wrong one, the nearest first."""
    wanted = name.strip().lower()
    by_word: dict[str, SettingDefinition] = {}
    for known, definition in _BY_ANY_NAME.items():
        by_word[known] = definition
        by_word.setdefault(known.rpartition(".")[2], definition)
    word = wanted.rpartition(".")[2]
    matches = [*find_similar_names(wanted, by_word), *find_similar_names(word, by_word)]
    if len(word) >= MIN_PARTIAL:
        matches += [known for known in by_word if word in known]
    return list(dict.fromkeys(by_word[match].name for match in matches))[:3]


def is_reserved(name: str) -> bool:
    """Tell whether a name belongs to rows that other parts of the program keep among the settings."""
    return name.startswith(RESERVED_PREFIXES)


def is_portable(row: Mapping[str, Any]) -> bool:
    """Tell whether a stored row may be in a save: settings that no project can have stay with their person."""
    definition = _BY_ANY_NAME.get(str(row.get("name", "")).strip().lower())
    return definition is None or "project" in definition.scopes


def refuse(sentence: Sentence | str) -> FabulaError:
    """Make the refusal of a setting."""
    return FabulaError(Code.SETTING_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))

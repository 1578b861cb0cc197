"""The registry of settings: every setting once, as data.

A setting has the specification's name, a kind, a default, bounds, the scopes that may set it and one sentence for
people. Reading, setting, listing and the documentation all follow from this table. A name that is not in it is
refused with the nearest ones, and a value out of bounds with the bounds.

Money, prices and providers belong to a person or to the machine, never to a project: a project's settings travel
with its save, and a save may come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal

from msgspec import Struct

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code, FabulaError
from fabula.core.view import Language

SettingScope = Literal["project", "person", "machine"]
SettingKind = Literal["bool", "int", "float", "text", "choice", "table"]
SCOPES: tuple[SettingScope, ...] = ("project", "person", "machine")  # the first that has a value decides

GROUPS: Mapping[str, Mapping[Language, str]] = {
    "history": {"en": "History and recaps", "zh": "对话历史与回顾"},
    "context": {"en": "What enters a prompt", "zh": "进入提示词的内容"},
    "budget": {"en": "How a window is divided", "zh": "上下文窗口的分配"},
    "limits": {"en": "Limits", "zh": "上限"},
    "models": {"en": "Models and money", "zh": "模型与费用"},
    "judge": {"en": "Judging answers", "zh": "审校"},
}

# Rows of these names are kept among a project's settings by other parts of the program. Nobody sets them by hand.
RESERVED_PREFIXES = ("skill.", "extract.")


class SettingDefinition(Struct, frozen=True, kw_only=True):
    """One setting: its name, what values it takes, who may set it and what it does."""

    name: str
    group: str
    kind: SettingKind
    scopes: tuple[SettingScope, ...]
    sentence: Mapping[Language, str]
    default: Any = None  # None: `without_value` says what happens then
    without_value: Mapping[Language, str] = {}
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # former names
    variable: str = ""  # the environment variable that sets it for the machine
    budget_path: tuple[str, ...] = ()  # where the project's budget keeps it; empty for a row of its own

    def describe_values(self, language: Language = "en") -> str:
        """Say which values it takes: `a whole number from 1 to 1,000`."""
        chinese = language == "zh"
        match self.kind:
            case "bool":
                return "true 或 false" if chinese else "true or false"
            case "choice":
                first, last = ", ".join(self.choices[:-1]), self.choices[-1]
                return f"{first.replace(', ', '、')} 或 {last}" if chinese else f"{first} or {last}"
            case "text":
                return "文本" if chinese else "a text"
            case "table":
                return "JSON 对象" if chinese else "a JSON object"
            case _:
                low, high = f"{self.minimum:,.10g}", f"{self.maximum:,.10g}"
                if chinese:
                    return f"{low} 到 {high} 的{'整数' if self.kind == 'int' else '数'}"
                return f"{'a whole number' if self.kind == 'int' else 'a number'} from {low} to {high}"

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
            raise refuse(f"{self.name} is {self.describe_values()}, not {_shorten(value)}.")


_PROJECT: tuple[SettingScope, ...] = ("project",)
_PERSON: tuple[SettingScope, ...] = ("person",)
_MACHINE: tuple[SettingScope, ...] = ("machine",)
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
        sentence={
            "en": "Whether conversations are summarised in the background; messages are recorded either way.",
            "zh": "是否在后台概括对话；无论开关，消息都会照常记录。",
        },
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
        sentence={
            "en": "After how many rounds of a conversation a summary is made.",
            "zh": "每隔多少轮对话生成一次小结。",
        },
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
        sentence={
            "en": "After how many rounds the summaries are combined into one recap.",
            "zh": "每隔多少轮把小结合并成一条前情回顾。",
        },
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
        sentence={
            "en": "How many recaps a conversation keeps, the oldest going first; 1 keeps the newest only, "
            "0 or less keeps all.",
            "zh": "每个对话保留多少条前情回顾，超出时先去掉最旧的；1 表示只保留最新一条，0 或负数表示全部保留。",
        },
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
        sentence={
            "en": "How many characters one summary or recap may have.",
            "zh": "一条小结或前情回顾最多有多少个字符。",
        },
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
        sentence={
            "en": "How many milliseconds the model may take for one summary or recap.",
            "zh": "模型生成一条小结或前情回顾最多可用多少毫秒。",
        },
    ),
    SettingDefinition(
        name="maxHistoryTokens",
        group="history",
        kind="int",
        minimum=0,
        maximum=1_000_000,
        scopes=_BOTH,
        sentence={
            "en": "How many tokens of the conversation a prompt shows, the newest messages first.",
            "zh": "提示词中最多放入多少词元的对话历史，优先放最新的消息。",
        },
        without_value={
            "en": "as the recipe says: novel 1000, character-chat 4000, chat as many as fit",
            "zh": "由配方决定：novel 为 1000，character-chat 为 4000，chat 放得下多少就放多少",
        },
    ),
)

_CONTEXT = (
    SettingDefinition(
        name="lateJoiners",
        group="context",
        kind="bool",
        scopes=_BOTH,
        sentence={
            "en": "Whether an entry that is first noticed in this request stands behind the text until the window "
            "next moves, so that the cached part of the prompt stays as it is.",
            "zh": "本次请求中才首次出现的条目是否先放在正文之后，直到窗口下一次移动，以便提示词的缓存部分保持不变。",
        },
        without_value={
            "en": "as the recipe says: off for novels, on for chats",
            "zh": "由配方决定：小说关闭，聊天开启",
        },
    ),
    SettingDefinition(
        name="codex.relationDepth",
        group="context",
        kind="int",
        default=1,
        minimum=0,
        maximum=5,
        scopes=_BOTH,
        sentence={
            "en": "How many steps of relations bring further codex entries along; 0 brings none.",
            "zh": "沿关系最多带入几层相关的设定条目；0 表示不带入。",
        },
    ),
    SettingDefinition(
        name="search.embedding",
        group="context",
        kind="choice",
        default="off",
        choices=("off", "auto", "local", "endpoint"),
        scopes=SCOPES,
        variable="FABULA_EMBEDDING",
        sentence={
            "en": "Whether search compares passages by meaning too: not at all, with whatever is there, with the "
            "model on this machine, or with a server.",
            "zh": "搜索是否也按语义比较段落：不比较、有什么用什么、用本机模型，或用服务器。",
        },
    ),
)


def _share(layer: str, noun: Mapping[Language, str]) -> Iterable[SettingDefinition]:
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
        sentence={
            "en": f"Which share of the budget {noun['en']} may count on; the four shares add up to 1 at most.",
            "zh": f"{noun['zh']}占预算的份额；四层份额之和不超过 1。",
        },
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
        sentence={
            "en": f"How many tokens are guaranteed to {noun['en']} while the window has room.",
            "zh": f"窗口有余量时，保证给{noun['zh']}的词元数。",
        },
    )


_BUDGET = (
    *_share("rules", {"en": "rules", "zh": "规则层"}),
    *_share("settings", {"en": "settings", "zh": "设定层"}),
    *_share("retrieved", {"en": "retrieved fragments", "zh": "检索层"}),
    *_share("immediate", {"en": "the immediate text", "zh": "当前层"}),
    SettingDefinition(
        name="budget.outputReserve.share",
        group="budget",
        kind="float",
        default=_PROFILE.reply_ratio,
        minimum=0,
        maximum=1,
        scopes=_PROJECT,
        budget_path=("profile", "reply_ratio"),
        sentence={
            "en": "Which share of the window is kept free for the answer.",
            "zh": "为回答预留窗口的多大份额。",
        },
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
        sentence={
            "en": "How many tokens are kept free for the answer at most.",
            "zh": "为回答最多预留多少词元。",
        },
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
        sentence={
            "en": "How many tokens may be gathered for one prompt; more is refused (CONTEXT_INPUT_TOO_LARGE).",
            "zh": "一次提示词最多收集多少词元；超出则拒绝（CONTEXT_INPUT_TOO_LARGE）。",
        },
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
        sentence={
            "en": "How many retrieved fragments a prompt is chosen from; the best are kept.",
            "zh": "一次提示词最多从多少个检索片段中选取；保留最好的。",
        },
    ),
    SettingDefinition(
        name="limits.constraints",
        group="limits",
        kind="int",
        default=500,
        minimum=1,
        maximum=10_000,
        scopes=_PROJECT,
        sentence={
            "en": "How many constraints a project may have; the next one is refused (CONSTRAINT_LIMIT).",
            "zh": "一个项目最多有多少条约束；再多则拒绝（CONSTRAINT_LIMIT）。",
        },
    ),
    SettingDefinition(
        name="limits.assembliesAtOnce",
        group="limits",
        kind="int",
        default=_LIMITS.at_once,
        minimum=1,
        maximum=10_000,
        scopes=_MACHINE,
        variable="FABULA_ASSEMBLIES_AT_ONCE",
        budget_path=("limits", "at_once"),
        sentence={
            "en": "How many prompts of one document are assembled at once in one process.",
            "zh": "同一进程中一个文档最多同时组装多少个提示词。",
        },
    ),
    SettingDefinition(
        name="limits.assembliesWaiting",
        group="limits",
        kind="int",
        default=_LIMITS.waiting,
        minimum=0,
        maximum=1_000_000,
        scopes=_MACHINE,
        variable="FABULA_ASSEMBLIES_WAITING",
        budget_path=("limits", "waiting"),
        sentence={
            "en": "How many more requests of one document may wait; the next is refused (CONTEXT_BACKPRESSURE).",
            "zh": "一个文档最多还有多少个请求排队；再多则拒绝（CONTEXT_BACKPRESSURE）。",
        },
    ),
    SettingDefinition(
        name="limits.sourceSeconds",
        group="limits",
        kind="float",
        default=_LIMITS.source_seconds,
        minimum=0.01,
        maximum=3600,
        scopes=_MACHINE,
        variable="FABULA_SOURCE_SECONDS",
        budget_path=("limits", "source_seconds"),
        sentence={
            "en": "How many seconds a source that waits for something outside has; then the prompt goes without it.",
            "zh": "需要等待外部的来源最多有多少秒；超时则不等它。",
        },
    ),
    SettingDefinition(
        name="limits.sourceFragments",
        group="limits",
        kind="int",
        default=_LIMITS.source_fragments,
        minimum=1,
        maximum=10_000_000,
        scopes=_MACHINE,
        variable="FABULA_SOURCE_FRAGMENTS",
        budget_path=("limits", "source_fragments"),
        sentence={
            "en": "How many fragments one source may offer for a prompt.",
            "zh": "一个来源最多为一次提示词提供多少个片段。",
        },
    ),
)

_MODELS = (
    SettingDefinition(
        name="llm.provider",
        group="models",
        kind="text",
        scopes=_PERSON,
        sentence={
            "en": "Which provider writes, unless a command names another.",
            "zh": "由哪个提供方写作，除非命令另行指定。",
        },
        without_value={
            "en": "the first one with a key, else the model on this machine, else the clipboard",
            "zh": "第一个有密钥的提供方，否则用本机模型，否则用剪贴板",
        },
    ),
    SettingDefinition(
        name="llm.model",
        group="models",
        kind="text",
        scopes=_BOTH,
        sentence={
            "en": "Which model of that provider writes, unless a command names another.",
            "zh": "用该提供方的哪个模型写作，除非命令另行指定。",
        },
        without_value={"en": "the provider's usual model", "zh": "该提供方的常用模型"},
    ),
    SettingDefinition(
        name="llm.prices",
        group="models",
        kind="table",
        scopes=_PERSON,
        sentence={
            "en": "Prices that differ from the list: by model, `input`, `output`, `cached` and `written` per million "
            "tokens, and `currency`.",
            "zh": "与价目表不同的价格：按模型给出每百万词元的 input、output、cached、written，以及 currency。",
        },
        without_value={"en": "the list prices", "zh": "价目表的价格"},
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
        sentence={
            "en": "How many dollars background work may cost in each of your projects per calendar month (UTC).",
            "zh": "每个自然月（UTC）后台工作在你的每个项目中最多可花多少美元。",
        },
    ),
    SettingDefinition(
        name="runs.keepPrompts",
        group="models",
        kind="bool",
        default=False,
        scopes=_PERSON,
        sentence={
            "en": "Whether the whole prompt of every run is kept on record.",
            "zh": "是否在记录中保留每次运行的完整提示词。",
        },
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
        sentence={
            "en": "What happens with an answer that breaks a constraint: nothing, it is marked, or it is written "
            "again.",
            "zh": "回答违反约束时怎么办：不处理、标出来，或重写。",
        },
    ),
    SettingDefinition(
        name="judge.tries",
        group="judge",
        kind="int",
        default=2,
        minimum=0,
        maximum=5,
        scopes=_BOTH,
        sentence={
            "en": "How many times an answer is written again at most.",
            "zh": "回答最多重写几次。",
        },
    ),
    SettingDefinition(
        name="judge.withModel",
        group="judge",
        kind="bool",
        default=False,
        scopes=_BOTH,
        sentence={
            "en": "Whether the model judges answers too, beside what a program can check.",
            "zh": "除程序可检查的之外，是否也让模型审校回答。",
        },
    ),
)

SETTINGS: Mapping[str, SettingDefinition] = {
    one.name: one for one in (*_HISTORY, *_CONTEXT, *_BUDGET, *_LIMIT_SETTINGS, *_MODELS, *_JUDGE)
}
_BY_ANY_NAME = {name.lower(): one for one in SETTINGS.values() for name in (one.name, *one.aliases)}


def find_setting(name: str) -> SettingDefinition:
    """Find a setting by its name or a former one, in any case; refuse an unknown name with the nearest ones."""
    found = _BY_ANY_NAME.get(name.strip().lower())
    if found is None:
        nearest = suggest_names(name)
        hint = f" Did you mean {' or '.join(nearest)}?" if nearest else " `fabula setting list` shows all of them."
        raise refuse(f"There is no setting {name[:100]!r}.{hint}")
    return found


def suggest_names(name: str) -> list[str]:
    """The settings whose names are nearest to a wrong one, the nearest first."""
    wanted = name.strip().lower()
    by_word: dict[str, SettingDefinition] = {}
    for known, definition in _BY_ANY_NAME.items():
        by_word[known] = definition
        by_word.setdefault(known.rpartition(".")[2], definition)
    matches = get_close_matches(wanted, by_word, n=5, cutoff=0.6)
    matches += get_close_matches(wanted.rpartition(".")[2], by_word, n=5, cutoff=0.75)
    return list(dict.fromkeys(by_word[match].name for match in matches))[:3]


def is_reserved(name: str) -> bool:
    """Tell whether a name belongs to rows that other parts of the program keep among the settings."""
    return name.startswith(RESERVED_PREFIXES)


def refuse(sentence: str) -> FabulaError:
    """Make the refusal of a setting."""
    return FabulaError(Code.SETTING_INVALID, f"{sentence} Nothing was changed.")


def _shorten(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"

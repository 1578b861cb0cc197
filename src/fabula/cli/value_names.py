"""Words for values that are stored in English: kinds, states, levels and origins, in the language of this run.

What a person types (`--type character`) stays as it is; what the command line prints goes through `name_value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabula.core.messages import Sentence, join_names, message, plural

_NAMES = (
    # codex entries
    message("character"),
    message("location"),
    message("event"),
    message("item"),
    message("faction"),
    message("lore"),
    message("other"),
    message("always"),
    message("when_detected"),
    message("manual"),
    message("never"),
    message("reader"),
    # constraints
    message("narrative"),
    message("world"),
    message("style"),
    message("plot"),
    message("user"),
    message("project"),
    message("learned"),
    message("graph"),
    # roles and rights
    message("owner"),
    message("editor"),
    message("player"),
    message("debugger"),
    message("sign_in"),
    message("assemble"),
    message("play"),
    message("read"),
    message("edit"),
    message("generate"),
    message("inspect"),
    message("manage"),
    message("members"),
    message("store"),
    # jobs
    message("queued"),
    message("running"),
    message("done"),
    message("failed"),
    message("cancelled"),
    message("synopsis"),
    message("index"),
    message("recap"),
    message("proposals"),
    message("facts"),
    message("needs"),
    # why an earlier text was replaced
    message("typed"),
    message("labelled"),
    message("imported"),
    message("replaced"),
    message("restored"),
    message("merged"),
    message("split"),
    message("renamed"),
    # runs, and why they ended
    message("begun"),
    message("open"),
    message("stopped"),
    message("accepted"),
    message("edited"),
    message("rejected"),
    message("retried"),
    message("used"),
    message("stop"),
    message("length"),
    message("filtered"),
    message("copied"),
    # layers
    message("identity"),
    message("preset"),
    message("rules"),
    message("settings"),
    message("retrieved"),
    message("immediate"),
    # memory
    message("preference"),
    message("episode"),
    message("style sample"),
    message("working"),
    message("conversation"),
    message("confirmed"),
    message("proposed"),
    message("dismissed"),
    message("rewritten"),
    # synopses and recaps
    message("fresh"),
    message("stale"),
    message("missing"),
    message("hand"),
    message("model"),
    message("extract"),
    message("summary"),
    # skills
    message("cursor"),
    message("selection"),
    message("document"),
    message("built in"),
    message("folder"),
    message("insert"),
    message("replace"),
    message("entries"),
    message("show"),
    # lorebooks
    message("exact"),
    # settings
    message("person"),
    message("machine"),
    message("default"),
    # areas of a rename
    message("manuscript"),
    message("codex"),
    message("constraints"),
    message("memory"),
    message("lorebook"),
    message("outcomes"),
    message("presets"),
    message("profile"),
    message("recaps"),
    message("runs"),
    # areas of a save
    message("revisions"),
    message("renames"),
    message("people"),
    # checks of the store
    message("engine"),
    message("tables"),
    message("integrity"),
    message("versions"),
    message("disk"),
    message("copies"),
    # roles
    message("system"),
    message("assistant"),
)
_BY_VALUE = {name.template: name for name in _NAMES} | {  # values that are no words
    "handed_over": message("handed over"),
    "style_sample": message("style sample"),
    "en": message("English"),
    "zh": message("Chinese"),
}


def name_value(value: str) -> Sentence | str:
    """Return the word for a value; a value that people made up as it is."""
    return _BY_VALUE.get(value, value)


def name_values(values: Iterable[str]) -> Sentence:
    """Return the words for several values, with commas between them."""
    return join_names([name_value(value) for value in values])


def add_rule_number(sentence: Sentence | str, rule_id: str, numbers: Mapping[str, int]) -> Sentence | str:
    """Return what is wrong with a text, with the number of the constraint that it breaks where there is one."""
    number = numbers.get(rule_id)
    return sentence if number is None else message("{sentence} (constraint {number})", sentence=sentence, number=number)


def count_fragments(kind: str, count: int) -> Sentence:
    """Say how many fragments of a kind there are, by the first part of their source."""
    match kind:
        case "codex":
            return plural(count, "{count} entry", "{count} entries")
        case "search":
            return plural(count, "{count} passage", "{count} passages")
        case "constraint":
            return plural(count, "{count} rule", "{count} rules")
        case "memory":
            return plural(count, "{count} memory", "{count} memories")
        case "synopsis":
            return plural(count, "{count} synopsis", "{count} synopses")
        case "history":
            return plural(count, "{count} message", "{count} messages")
        case _:
            return plural(count, "{count} text", "{count} texts")

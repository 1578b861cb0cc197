/** Names of what a prompt is made of, since a source is an id that nobody reads. */
import { t, type Text } from "../../i18n/index.svelte";
import { story } from "../../story.svelte";
import { texts } from "./texts";

const KINDS: Record<string, Text> = { ...texts, synopsis: texts.synopses, recap: texts.recaps, search: texts.passages, editor: texts.around, pinned: texts.history, lore: texts.lorebook, participants: texts.persona, absent: texts.persona, mode: texts.turn, skill: texts.input };

/** Return what sources of a kind are called. */
export function labelSource(kind: string): string {
  return t(KINDS[kind] ?? texts.other);
}

/** Return the name of the entry or chapter that a source is of, if it has one. */
export function nameSource(kind: string, id: string): string {
  if (kind === "codex") return story.nameOf(id);
  const chapter = story.chapters.find((one) => id === one.id || id.startsWith(`${one.id}:`) || id.startsWith(`${one.id}#`));
  return chapter?.title ?? "";
}

/** Return a source in words, such as “Codex · Mara Venn”. */
export function describeSource(source: string): string {
  const [kind = "", ...rest] = source.replace(/^codex:entity:/, "codex:").split(":");
  const id = rest.join(":");
  return [labelSource(kind), nameSource(kind, kind === "codex" ? id.replace(/#.*$/, "") : id)].filter(Boolean).join(" · ");
}

/** What the view of lorebooks works out by itself: an entry as it is edited, what of it was changed, and its name. */
import type { Schemas } from "../../lib/api";

export type LoreEntry = Schemas["LoreEntry"];
export type Logic = 0 | 1 | 2 | 3;

/** An entry in the form in which it is edited: keys stand one a line, since a key may have commas. */
export interface EditedEntry {
  comment: string;
  content: string;
  key: string;
  keysecondary: string;
  selectiveLogic: number;
  constant: boolean;
  disable: boolean;
  order: number;
  position: number;
  depth: number;
  probability: number;
  sticky: number;
  cooldown: number;
  delay: number;
  group: string;
  caseSensitive: boolean;
  matchWholeWords: boolean;
}

const LINES = ["key", "keysecondary"] as const;
const DEFAULTS = { order: 100, position: 0, depth: 4, probability: 100, sticky: 0, cooldown: 0, delay: 0, selectiveLogic: 0 } as const;

export function splitLines(text: string): string[] {
  return [...new Set(text.split("\n").map((one) => one.trim()).filter(Boolean))];
}

export function editEntry(entry: Partial<LoreEntry> | null): EditedEntry {
  const number = (name: keyof typeof DEFAULTS) => Number(entry?.[name] ?? DEFAULTS[name]);
  return {
    comment: entry?.comment ?? "",
    content: entry?.content ?? "",
    key: (entry?.key ?? []).join("\n"),
    keysecondary: (entry?.keysecondary ?? []).join("\n"),
    selectiveLogic: number("selectiveLogic"),
    constant: entry?.constant ?? false,
    disable: entry?.disable ?? false,
    order: number("order"),
    position: number("position"),
    depth: number("depth"),
    probability: number("probability"),
    sticky: number("sticky"),
    cooldown: number("cooldown"),
    delay: number("delay"),
    group: entry?.group ?? "",
    caseSensitive: entry?.caseSensitive ?? false,
    matchWholeWords: entry?.matchWholeWords ?? false,
  };
}

/** Return the fields that were changed, by their names in world info; what a book did not say stays unsaid. */
export function listChanges(before: EditedEntry, after: EditedEntry): Record<string, unknown> {
  const changes: Record<string, unknown> = {};
  for (const name of Object.keys(after) as (keyof EditedEntry)[]) {
    if (after[name] === before[name]) continue;
    changes[name] = (LINES as readonly string[]).includes(name) ? splitLines(after[name] as string) : after[name];
  }
  if ("keysecondary" in changes) changes.selective = (changes.keysecondary as string[]).length > 0;
  if ("probability" in changes) changes.useProbability = true;
  return changes;
}

/** Return what an entry is called: its title, else its keys, else its first words. */
export function nameEntry(entry: LoreEntry): string {
  return entry.comment?.trim() || (entry.key ?? []).join(", ") || (entry.content ?? "").trim().slice(0, 60) || String(entry.uid);
}

/** Return the entries that have all the words in their title, keys or text. */
export function filterEntries(entries: readonly LoreEntry[], words: string): LoreEntry[] {
  const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return [...entries];
  return entries.filter((one) => {
    const text = [one.comment, one.content, ...(one.key ?? []), ...(one.keysecondary ?? [])].join("\n").toLocaleLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

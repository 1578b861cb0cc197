/** What the codex view works out by itself: lists as people type them, filters, and what a dropped file is. */
import type { Entry } from "../../lib/story.svelte";

export interface EntryFilter {
  words: string;
  kind: string;
  level: string;
}

/** Return the entries that have all the words in a name, a tag or their text; names come first. */
export function filterEntries(entries: readonly Entry[], filter: EntryFilter): Entry[] {
  const words = filter.words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const chosen = entries.filter((one) => (!filter.kind || one.type === filter.kind) && (!filter.level || one.aiContextLevel === filter.level));
  if (!words.length) return chosen;
  const ranked: { entry: Entry; isNamed: boolean }[] = [];
  for (const entry of chosen) {
    const names = [entry.name, ...entry.aliases].join("\n").toLocaleLowerCase();
    if (words.every((word) => names.includes(word))) ranked.push({ entry, isNamed: true });
    else {
      const rest = [names, ...entry.tags, entry.description, entry.notes, ...Object.entries(entry.details).flat()].join("\n").toLocaleLowerCase();
      if (words.every((word) => rest.includes(word))) ranked.push({ entry, isNamed: false });
    }
  }
  return [...ranked.filter((one) => one.isNamed), ...ranked.filter((one) => !one.isNamed)].map((one) => one.entry);
}

/** Read names that are separated by commas of either script, each once. */
export function splitNames(text: string): string[] {
  return [...new Set(text.split(/[,，、\n]/).map((one) => one.trim()).filter(Boolean))];
}

/** Read details, one a line as “hair: brown”; a line without a colon belongs to the one before it. */
export function readDetails(text: string): Record<string, string> {
  const details: Record<string, string> = {};
  let last = "";
  for (const line of text.split("\n")) {
    const found = /^([^:：]+)[:：](.*)$/.exec(line);
    if (found) {
      last = found[1]!.trim();
      details[last] = found[2]!.trim();
    } else if (line.trim() && last) details[last] += `\n${line.trim()}`;
  }
  return details;
}

export function writeDetails(details: Record<string, string>): string {
  return Object.entries(details).map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** Return what the server has to be sent so that details become these: an empty value takes one away. */
export function changeDetails(before: Record<string, string>, after: Record<string, string>): Record<string, string> {
  const gone = Object.keys(before).filter((name) => !(name in after));
  return { ...after, ...Object.fromEntries(gone.map((name) => [name, ""])) };
}

const CARD_FIELDS = ["first_mes", "personality", "mes_example", "char_persona", "char_name"];

/** Tell whether a file is a character card or a lorebook: pictures are cards, JSON is what its fields say. */
export async function recogniseFile(file: File): Promise<"card" | "book"> {
  if (!/\.json$/i.test(file.name)) return "card";
  try {
    const found = JSON.parse(await file.text()) as Record<string, unknown>;
    const data = (found.data ?? found) as Record<string, unknown>;
    return CARD_FIELDS.some((name) => name in data) || String(found.spec ?? "").startsWith("chara_card") ? "card" : "book";
  } catch {
    return "book"; // the server says what is wrong with it
  }
}

/** Return a round step at which at most so many of the first numbers are shown. */
export function spaceNumbers(count: number, most: number): number {
  for (let ten = 1; ; ten *= 10) for (const step of [ten, 2 * ten, 5 * ten]) if (count / step <= Math.max(1, most)) return step;
}

/** The name under which the browser keeps what is typed into the form of an entry, or into that of a new one. */
export function nameForm(entry: { id: string } | null): string {
  return `codex.${entry?.id ?? "new"}`;
}

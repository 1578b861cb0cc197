/**
 * Emphasis as people and models write it: `*word*` and `**word**`. Only these asterisks are read; everything else, marks
 * of HTML too, stays text. An asterisk between spaces or digits, at the head of a list or without its pair stays.
 */
export interface Part {
  text: string;
  kind: "" | "em" | "strong";
}

// Latin words part emphasis by spaces and marks; Chinese has none between words.
const MARKED = /(?<![\p{L}\p{N}*]|\\)(\*{1,3})(?![\s*])([^*\n]*[^*\s])\1(?![\p{L}\p{N}*])/gu;
const MARKED_HAN = /(?<![\p{N}a-zA-Z*]|\\)(\*{1,3})(?![\s*])([^*\n]*[^*\s])\1(?![\p{N}a-zA-Z*])/gu;

/** Split a text into stretches with and without emphasis. Whoever edits it gets the text itself. */
export function splitEmphasis(text: string): Part[] {
  if (!text.includes("*")) return [{ text, kind: "" }];
  const parts: Part[] = [];
  let end = 0;
  for (const found of text.matchAll(/\p{Script=Han}/u.test(text) ? MARKED_HAN : MARKED)) {
    if (found.index > end) parts.push({ text: text.slice(end, found.index), kind: "" });
    parts.push({ text: found[2]!, kind: found[1]!.length === 1 ? "em" : "strong" });
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), kind: "" });
  return parts;
}

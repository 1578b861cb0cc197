/** Cuts the part of a passage around its first found word, with the found words marked. */
import { countUnits } from "../characters";

export interface SnippetPart {
  text: string;
  isMarked: boolean;
}

const SIZE = 420; // units that are shown of a passage
const BEFORE = 1 / 3; // of these before the first found word
const DOTS = "…";

/** Return a passage, or the part around its first mark, in pieces; marks are spans of characters. */
export function cutSnippet(text: string, marks: readonly (readonly number[])[], size = SIZE): SnippetPart[] {
  const spans = marks.map(([from = 0, to = 0]) => [countUnits(text, from), countUnits(text, to)] as const);
  const isWhole = text.length <= size;
  const first = spans[0]?.[0] ?? 0;
  const start = isWhole ? 0 : findGap(text, Math.max(0, Math.min(first - Math.floor(BEFORE * size), text.length - size)), first);
  const end = isWhole ? text.length : findGap(text, Math.min(text.length, start + size), text.length);
  const parts: SnippetPart[] = [];
  const add = (from: number, to: number, isMarked: boolean) => from < to && parts.push({ text: text.slice(from, to), isMarked });
  if (start > 0) parts.push({ text: DOTS, isMarked: false });
  let at = start;
  for (const [from, to] of spans) {
    if (from < at || to > end) continue;
    add(at, from, false);
    add(from, to, true);
    at = to;
  }
  add(at, end, false);
  if (end < text.length) parts.push({ text: DOTS, isMarked: false });
  return parts;
}

/** Return the next space from an offset on, so that no word and no character is cut; the offset where none is near. */
function findGap(text: string, offset: number, limit: number): number {
  if (offset <= 0 || offset >= text.length) return offset;
  const space = text.slice(offset, Math.min(limit, offset + 24)).search(/\s/);
  if (space >= 0) return offset + space + 1;
  return /[\udc00-\udfff]/.test(text[offset]!) ? offset - 1 : offset;
}

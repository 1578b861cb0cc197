/** Lengths of texts: counted as the book's language counts them, named in the reader's. */
import { t } from "../../lib/i18n/index.svelte";
import { story } from "../../lib/story.svelte";
import { texts } from "./texts";

/** Say how long a text is: in words, or in characters where the book is Chinese. */
export function nameLength(n: number): string {
  return t(story.lang.startsWith("zh") ? texts.characters : texts.words, { n });
}

const MOST_WORDS = 30_000; // of one chapter, as the server says of what it imports
const keyOf = (chapter: string) => `fabula.long.${chapter}`;

/** Whether a chapter is so long that it is probably several, and the writer has not said otherwise. */
export function isSeveral(chapter: { id: string; words?: number | null }): boolean {
  if ((chapter.words ?? 0) <= MOST_WORDS) return false;
  try {
    return localStorage.getItem(keyOf(chapter.id)) === null;
  } catch {
    return true; // a browser may keep nothing
  }
}

/** Remember that a long chapter is meant to be one. */
export function keepWhole(chapter: string): void {
  try {
    localStorage.setItem(keyOf(chapter), "1");
  } catch {
    // a browser may keep nothing
  }
}

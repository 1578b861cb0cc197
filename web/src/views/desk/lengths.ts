/** Lengths of texts: counted as the book's language counts them, named in the reader's. */
import { t } from "../../lib/i18n/index.svelte";
import { story } from "../../lib/story.svelte";
import { texts } from "./texts";

/** Say how long a text is: in words, or in characters where the book is Chinese. */
export function nameLength(n: number): string {
  return t(story.lang.startsWith("zh") ? texts.characters : texts.words, { n });
}

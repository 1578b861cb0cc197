/** Titles of chapters: new ones, and with their number once. */
import { story } from "./story.svelte";

/** Return a title that no chapter has yet: as it is, else with a number behind it. */
export function uniqueTitle(title: string): string {
  const known = new Set(story.chapters.map((one) => one.title));
  if (!known.has(title)) return title;
  let number = 2;
  while (known.has(`${title} ${number}`)) number++;
  return `${title} ${number}`;
}

const NUMBER = /^\s*(chapter|kapitel|chapitre)\s+(\d+|[ivxlcdm]+)\b[\s.:\u2013\u2014-]*|^\s*第\s*[\d〇零一二三四五六七八九十百千两]+\s*[章回节]\s*[：:]?\s*|^\s*\d{1,4}[.):：、]\s*(?=\D)/i;

/** Return a title without the number of its chapter, which stands before it already. */
export function shortenTitle(title: string): string {
  return title.replace(NUMBER, "") || title;
}

/** Return what a chapter is called in a list: its number once, before its title, also where the title has it too. */
export function nameChapter({ number, title }: { number: number | null; title: string }, lead = String(number)): string {
  const rest = number === null ? "" : title.replace(NUMBER, "");
  return rest ? `${lead} · ${rest}` : title || (number === null ? "" : lead);
}

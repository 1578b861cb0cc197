/** What was pinned or left out by hand in a chapter or a conversation, as this browser remembers it. */
export interface HandChoices {
  include: string[];
  exclude: string[];
}

const keyOf = (place: string) => `fabula.context.${place}`;
const readList = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

/** Return what was pinned or left out at a place; nothing where the browser has nothing. */
export function readHandChoices(place: string): HandChoices {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(place)) ?? "{}") as Partial<HandChoices>;
    return { include: readList(kept.include), exclude: readList(kept.exclude) };
  } catch {
    return { include: [], exclude: [] }; // a browser may keep nothing, or something else
  }
}

/** Remember what was pinned or left out at a place. */
export function writeHandChoices(place: string, { include, exclude }: HandChoices): void {
  try {
    if (!place) return;
    if (include.length + exclude.length) localStorage.setItem(keyOf(place), JSON.stringify({ include, exclude }));
    else localStorage.removeItem(keyOf(place));
  } catch {
    // a browser may keep nothing
  }
}

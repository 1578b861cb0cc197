/** The server counts characters, the browser units of UTF-16: most characters are one unit, an emoji is two. */

/** Return how many units the first characters of a text take. */
export function countUnits(text: string, characters: number): number {
  let units = 0;
  for (let count = 0; count < characters && units < text.length; count++) units += text.codePointAt(units)! > 0xffff ? 2 : 1;
  return units;
}

/** Return how many characters the first units of a text are. */
export function countCharacters(text: string, units = text.length): number {
  return Array.from(text.slice(0, units)).length;
}

/** Who answers in a place of the page in place of the settings, as this browser remembers it. */
export const DEMO = "demo";
const keyOf = (place: string) => `fabula.provider.${place}`;

/** Return the provider that was chosen for a place; an empty one is that of the settings, null says that none was chosen. */
export function readProvider(place: string): string | null {
  try {
    return localStorage.getItem(keyOf(place));
  } catch {
    return null; // a browser may keep nothing
  }
}

/** Remember who was chosen for a place; null forgets it. */
export function writeProvider(place: string, provider: string | null): void {
  try {
    if (provider === null) localStorage.removeItem(keyOf(place));
    else localStorage.setItem(keyOf(place), provider);
  } catch {
    // a browser may keep nothing
  }
}

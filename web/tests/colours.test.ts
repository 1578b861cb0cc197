/** Every pair of colours that carries text has a contrast of 4.5 or more, in both themes. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync("src/app.css", "utf-8");

function readPalette(selector: string): Record<string, string> {
  const block = css.slice(css.indexOf(`${selector} {`)).split("}")[0]!;
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map(([, name, value]) => [name!, value!]));
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

export function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

const grounds = ["paper", "panel"];
const inks = ["ink", "soft", "accent", "rules", "settings", "retrieved", "immediate", "bad", "good"];

test.each([":root", ':root[data-theme="dark"]'])("text on paper and panel can be read in %s", (selector) => {
  const palette = readPalette(selector);
  for (const ground of grounds) {
    for (const ink of inks) {
      expect(contrast(palette[ink]!, palette[ground]!), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  }
  expect(contrast(palette["accent-ink"]!, palette.accent!)).toBeGreaterThanOrEqual(4.5);
  expect(contrast(palette.ink!, palette.mark!)).toBeGreaterThanOrEqual(4.5);
  expect(contrast(palette.edge!, palette.paper!), "the edge of a field").toBeGreaterThanOrEqual(3);
});

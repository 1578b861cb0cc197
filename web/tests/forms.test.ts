/** Where Save stands: at the foot of every form, at the right, behind Cancel. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const list = (folder: string): string[] => readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? list(join(folder, one.name)) : one.name.endsWith(".svelte") ? [join(folder, one.name)] : []));
const SAVES = /<Button(?:[^>]|=>)*>\{t\(texts\.(save|saveBook)\)\}/g; // an arrow of a function ends no tag
const FOOT = /<FormActions\b[^]*?<\/FormActions>|\{#snippet actions\(\)\}[^]*?\{\/snippet\}/g;

test("every button that saves stands in the foot of its form or dialog, and is the last one there", () => {
  const files = list("src").map((path) => ({ path, source: readFileSync(path, "utf-8") }));
  const saving = files.filter(({ source }) => source.match(SAVES));
  expect(saving.length).toBeGreaterThan(9);
  for (const { path, source } of saving) {
    const feet = source.match(FOOT) ?? [];
    const count = (text: string) => (text.match(SAVES) ?? []).length;
    expect(`${path}: ${feet.reduce((sum, one) => sum + count(one), 0)}`).toBe(`${path}: ${count(source)}`);
    for (const foot of feet.filter((one) => count(one))) expect(`${path}: ${foot.match(/<Button(?:[^>]|=>)*>\{t\(texts\.\w+\)\}/g)!.at(-1)!.match(/texts\.(\w+)/)![1]}`).toMatch(/: save(Book)?$/);
  }
});

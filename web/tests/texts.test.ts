/** Every string of the page has an English and a Chinese text; none is written into the markup. */
import { parse } from "svelte/compiler";
import { expect, test } from "vitest";
import type { Text } from "../src/lib/i18n/index.svelte";

const modules = import.meta.glob<{ texts?: Record<string, Text> }>("../src/**/texts.ts", { eager: true });
const all = Object.entries(modules).flatMap(([file, { texts }]) =>
  Object.entries(texts ?? {}).map(([name, text]) => ({ name: `${file} ${name}`, text })),
);
// Words that Chinese writers use as they are.
const KEPT = /Fabula|SillyTavern|fabula serve|Markdown|DOCX|EPUB|OPENAI_API_KEY|API|JSON|PNG|CHARX|RTF|Scrivener|\.fabula|\.jsonl|English page|English|Ctrl|Tab|Esc|\{\w+\}/g;

test("there are texts", () => expect(all.length).toBeGreaterThan(50));

test.each(all)("$name is written in both languages", ({ text }) => {
  const english = typeof text.en === "string" ? [text.en] : [text.en.one, text.en.other];
  const holes = (form: string) => [...new Set(form.match(/\{\w+\}/g) ?? [])].sort();
  for (const form of english) {
    expect(form.trim()).not.toBe("");
    expect(holes(english.at(-1)!)).toEqual(holes(text.zh));
  }
  expect(text.zh.replace(KEPT, "")).not.toMatch(/[A-Za-z]{2,}/);
  expect(text.zh, "quotation marks are “” and those of titles 《》").not.toMatch(/[「」『』]/);
});

const markup = import.meta.glob<string>("../src/**/*.svelte", { eager: true, query: "?raw", import: "default" });
const ATTRIBUTES = ["aria-label", "title", "placeholder", "alt", "label", "hint", "text"];
const NAMES = ["Fabula"];

function findPlainWords(source: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== "object" || node === null) return;
    const one = node as Record<string, unknown>;
    if (one.type === "Text" && /\p{L}{2,}/u.test(String(one.data)) && !NAMES.includes(String(one.data).trim())) found.push(String(one.data).trim());
    if (one.type === "StyleDirective") return;
    if (one.type === "Attribute" && !ATTRIBUTES.includes(String(one.name))) {
      // Names of classes, roles and the like are no text; what stands in braces may hold markup.
      for (const part of [one.value].flat()) if ((part as { type?: string })?.type !== "Text") visit(part);
      return;
    }
    for (const [key, value] of Object.entries(one)) if (key !== "parent" && key !== "instance" && key !== "module" && key !== "css") visit(value);
  };
  visit(parse(source, { modern: true }).fragment);
  return found;
}

test.each(Object.keys(markup))("%s has no words in its markup", (file) => {
  expect(findPlainWords(markup[file]!)).toEqual([]);
});

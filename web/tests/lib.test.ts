import { expect, test, vi } from "vitest";
import { makeUrl, Problem, send } from "../src/lib/api";
import { commands, nameKey } from "../src/lib/commands.svelte";
import { cutEvents } from "../src/lib/events";
import { language, t } from "../src/lib/i18n/index.svelte";
import { makeHash, router } from "../src/lib/router.svelte";

test("an address has its parameters and its query, and leaves out what is empty", () => {
  const url = makeUrl("/projects/{project}/search", { project: "A/B 书" }, { words: "a&b", names: ["x", "y"], none: undefined });
  expect(url).toBe("/api/projects/A%2FB%20%E4%B9%A6/search?words=a%26b&names=x&names=y");
});

test("a refusal becomes a problem with its sentence", async () => {
  const body = JSON.stringify({ detail: "There is no such chapter.", code: "TREE_INVALID" });
  vi.stubGlobal("fetch", async () => new Response(body, { status: 404 }));
  const refused = await send("GET", "/api/x").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused).toMatchObject({ message: "There is no such chapter.", code: "TREE_INVALID", status: 404 });
  vi.unstubAllGlobals();
});

test("events are cut where they end, and comments are no events", () => {
  const { events, rest } = cutEvents('id: s.1\nevent: delta\ndata: {"text":"a"}\n\n: still here\n\nid: s.2\neve');
  expect(events).toEqual([{ id: "s.1", kind: "delta", data: { text: "a" } }]);
  expect(rest).toBe("id: s.2\neve");
});

test("addresses behind the # come back as they were", () => {
  router.read(makeHash(["p/1", "write", "第一章"], { at: "3" }));
  expect([router.project, router.view, router.rest, router.query.get("at")]).toEqual(["p/1", "write", ["第一章"], "3"]);
  router.read("#/%E0%A4%A");
  expect(router.project).toBe("%E0%A4%A");
});

test("no key fires while a character is being composed", () => {
  const run = vi.fn();
  const remove = commands.add([{ id: "x", label: { en: "X", zh: "甲" }, key: "Mod+J", run }]);
  commands.press(new KeyboardEvent("keydown", { key: "j", ctrlKey: true, isComposing: true }));
  expect(run).not.toHaveBeenCalled();
  commands.press(new KeyboardEvent("keydown", { key: "j", ctrlKey: true }));
  expect(run).toHaveBeenCalledOnce();
  remove();
  commands.press(new KeyboardEvent("keydown", { key: "j", ctrlKey: true }));
  expect(run).toHaveBeenCalledOnce();
});

test("keys have one name", () => {
  expect(nameKey(new KeyboardEvent("keydown", { key: "¡", code: "Digit1", altKey: true }))).toBe("Alt+1"); // on a Mac
  expect(nameKey(new KeyboardEvent("keydown", { key: "F", ctrlKey: true, shiftKey: true }))).toBe("Mod+Shift+F");
});

test("with Alt, a Mac types the signs of its layout into a text, and the digits are keys all the same", async () => {
  vi.stubGlobal("navigator", { platform: "MacIntel" });
  vi.resetModules();
  const { nameKey } = await import("../src/lib/commands.svelte");
  const field = document.body.appendChild(document.createElement("textarea"));
  const button = document.body.appendChild(document.createElement("button"));
  const names: string[] = [];
  for (const one of [field, button] as HTMLElement[]) one.addEventListener("keydown", (event) => names.push(nameKey(event)));
  for (const [key, code] of [["@", "Digit2"], ["[", "Digit5"], ["™", "Digit2"], ["2", "Digit2"]] as const) {
    for (const one of [field, button]) one.dispatchEvent(new KeyboardEvent("keydown", { key, code, altKey: true }));
  }
  expect(names).toEqual(["Alt+@", "Alt+2", "Alt+[", "Alt+5", "Alt+2", "Alt+2", "Alt+2", "Alt+2"]);
  field.remove();
  button.remove();
  vi.unstubAllGlobals();
  vi.resetModules();
});

test("a text takes its values and its form for one", () => {
  const text = { en: { one: "{n} word", other: "{n} words" }, zh: "{n} 字" };
  expect([t(text, { n: 1 }), t(text, { n: 1200 })]).toEqual(["1 word", "1,200 words"]);
  language.set("zh");
  expect(t(text, { n: 2 })).toBe("2 字");
  language.set("en");
});

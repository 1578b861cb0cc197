/** What views call things: chapters with their number once, settings and answers in a writer's words. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { afterEach, expect, test } from "vitest";
import { language } from "../src/lib/i18n/index.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import { nameChapter } from "../src/lib/titles";
import EntryView from "../src/views/codex/EntryView.svelte";
import Codex from "../src/views/codex/Codex.svelte";
import { namePart } from "../src/views/presets/nodes";
import Settings from "../src/views/settings/Settings.svelte";
import { nameProvider, nameValue } from "../src/views/settings/values";
import { explainReason, nameOutcome } from "../src/views/runs/runs";
import { serve } from "./serve";

afterEach(() => language.set("en"));

test("a chapter has its number once", () => {
  const names = { "Chapter 5: Digging": "5 · Digging", "5. Digging": "5 · Digging", Digging: "5 · Digging", "Chapter 5": "Chapter 5", "第五章 雾": "5 · 雾", "1984": "5 · 1984", "": "5" };
  for (const [title, name] of Object.entries(names)) expect(nameChapter({ number: 5, title })).toBe(name);
  expect(nameChapter({ number: null, title: "Chapter 5: Digging" })).toBe("Chapter 5: Digging");
  expect(nameChapter({ number: 5, title: "5. Digging" }, "Chapter 5")).toBe("Chapter 5 · Digging");
});

test("an answer that was said in Talk is not called that of a job", () => {
  expect(nameOutcome({ outcome: "used", skillId: "chat" })).toBe("said in Talk");
  expect(nameOutcome({ outcome: "used", skillId: "synopsis" })).toBe("used by a job");
  expect(nameOutcome({ outcome: "retried", skillId: "chat" })).toBe("asked again");
});

test("a failure is told in the page's own words, and a code never", () => {
  expect(explainReason({ why: "RECAP_NO_MODEL", note: "`background = NAME`" })).toContain("Connect one in the settings");
  expect(explainReason({ why: "LLM_TIMEOUT", note: "It took too long." })).toBe("It took too long.");
  expect(explainReason({ why: "LLM_TIMEOUT", note: null })).toBe("");
});

test("values and providers have names", () => {
  expect([true, 1200, 0.15, "embedding-first", "odd", null].map(nameValue)).toEqual(["yes", "1,200", "0.15", "by meaning first, then by words", "odd", ""]);
  expect(["openai", "ollama", "local", "my-server"].map(nameProvider)).toEqual(["OpenAI", "Ollama, on this machine", "The small model that comes with Fabula", "my-server"]);
  language.set("zh");
  expect([namePart("author-note"), namePart("world_info"), namePart("tide-table")]).toEqual(["作者注", "世界书内容", "tide-table"]);
});

test("settings show no names of the registry, and a yes or no that is not set says what holds", async () => {
  const setting = { name: "lateJoiners", group: "context", sentence: "Whether late ones stand behind.", kind: "bool", accepts: "true or false", default: null, value: null, withoutValue: "off for novels", origin: "default", scopes: ["project"], choices: [], unusable: {}, minimum: null, maximum: null };
  story.info = { id: "b", title: "Fog", language: "en" } as never;
  serve({ "GET /projects/b/settings": { settings: [setting], groups: { context: "Context" } }, "GET /projects/b/model": { provider: "demo" } });
  render(Settings);
  const field = (await screen.findByLabelText("Whether late ones stand behind.")) as HTMLSelectElement;
  expect(field.selectedOptions[0]!.textContent).toBe("off for novels");
  expect(screen.queryByText(/lateJoiners|true or false/)).toBeNull();
});

test("a secret that somebody learns later says so where the change stands", async () => {
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [{ id: "c6", title: "Six", number: 6, kind: "chapter", depth: 0 }] as never;
  story.entries = ["verity", "ines"].map((id) => ({ id, name: id === "ines" ? "Ines" : "Aunt Verity", type: "character" })) as never;
  const progressions = [{ number: 1, text: "Sold the gold.", since: { document: "c6", offset: 4 }, knownTo: ["verity"] }];
  const sent: unknown[] = [];
  const entry = { id: "verity", name: "Aunt Verity", type: "character", aiContextLevel: "always", aliases: [], description: "", details: {}, tags: [], notes: "", knownTo: null, since: null, progressions, relations: [] };
  const knower = (id: string, name: string, since: object | null) => ({ progression: 1, knower: id, name, since });
  serve({
    "GET /projects/b/timeline": { documents: [], appearances: [], facts: [] },
    "GET /projects/b/codex/verity/knowers": { items: [knower("verity", "Aunt Verity", null), knower("ines", "Ines", { document: "c6", offset: 0 })], next: null },
    "GET /projects/b/codex/verity/facts": { facts: [] },
    "PATCH /projects/b/codex/verity/progressions/1": (body: unknown) => (sent.push(body), {}),
  });
  render(EntryView, { props: { entry: entry as never, onedit: () => undefined, ondelete: () => undefined, onchange: () => Promise.resolve() } });
  expect(await screen.findByText(/Known to Aunt Verity at first; then to Ines, from Chapter 6 · Six on\./)).toBeTruthy();
  expect(screen.queryByText(/Known to Aunt Verity only/)).toBeNull();
  await fireEvent.click(screen.getByRole("button", { name: "Edit the change" }));
  await fireEvent.input(screen.getByDisplayValue("Sold the gold."), { target: { value: "Sold all the gold." } });
  await fireEvent.click(screen.getByRole("button", { name: /Save/, hidden: true }));
  await waitFor(() => expect(sent).toEqual([{ text: "Sold all the gold.", since: null, knownTo: ["Aunt Verity"] }]));
});

test("an empty view has one thing to do next", async () => {
  story.info = { id: "b", language: "en" } as never;
  story.entries = [];
  router.read("#/b/codex");
  serve({ "GET /projects/b/proposals": { items: [], next: null } });
  const { container } = render(Codex);
  await screen.findAllByRole("button", { name: "New entry" });
  expect(container.querySelectorAll("button.main")).toHaveLength(1);
});

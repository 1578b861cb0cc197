/** What the book says of an entry: shown with its place, made into something else, dismissed and listed again. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { story } from "../src/lib/story.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import Facts from "../src/views/codex/Facts.svelte";
import { serve } from "./serve";

const entry = { id: "m", name: "Mara", type: "character", aiContextLevel: "when_detected", knownTo: null } as never;
const fact = (id: string, text: string, more: object = {}) => ({
  id, number: 1, entryId: "m", text, digest: "", chapter: "Chapter 1: One", start: 8, end: 20, since: { document: "c", offset: 20 }, until: null,
  knownTo: null, score: 1, isLasting: true, origin: "program", prompts: "may", ...more,
});
const listed = [
  fact("f1", "Mara owed Bo a debt.", { knownTo: ["b", "reader"] }),
  fact("f2", "Mara limped.", { origin: "model", prompts: "passing", until: { document: "d", offset: 3 } }),
  fact("f3", "Mara wore grey.", { prompts: "said" }),
  fact("f4", "Mara never swam.", { prompts: "off" }),
];
const away = [fact("f9", "Mara sneezed.", { prompts: "dismissed" })];
const root = "/projects/b/codex/m/facts";
let sent: unknown[] = [];

function show(entryShown = entry): string[] {
  sent = [];
  const note = (body: unknown) => (sent.push(body), {});
  const asked = serve({
    [`GET ${root}`]: (query: URLSearchParams) => ({ facts: query.get("dismissed") === "true" ? away : listed }),
    [`POST ${root}/f1`]: (body: unknown) => (note(body), new Response("{}", { headers: { "Undo-Step": "b/7" } })),
    [`DELETE ${root}/f1`]: note,
    [`POST ${root}/restore`]: note,
    "POST /projects/b/undo": note,
  });
  const nameOf = (id: string) => (id === "reader" ? "the reader" : story.nameOf(id));
  render(Facts, { entry: entryShown, nameOf, onchange: () => Promise.resolve() });
  return asked;
}

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  story.entries = [{ id: "b", name: "Bo", type: "character" }] as never;
  story.chapters = [
    { id: "c", title: "Chapter 1: One", number: 1, kind: "chapter", depth: 0 },
    { id: "d", title: "Two", number: 2, kind: "chapter", depth: 0 },
  ] as never;
  toasts.list = [];
});

test("a fact stands with its chapter, who could know it, who found it, and whether the model reads it", async () => {
  show();
  expect(await screen.findByText("Mara owed Bo a debt.")).toBeTruthy();
  const link = screen.getAllByRole("link", { name: "Chapter 1 · One" })[0]!;
  expect(link.getAttribute("href")).toBe("#/b/write/c?at=8&to=20");
  expect(screen.getByText("known to Bo, the reader only")).toBeTruthy();
  expect(screen.getByText("found by the model")).toBeTruthy();
  expect(screen.getByText("the model may read it")).toBeTruthy();
  expect(screen.getByText("the model does not read it: the entry says it already")).toBeTruthy();
  expect(screen.getByText("until Chapter 2 · Two, which says it in other words")).toBeTruthy();
  expect(screen.queryByText("Mara never swam.")).toBeNull();
  await fireEvent.click(screen.getByRole("button", { name: "1 more sentence" }));
  expect(screen.getByText("Mara never swam.")).toBeTruthy();
});

test("one click makes something of a fact, and another takes it back", async () => {
  const asked = show();
  const buttons = async (name: string) => (await screen.findAllByRole("button", { name }))[0]!;
  await fireEvent.click(await buttons("Add as a change"));
  await waitFor(() => expect(asked).toContain(`POST ${root}/f1`));
  expect(sent).toEqual([{ use: "progression" }]);
  await waitFor(() => expect(toasts.list.at(-1)?.text).toBe("Mara changes there now."));
  await toasts.list.at(-1)!.action!.run();
  expect(asked).toContain("POST /projects/b/undo");
  expect(sent.at(-1)).toEqual({ step: 7 });
  await fireEvent.click(await buttons("Dismiss"));
  await waitFor(() => expect(asked).toContain(`DELETE ${root}/f1`));
});

test("a secret asks who knows it, and begins with those who could", async () => {
  show();
  await fireEvent.click((await screen.findAllByRole("button", { name: "Make it a secret" }))[0]!);
  const names = screen.getByLabelText<HTMLInputElement>("Who knows of it");
  expect(names.value).toBe("Bo");
  await fireEvent.input(names, { target: { value: "Bo, 林远" } });
  await fireEvent.click(screen.getByRole("button", { name: "Save", hidden: true }));
  await waitFor(() => expect(sent).toEqual([{ use: "knowledge", knownTo: ["Bo", "林远"] }]));
});

test("what was dismissed waits behind a fold with a way back", async () => {
  const asked = show();
  await fireEvent.click(await screen.findByRole("button", { name: "List again: Mara sneezed.", hidden: true }));
  await waitFor(() => expect(asked).toContain(`POST ${root}/restore`));
  expect(sent).toEqual([{ fact: "f9" }]);
});

/** Lists of proposals and of broken rules, and a name that changes, as people meet them. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import Codex from "../src/views/codex/Codex.svelte";
import EntryForm from "../src/views/codex/EntryForm.svelte";
import Constraints from "../src/views/constraints/Constraints.svelte";
import { serve } from "./serve";

const propose = (name: string) => ({ name, aliases: [], kind: "character", mentions: 3, documentId: "c", offset: 0, evidence: [], score: 1 });

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [{ id: "c", title: "One", number: 1, kind: "chapter", depth: 0 }] as never;
  story.entries = [];
});

test("while the book is searched for names, none is said to be missing", async () => {
  let answer: (found: Response) => void = () => undefined;
  serve({});
  const other = globalThis.fetch;
  vi.stubGlobal("fetch", vi.fn((url: string, init: RequestInit) => (String(url).includes("/proposals") ? new Promise<Response>((resolve) => (answer = resolve)) : other(url, init))));
  router.read("#/b/codex/proposals");
  render(Codex);
  expect(screen.getByText("The book is searched for names. This may take some seconds.")).toBeTruthy();
  expect(screen.queryByText("No name is missing")).toBeNull();
  answer(new Response(JSON.stringify({ items: [], next: null }), { headers: { "Content-Type": "application/json" } }));
  expect(await screen.findByText("No name is missing")).toBeTruthy();
});

test("an empty codex leads to its proposals, and several are accepted at once", async () => {
  const review = vi.fn((_body: unknown) => ({ proposals: [propose("Ishmael")] }));
  serve({ "GET /projects/b/proposals": { items: ["Ahab", "Starbuck", "Ishmael"].map(propose), next: null }, "POST /projects/b/proposals": review });
  router.read("#/b/codex");
  render(Codex);
  await fireEvent.click(await screen.findByRole("button", { name: "Look at 3 names of the book" }));
  for (const name of ["Ahab", "Starbuck"]) await fireEvent.click(await screen.findByRole("checkbox", { name: `Choose “${name}”` }));
  await fireEvent.click(screen.getByRole("button", { name: "Accept the chosen (2)" }));
  await waitFor(() => expect(review).toHaveBeenCalledWith({ accept: ["Ahab", "Starbuck"] }));
  expect(await screen.findByRole("button", { name: "Accept the chosen (0)" })).toBeTruthy();
});

test("a name that is changed keeps the old one, and offers to rename across the book", async () => {
  const save = vi.fn((_body: unknown) => ({ id: "p", name: "Pippin" }));
  serve({ "PATCH /projects/b/codex/p": save });
  const entry = { id: "p", name: "Pip", type: "character", aliases: ["The Boy"], description: "", details: {}, tags: [], notes: "", aiContextLevel: "always", knownTo: null, since: null } as never;
  const { container } = render(EntryForm, { entry, etag: "1", onsaved: () => undefined, onclose: () => undefined });
  await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "Pippin" } });
  expect(screen.getByRole("link", { name: "Rename across the book instead" }).getAttribute("href")).toBe("#/b/files/rename?name=Pip&new=Pippin");
  await fireEvent.submit(container.querySelector("form")!);
  await waitFor(() => expect(save.mock.lastCall?.[0]).toMatchObject({ name: "Pippin", aliases: ["The Boy", "Pip"] }));
});

test("broken rules are grouped, what was not checked comes first, and the report can be closed", async () => {
  const violations = Array.from({ length: 2601 }, (_, index) => ({ constraint: index % 3 ? "a" : "b", documentId: "c", start: index, end: index + 1, words: "us", sentence: "No us." }));
  serve({
    "GET /projects/b/constraints": { items: [{ id: "a", number: 1, text: "Never say us.", kind: "style", priority: 50, how: "" }], next: null },
    "GET /projects/b/constraints/violations": { documents: 1, violations, unchecked: 5 },
  });
  const { container } = render(Constraints);
  await screen.findByText("Never say us.");
  await fireEvent.click(screen.getByRole("button", { name: "Check the book" }));
  await waitFor(() => expect(container.querySelectorAll(".report details")).toHaveLength(2));
  const report = container.querySelector(".report")!;
  expect(report.querySelector("summary")!.textContent).toContain("Never say us.");
  expect(report.querySelectorAll("details p").length).toBe(40);
  expect([...report.querySelectorAll("details")].map((one) => one.textContent!.split("No us.").length - 1)).toEqual([20, 1]); // a reason that is the heading is not said again
  expect(report.textContent!.indexOf("5 rules need a reader")).toBeLessThan(report.textContent!.indexOf("Never say us."));
  await fireEvent.click(screen.getByRole("button", { name: "Close" }));
  expect(container.querySelector(".report")).toBeNull();
});

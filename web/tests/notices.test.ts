/** What is said after something happened: where it can be seen, and no longer than it matters. */
import { render, screen } from "@testing-library/svelte";
import { createRawSnippet, flushSync } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { story } from "../src/lib/story.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import { undoLast } from "../src/lib/undo";
import { Dialog, Field } from "../src/lib/ui";
import Toasts from "../src/lib/ui/Toasts.svelte";
import { serve } from "./serve";

beforeEach(() => {
  vi.useFakeTimers();
  toasts.list = [];
});
afterEach(() => {
  vi.useRealTimers();
});

test("bad news leave after a while, and with the view that they are of", () => {
  toasts.show("It failed.", { kind: "bad" });
  toasts.leave(); // what has just failed may have led here
  expect(toasts.list).toHaveLength(1);
  vi.advanceTimersByTime(2000);
  toasts.show("Saved.");
  toasts.leave();
  expect(toasts.list.map((one) => one.text)).toEqual(["Saved."]);
  toasts.show("It failed again.", { kind: "bad" });
  vi.advanceTimersByTime(31_000);
  expect(toasts.list).toEqual([]);
});

test("taking back says what was taken back, and offers to do it again", async () => {
  story.info = { id: "b", language: "en" } as never;
  const asked = serve({ "POST /projects/b/undo": { label: "entry “Pip” removed" }, "POST /projects/b/redo": { label: "" } });
  await undoLast();
  expect(toasts.list[0]!.text).toBe("Taken back: entry “Pip” removed");
  await toasts.list[0]!.action!.run();
  expect(asked).toContain("POST /projects/b/redo");
});

test("what is wrong with a field is brought into sight", async () => {
  const scroll = vi.spyOn(Element.prototype, "scrollIntoView");
  const children = createRawSnippet(() => ({ render: () => "<input />" })) as never;
  const { rerender } = render(Field, { label: "Who knows of it", children });
  expect(scroll).not.toHaveBeenCalled();
  await rerender({ problem: "Nobody is called “Pipp”." });
  flushSync();
  expect(scroll).toHaveBeenCalledOnce();
  expect(screen.getByRole("alert")).toBe(scroll.mock.contexts[0]);
});

test("what takes time to read stays until it is closed", () => {
  toasts.show("It came in as one chapter.", { stays: true });
  vi.advanceTimersByTime(120_000);
  toasts.leave();
  expect(toasts.list).toHaveLength(1);
});

test("notices stand in the dialog that is open, since the page behind it cannot be reached", async () => {
  const children = createRawSnippet(() => ({ render: () => "<p>Question</p>" }));
  const page = render(Toasts);
  const { rerender, container } = render(Dialog, { title: "Ask", open: true, onclose: () => undefined, children });
  toasts.show("It failed.", { kind: "bad" });
  flushSync();
  expect(container.querySelector("dialog")!.textContent).toContain("It failed.");
  expect(page.container.textContent).not.toContain("It failed.");
  await rerender({ open: false });
  flushSync();
  expect(page.container.textContent).toContain("It failed.");
});

test("what failed in a dialog is over when the dialog is, and goes into no other one", async () => {
  const children = createRawSnippet(() => ({ render: () => "<p>Question</p>" }));
  const page = render(Toasts);
  toasts.show("broken.docx cannot be read.", { kind: "bad" });
  vi.advanceTimersByTime(2000);
  const { rerender, container } = render(Dialog, { title: "Ask", open: true, onclose: () => undefined, children });
  flushSync();
  expect(container.textContent).not.toContain("broken.docx"); // the page said it before
  toasts.show("There is no character called “Veritty”.", { kind: "bad" });
  toasts.show("The draft was kept.");
  flushSync();
  expect(container.querySelector("dialog")!.textContent).toContain("Veritty");
  vi.advanceTimersByTime(3000);
  const closed = rerender({ open: false }); // the corrected name was saved
  toasts.show("The name was saved."); // at once, as the dialog goes
  await closed;
  await Promise.resolve();
  flushSync();
  expect(page.container.textContent).not.toContain("Veritty");
  expect(page.container.textContent).toContain("The draft was kept.");
  expect(page.container.textContent).toContain("The name was saved.");
});

test("every notice takes back the change that it tells of: only the module of undo asks for it", () => {
  const sources = import.meta.glob<string>(["../src/**/*.{ts,svelte}", "!../src/lib/schema.ts"], { query: "?raw", import: "default", eager: true });
  const asking = Object.entries(sources).filter(([, source]) => /\{project\}\/(undo|conversations\/undo-delete)"/.test(source));
  expect(Object.keys(sources).length).toBeGreaterThan(100);
  expect(asking.map(([name]) => name).sort()).toEqual(["../src/lib/undo.ts"]);
});

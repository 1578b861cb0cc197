/** Nothing big is deleted by one key or one click. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { tick } from "svelte";
import { beforeEach, expect, test } from "vitest";
import { questions } from "../src/lib/questions.svelte";
import { story } from "../src/lib/story.svelte";
import Question from "../src/lib/ui/Question.svelte";
import { desk } from "../src/views/desk/desk.svelte";
import FindReplace from "../src/views/desk/FindReplace.svelte";
import Tree from "../src/views/desk/Tree.svelte";
import Start from "../src/views/start/Start.svelte";
import { serve } from "./serve";

const chapters = ["One", "Two"].map((title, index) => ({ id: `c${index}`, title, number: index + 1, kind: "chapter", depth: 0, words: 7, revision: 1 }));

beforeEach(() => questions.answer(false));

test("the Delete key in the list of chapters asks first, and once", async () => {
  story.info = { id: "b", language: "en" } as never;
  story.chapters = chapters as never;
  const asked = serve({ "GET /projects/b/chapters": { items: chapters.slice(1), next: null }, "DELETE /projects/b/chapters/c0": {} });
  render(Question);
  render(Tree);
  const row = screen.getAllByRole("treeitem")[0]!;
  row.focus();
  for (let key = 0; key < 5; key++) await fireEvent.keyDown(row, { key: "Delete" });
  expect(asked).toEqual([]);
  expect(questions.current?.title).toBe("Delete “One”?");
  await fireEvent.click(screen.getByRole("button", { name: "Cancel", hidden: true }));
  expect(asked).toEqual([]);
  await fireEvent.keyDown(row, { key: "Delete" });
  await tick();
  await fireEvent.click(screen.getByRole("button", { name: "Delete", hidden: true }));
  await waitFor(() => expect(asked).toEqual(["DELETE /projects/b/chapters/c0", "GET /projects/b/chapters"]));
});

test("a book is deleted after a question, and deleted books can be restored", async () => {
  const asked = serve({
    "GET /projects": { items: [{ id: "b", title: "Fog", language: "en", characters: 9, changed: "2026-01-01T00:00:00" }], next: null },
    "GET /deleted-projects": { items: [{ id: "d", title: "Rain", deletedAt: "2026-01-01T00:00:00" }], next: null },
    "GET /model": { kind: "demo", provider: "demo", model: "demo", reason: "" },
    "DELETE /projects/b": { id: "d2", title: "Fog", deletedAt: "" },
    "POST /deleted-projects/d/restore": { id: "d", title: "Rain", deletedAt: "" },
  });
  render(Question);
  render(Start);
  await fireEvent.click(await screen.findByRole("button", { name: "Delete “Fog”" }));
  expect(asked.filter((one) => one.startsWith("DELETE"))).toEqual([]);
  await fireEvent.click(screen.getByRole("button", { name: "Delete the book", hidden: true }));
  await waitFor(() => expect(asked).toContain("DELETE /projects/b"));
  await fireEvent.click(screen.getByRole("button", { name: "Restore “Rain”", hidden: true }));
  await waitFor(() => expect(asked).toContain("POST /deleted-projects/d/restore"));
});

test("replacing with nothing is called deleting, and asks first", async () => {
  story.info = { id: "b", language: "en" } as never;
  const place = { offset: 0, before: "", after: " came" };
  const asked = serve({
    "GET /projects/b/chapters/words": { items: [{ chapter: chapters[0], count: 24, places: [place] }], next: null },
    "POST /projects/b/chapters/replace": {},
  });
  desk.dialog = "find";
  render(Question);
  render(FindReplace);
  await fireEvent.input(screen.getByLabelText("Find"), { target: { value: "fog" } });
  await fireEvent.click(screen.getByRole("button", { name: "Find", hidden: true }));
  await fireEvent.click(await screen.findByRole("button", { name: "Delete the words at 24 places", hidden: true }));
  expect(questions.current?.title).toBe("Delete “fog” from the book?");
  expect(asked).not.toContain("POST /projects/b/chapters/replace");
  questions.answer(false);
  await fireEvent.input(screen.getByLabelText("Replace with"), { target: { value: "mist" } });
  await fireEvent.click(screen.getByRole("button", { name: "Replace 24 places", hidden: true }));
  await waitFor(() => expect(asked).toContain("POST /projects/b/chapters/replace"));
});

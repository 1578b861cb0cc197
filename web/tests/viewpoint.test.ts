/** Through whose eyes a chapter is told, and offsets that the server counts in characters. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { countCharacters, countUnits } from "../src/lib/characters";
import { story } from "../src/lib/story.svelte";
import Viewpoint from "../src/lib/Viewpoint.svelte";
import { serve } from "./serve";

const chapter = { id: "c", title: "One", number: 1, kind: "chapter", depth: 0, revision: 1, length: 9, pov: "gone", words: 3 };
const entries = [{ id: "m", name: "Mara", type: "character" }, { id: "h", name: "Harrow", type: "location" }];

beforeEach(() => {
  story.close();
  story.info = { id: "b", language: "en" } as never;
});

/** Load the codex, with what was removed from it, and return what is asked for and sent later. */
async function load(removed: { id: string; name: string }[]): Promise<{ asked: string[]; bodies: unknown[] }> {
  const bodies: unknown[] = [];
  const asked = serve({
    "PUT /projects/b/chapters/c/viewpoint": (body: unknown) => (bodies.push(body), chapter),
    "GET /projects/b/chapters": { items: [chapter], next: null },
    "GET /projects/b/codex": { items: entries, next: null },
    "GET /projects/b/removed-entries": { items: removed, next: null },
  });
  await story.loadEntries();
  return { asked, bodies };
}

const list = (choice: HTMLSelectElement) => [...choice.options].map((one) => one.text);

test("only characters are offered, whoever was deleted is named and said to be gone, and nobody is a choice", async () => {
  const { asked, bodies } = await load([{ id: "gone", name: "Old Jory" }]);
  const order: string[] = [];
  render(Viewpoint, { chapter, onstart: async () => void order.push("start"), onchange: async () => void order.push("change") });
  const choice = screen.getByLabelText<HTMLSelectElement>("Through whose eyes");
  expect(list(choice)).toEqual(["nobody in particular", "Old Jory (deleted)", "Mara"]);
  expect(choice.value).toBe("gone");
  expect(document.getElementById(choice.getAttribute("aria-describedby")!)!.textContent).toBe("Old Jory was deleted from the codex.");
  await fireEvent.click(screen.getByRole("button", { name: "Choose another" }));
  expect(document.activeElement).toBe(choice);
  await fireEvent.change(choice, { target: { value: "m" } });
  await waitFor(() => expect(order).toEqual(["start", "change"]));
  await fireEvent.change(choice, { target: { value: "" } });
  await waitFor(() => expect(bodies).toEqual([{ character: "m" }, { character: null }]));
  expect(asked).toContain("GET /projects/b/chapters");
});

test("somebody whose name nobody knows any more is not shown by an id", async () => {
  await load([]);
  render(Viewpoint, { chapter });
  expect(list(screen.getByLabelText("Through whose eyes"))).toEqual(["nobody in particular", "somebody (deleted)", "Mara"]);
});

test("nobody is called deleted while the codex is being loaded, or because the entry is of another kind", async () => {
  const { rerender } = render(Viewpoint, { chapter });
  expect(screen.queryByText(/deleted/)).toBeNull();
  await load([]);
  await rerender({ chapter: { ...chapter, pov: "h" } });
  expect(list(screen.getByLabelText("Through whose eyes"))).toEqual(["nobody in particular", "Harrow", "Mara"]);
  expect(screen.queryByRole("button", { name: "Choose another" })).toBeNull();
});

test("characters are counted in units of the browser and back", () => {
  const text = "a🕯b林";
  expect([0, 1, 2, 3, 4, 9].map((count) => countUnits(text, count))).toEqual([0, 1, 3, 4, 5, 5]);
  expect([1, 3, 5].map((units) => countCharacters(text, units))).toEqual([1, 2, 4]);
});

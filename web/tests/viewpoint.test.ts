/** Through whose eyes a chapter is told, and offsets that the server counts in characters. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { expect, test } from "vitest";
import { countCharacters, countUnits } from "../src/lib/characters";
import { story } from "../src/lib/story.svelte";
import Viewpoint from "../src/lib/Viewpoint.svelte";
import { serve } from "./serve";

const chapter = { id: "c", title: "One", number: 1, kind: "chapter", depth: 0, revision: 1, length: 9, pov: "gone", words: 3 };

test("only characters are offered, whoever is gone stays to be seen, and nobody is a choice", async () => {
  story.info = { id: "b", language: "en" } as never;
  story.entries = [{ id: "m", name: "Mara", type: "character" }, { id: "h", name: "Harrow", type: "location" }] as never;
  const bodies: unknown[] = [];
  const asked = serve({ "PUT /projects/b/chapters/c/viewpoint": (body: unknown) => (bodies.push(body), chapter), "GET /projects/b/chapters": { items: [chapter], next: null } });
  const order: string[] = [];
  render(Viewpoint, { chapter, onstart: async () => void order.push("start"), onchange: async () => void order.push("change") });
  const choice = screen.getByLabelText<HTMLSelectElement>("Through whose eyes");
  expect([...choice.options].map((one) => one.text)).toEqual(["nobody in particular", "gone", "Mara"]);
  expect(choice.value).toBe("gone");
  await fireEvent.change(choice, { target: { value: "m" } });
  await waitFor(() => expect(order).toEqual(["start", "change"]));
  await fireEvent.change(choice, { target: { value: "" } });
  await waitFor(() => expect(bodies).toEqual([{ character: "m" }, { character: null }]));
  expect(asked).toContain("GET /projects/b/chapters");
});

test("characters are counted in units of the browser and back", () => {
  const text = "a🕯b林";
  expect([0, 1, 2, 3, 4, 9].map((count) => countUnits(text, count))).toEqual([0, 1, 3, 4, 5, 5]);
  expect([1, 3, 5].map((units) => countCharacters(text, units))).toEqual([1, 2, 4]);
});

/** What the model asked for: at this place and elsewhere, with a way to forget it, and how it works where there is none. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { context } from "../src/lib/context.svelte";
import Needs from "../src/lib/prompt/Needs.svelte";
import { questions } from "../src/lib/questions.svelte";
import { story } from "../src/lib/story.svelte";
import { serve } from "./serve";

const need = (id: string, question: string, document: string, from: number, to: number, more: object = {}) => ({
  id, number: 1, question, chapter: "One", since: { document, offset: from }, until: { document, offset: to }, perspective: "reader", character: null, made: "", ...more,
});
const list = [
  need("n1", "Who gave Marius the pistols?", "c", 10, 40),
  need("n2", "What does Bo owe?", "c", 41, 90, { perspective: "character", character: "Bo" }),
  need("n3", "Who lit the lamp?", "d", 0, 9),
];

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  context.place = { documentId: "c", cursorPosition: 40 };
});

test("beside the text only what serves this place is shown", async () => {
  serve({ "GET /projects/b/needs": { needs: list, isAsking: true } });
  render(Needs);
  expect(await screen.findByText("Who gave Marius the pistols?")).toBeTruthy();
  expect(screen.queryByText("What does Bo owe?")).toBeNull();
  context.place = { documentId: "c", cursorPosition: 41 };
  expect(await screen.findByText("What does Bo owe?")).toBeTruthy();
  expect(screen.getByText("for Bo")).toBeTruthy();
  context.place = { documentId: "e", cursorPosition: 41 };
  await waitFor(() => expect(screen.queryByText("Asked for by the model")).toBeNull());
});

test("a question is forgotten by itself, and all of them after a question", async () => {
  const bodies: unknown[] = [];
  const asked = serve({ "GET /projects/b/needs": { needs: list, isAsking: true }, "DELETE /projects/b/needs": (body: unknown) => (bodies.push(body), { count: 1 }) });
  render(Needs, { isWhole: true });
  expect((await screen.findAllByRole("link", { name: "One" }))[0]!.getAttribute("href")).toBe("#/b/write/c?at=41");
  await fireEvent.click(screen.getByRole("button", { name: "Forget “Who lit the lamp?”" }));
  await waitFor(() => expect(bodies).toEqual([{ need: "n3" }]));
  await fireEvent.click(screen.getByRole("button", { name: "Forget all questions" }));
  expect(asked.filter((one) => one.startsWith("DELETE"))).toHaveLength(1);
  questions.answer(true);
  await waitFor(() => expect(bodies).toEqual([{ need: "n3" }, {}]));
});

test.each([
  [true, "Nothing was asked for yet."],
  [false, "No model is asked now"],
])("where there is nothing, the inspector says why: %s", async (isAsking, words) => {
  serve({ "GET /projects/b/needs": { needs: [], isAsking } });
  render(Needs, { isWhole: true });
  expect(await screen.findByText(new RegExp(words))).toBeTruthy();
  expect(screen.getByRole("link", { name: "Look at the setting" }).getAttribute("href")).toBe("#/b/settings?find=search.needs");
});

/** Search for half-remembered scenes: where a passage stands, its found words, why it was found, and how it was looked for. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { cutSnippet } from "../src/lib/passages/snippet";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import Search from "../src/views/search/Search.svelte";
import { serve } from "./serve";

const passage = { source: "search:c#1", documentId: "c", conversationId: null, messageId: null, participantId: null, chapter: 2, chapterName: "chapter 2", title: "Chapter 2: The Lamp", start: 30, end: 60, at: "", score: 1, text: "She lit 🕯 the lamps.", marks: [[14, 19]], reasons: ["it has lamps"] };
const said = { ...passage, source: "history:m", documentId: null, conversationId: "k", messageId: "m", chapter: null, chapterName: "", title: "At night", start: null, end: null, text: "Is the lamp lit?", marks: [[7, 11]], reasons: ["it has lamp", "it is near in meaning"] };
const recap = { ...said, source: "recap:r", messageId: null, title: "", text: "They spoke of oil.", marks: [] };
const prompt = { ...said, source: "fixed:f", conversationId: null, messageId: null, participantId: "mara#1", title: "Mara", text: "Be brief.", marks: [] };
let asked: URLSearchParams[] = [];

function answer(report: object): void {
  asked = [];
  serve({ "GET /projects/b/search": (query: URLSearchParams) => (asked.push(query), { words: "", warnings: [], byMeaning: false, passages: [], ...report }) });
}

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [{ id: "c", title: "Chapter 2: The Lamp", number: 2, kind: "chapter", depth: 0 }] as never;
});

test("what was found leads to its place, with its words marked and the reason", async () => {
  answer({ passages: [passage, said], byMeaning: true });
  router.read("#/b/search?words=lamp");
  render(Search);
  const link = await screen.findByRole("link", { name: /chapter 2 · The Lamp/ });
  expect(link.getAttribute("href")).toBe("#/b/write/c?at=30&to=60");
  expect([...document.querySelectorAll("mark")].map((one) => one.textContent)).toEqual(["lamps", "lamp"]);
  expect(screen.getByText("it has lamp · it is near in meaning")).toBeTruthy();
  expect(screen.getByText("2 passages, by words and meaning")).toBeTruthy();
  expect(asked[0]!.toString()).toBe("words=lamp&limit=10&everything=true");
});

test("what was said leads to its message, a recap to its conversation, and a fixed prompt to its participant", async () => {
  answer({ passages: [said, recap, prompt] });
  router.read("#/b/search?words=lamp");
  render(Search);
  await screen.findByText("Be brief.");
  expect(screen.getAllByRole("link").map((one) => one.getAttribute("href"))).toEqual(["#/b/talk/k?at=m", "#/b/talk/k", "#/b/history/prompts?with=mara%231"]);
});

test("the question, how far and by what are asked for, and kept in the address", async () => {
  answer({ passages: [passage] });
  router.read("#/b/search");
  render(Search);
  expect(screen.getByText("Find a scene that you half remember")).toBeTruthy();
  await fireEvent.input(screen.getByLabelText("What do you remember of it?"), { target: { value: " the lamp " } });
  await fireEvent.change(screen.getByLabelText("How far"), { target: { value: "c" } });
  await waitFor(() => expect(asked.at(-1)?.toString()).toBe("words=the+lamp&limit=10&until=c"));
  expect(await screen.findByText("1 passage, by words")).toBeTruthy();
  await fireEvent.click(screen.getByLabelText("Also by meaning"));
  await waitFor(() => expect(asked.at(-1)?.get("byMeaning")).toBe("true"));
  expect(location.hash).toBe("#/b/search?words=the+lamp&until=c&meaning=yes");
  expect(await screen.findByText(/not ready yet/)).toBeTruthy();
});

test("nothing found and warnings are said", async () => {
  answer({ warnings: ["EMBEDDING_UNAVAILABLE: No vectors are here."] });
  router.read("#/b/search?words=zzz&meaning=yes");
  render(Search);
  expect(await screen.findByText("Nothing was found")).toBeTruthy();
  expect(screen.getByText("No vectors are here.")).toBeTruthy();
});

test("a long passage is cut around its first found word, between words and characters", () => {
  const text = `${"one two ".repeat(100)}the lamp ${"six seven ".repeat(100)}`;
  const at = text.indexOf("lamp");
  const parts = cutSnippet(text, [[at, at + 4]], 80);
  expect(parts[0]!.text).toBe("…");
  expect(parts.at(-1)!.text).toBe("…");
  expect(parts.filter((one) => one.isMarked).map((one) => one.text)).toEqual(["lamp"]);
  expect(parts.map((one) => one.text).join("").length).toBeLessThan(120);
  expect(parts[1]!.text).toMatch(/^(one|two) /);
  const candles = "🕯".repeat(300);
  expect(cutSnippet(candles, [], 81).map((one) => one.text).join("")).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
  expect(cutSnippet("short", [])).toEqual([{ text: "short", isMarked: false }]);
});

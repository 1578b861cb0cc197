/** What a conversation works out by itself: several speakers at once, alternatives, mentions, states of modes. */
import { render, screen, waitFor } from "@testing-library/svelte";
import { expect, test } from "vitest";
import ProviderChoice from "../src/lib/prompt/ProviderChoice.svelte";
import { Chat, findMention, groupAlternatives, type Message } from "../src/views/talk/chat.svelte";
import { layOut } from "../src/views/talk/branches";
import { readState } from "../src/views/talk/modes";
import { groupTrimmed } from "../src/views/talk/trimmed";
import { story } from "../src/lib/story.svelte";
import { serve } from "./serve";

const make = (id: string, parentId: string | null = null): Message => ({ id, parentId, role: "assistant", name: id, content: id }) as Message;

test("several speakers write at once, and each reply takes its place", () => {
  const chat = new Chat();
  chat.apply({ event: "message", message: make("said") });
  for (const id of ["a", "b"]) chat.apply({ event: "start", participantId: id, name: id });
  chat.apply({ event: "delta", participantId: "a", name: "a", text: "Sa" });
  chat.apply({ event: "delta", participantId: "b", name: "b", text: "No." });
  chat.apply({ event: "delta", participantId: "a", name: "a", text: "lt." });
  expect(chat.writing.map((one) => one.text)).toEqual(["Salt.", "No."]);
  chat.apply({ event: "retry", participantId: "b", name: "b" });
  expect(chat.writing[1]!.text).toBe("");
  chat.apply({ event: "reply", participantId: "a", name: "a", message: make("reply"), usage: {} as never, isCut: false });
  expect(chat.messages.map((one) => one.id)).toEqual(["said", "reply"]);
  expect(chat.writing.map((one) => one.id)).toEqual(["b"]);
});

test("an early message is loaded, and a missing one is not looked for without end", async () => {
  const chat = new Chat();
  const pages: Record<string, { messages: Message[]; before: string | null }> = { c: { messages: [make("b")], before: "b" }, b: { messages: [make("a")], before: null } };
  story.info = { id: "p", language: "en" } as never;
  const asked: string[] = [];
  serve({ "GET /projects/p/conversations/k/messages": (query: URLSearchParams) => (asked.push(query.get("before")!), pages[query.get("before")!]!) });
  Object.assign(chat, { id: "k", messages: [make("c")], before: "c" });
  expect(await chat.find("c")).toBe(true);
  expect(asked).toEqual([]);
  expect(await chat.find("a")).toBe(true);
  expect(chat.messages.map((one) => one.id)).toEqual(["a", "b", "c"]);
  expect(await chat.find("z")).toBe(false);
  expect(asked).toEqual(["c", "b"]);
  story.close();
});

test("branches hang where they belong, and the path that the conversation takes runs straight", () => {
  const one = (id: string, parentId: string | null, isActive = false) => ({ message: make(id, parentId), parentId, isActive }) as never;
  const rows = layOut([one("s", null, true), one("a", "s"), one("b", "s", true), one("a1", "a"), one("a2", "a"), one("m", "b", true), one("c", "m", true), one("d", "m")]);
  expect(rows.map((row) => [row.message.id, row.number, row.column, row.isBeside, row.isActive])).toEqual([
    ["a", 1, 1, true, false],
    ["a1", 1, 2, true, false],
    ["a2", 2, 1, false, false],
    ["b", 2, 0, false, true],
    ["d", 2, 1, true, false],
    ["c", 1, 0, false, true],
  ]);
  expect(rows.map((row) => row.below.map((line) => line.column))).toEqual([[0, 1], [0, 1], [0], [0], [0], []]);
});

test("what a prompt leaves out of a conversation is counted by its reason", () => {
  const out = (reason: string, why = "") => ({ reason, why, source: "history:x" }) as never;
  const groups = groupTrimmed([out("HISTORY_CAP"), out("HISTORY_CAP"), out("NO_ROOM", "needs 9 tokens"), out("LOWER_RANK"), out("NOT_HEARD", "Mara did not hear it")], 38);
  expect(groups.map((one) => one.text)).toEqual([
    "40 messages: the settings tell a model only the newest part of a conversation.",
    "2 messages: the model reads too little at once for the whole conversation.",
    "1 message: Mara did not hear it",
  ]);
});

test("alternatives are the messages of one parent", () => {
  const groups = groupAlternatives([make("a"), make("b"), make("c", "x"), make("d", "x")]);
  expect(groups.get("b")!.map((one) => one.id)).toEqual(["a", "b"]);
  expect(groups.get("c")!.map((one) => one.id)).toEqual(["c", "d"]);
});

test("a name is completed behind an @, and not in an address", () => {
  expect(findMention("And @Ma", 7)).toEqual({ start: 4, word: "Ma" });
  expect(findMention("你好，@玛", 5)).toEqual({ start: 3, word: "玛" });
  expect(findMention("ann@example", 11)).toBeNull();
  expect(findMention("@Ma said", 8)).toBeNull();
});

test("a state is shown table by table, without what the chat keeps for itself", () => {
  expect(readState({ scores: { mara: 2 }, node: "coder", round: { x: 1 }, others: {}, votes: {} })).toEqual([
    { key: "scores", pairs: [["mara", "2"]] },
    { key: "node", pairs: [["coder", ""]] },
  ]);
});

test("the provider of a conversation is sent with every turn, and kept in this browser", async () => {
  const bodies: unknown[] = [];
  const turn = (body: unknown) => (bodies.push(body), new Response("event: done\ndata: {}\n\n", { headers: { "Content-Type": "text/event-stream" } }));
  serve({
    "GET /projects//chats/pier": { present: [], state: {}, mode: "" },
    "GET /projects//conversations/pier/messages": { messages: [], before: null },
    "POST /projects//chats/pier/send": turn,
    "POST /projects//chats/pier/ask": turn,
  });
  const chat = new Chat();
  await chat.load("pier");
  await chat.send("Hello", null, null);
  chat.choose("ollama");
  await chat.ask(["mara"], null);
  expect(bodies).toMatchObject([{ text: "Hello", provider: "" }, { participants: ["mara"], provider: "ollama" }]);
  const later = new Chat();
  await later.load("pier");
  expect(later.provider).toBe("ollama");
  later.choose("");
  expect(localStorage.getItem("fabula.provider.pier")).toBeNull();
});

test("only providers that can answer are offered, and the one of the settings once", async () => {
  const make = (name: string, canAnswer: boolean) => ({ name, canAnswer, model: `${name}-1` });
  story.info = { id: "b", title: "Coast", language: "en" } as typeof story.info;
  serve({ "GET /projects/b/providers": { items: [make("openai", true), make("deepseek", false), make("anthropic", true), make("demo", true), make("clipboard", true)], next: null } });
  render(ProviderChoice, { props: { model: { provider: "openai", model: "gpt-5" } as never, value: "", label: "Who" } });
  await waitFor(() => expect(screen.getAllByRole("option").map((one) => one.textContent)).toEqual(["gpt-5 (openai)", "anthropic-1 (anthropic)", "No model: hand me the prompt", "Demo (prepared sentences)"]));
});

/** What a conversation works out by itself: several speakers at once, alternatives, mentions, states of modes. */
import { expect, test } from "vitest";
import { Chat, findMention, groupAlternatives, type Message } from "../src/views/talk/chat.svelte";
import { readState } from "../src/views/talk/modes";

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

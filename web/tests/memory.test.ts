import { expect, test } from "vitest";
import { filterMemories, listContradicted, quoteEvidence, type Memory } from "../src/views/memory/memories";

const make = (given: Partial<Memory>): Memory =>
  ({ id: "a", text: "Likes fog.", kind: "preference", state: "confirmed", today: 0.5, evidence: [], contradicts: [], ...given }) as Memory;

test("memories of a state come the surest first, and by their words", () => {
  const list = [make({ id: "a" }), make({ id: "b", today: 0.9, text: "No fog at all." }), make({ id: "c", state: "proposed" })];
  expect(filterMemories(list, "confirmed", "", "").map((one) => one.id)).toEqual(["b", "a"]);
  expect(filterMemories(list, "confirmed", "LIKES fog", "").map((one) => one.id)).toEqual(["a"]);
  expect(filterMemories(list, "confirmed", "", "episode")).toEqual([]);
});

test("evidence is quoted without the id of what it comes from", () => {
  expect(quoteEvidence(["01J9ABCDEF: She ran home!", "She said: no.", "0f3a9b77-1c", "我们走吧！"])).toEqual(["She ran home!", "She said: no.", "我们走吧！"]);
});

test("a memory names what it contradicts by its text", () => {
  const list = [make({ id: "a", contradicts: ["b", "gone"] }), make({ id: "b", text: "Hates fog." })];
  expect(listContradicted(list[0]!, list)).toEqual(["Hates fog."]);
});

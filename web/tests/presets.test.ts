import { fireEvent, render, screen } from "@testing-library/svelte";
import { expect, test, vi } from "vitest";
import { listAnchors, makeNode, moveNode, nameInPicture, readNode, writeNode, type Node, type Row } from "../src/views/presets/nodes";
import Picture from "../src/views/presets/Picture.svelte";

const nodes = [
  { type: "message", id: "note", role: "user", content: "Be brief.", enabled: true, injectionStrategy: { depth: 2, anchorTarget: null, anchorPosition: "after", order: 100 }, condition: null },
  { type: "placeholder", id: "mood", role: null, content: "", enabled: true, injectionStrategy: null, condition: null },
  { type: "message", id: "", role: null, content: "It rains.", enabled: false, injectionStrategy: { depth: null, anchorTarget: "mood", anchorPosition: "before", order: 120 },
    condition: { keywords: ["night", "rain"], logic: "all", pattern: "", probability: 50, sticky: 4, cooldown: 0, delay: 0, group: "", groupWeight: 100, modes: [], models: [], scanDepth: null, minMessages: null, maxMessages: null, caseSensitive: false } },
] as unknown as Node[];

test("a node that was read is written as it was, without what says nothing", () => {
  expect(nodes.map((one) => writeNode(readNode(one)))).toEqual([
    { type: "message", id: "note", role: "user", content: "Be brief.", injectionStrategy: { depth: 2, order: 100 } },
    { type: "placeholder", id: "mood" },
    { type: "message", content: "It rains.", enabled: false, injectionStrategy: { anchorTarget: "mood", anchorPosition: "before", order: 120 }, condition: { keywords: ["night", "rain"], logic: "all", probability: 50, sticky: 4 } },
  ]);
});

test("a depth is a whole number from 0 on, whatever was typed", () => {
  const depth = (typed: unknown) => (writeNode(makeNode({ how: "depth", depth: typed as number })).injectionStrategy as { depth: number }).depth;
  expect([depth(-3), depth(NaN), depth(2.6), depth("7")]).toEqual([0, 0, 3, 7]);
});

test("nodes move within the list and stay at its ends", () => {
  expect(moveNode(["a", "b", "c"], 2, -1)).toEqual(["a", "c", "b"]);
  expect(moveNode(["a", "b"], 0, -1)).toEqual(["a", "b"]);
});

test("anchors are those of the server and the places of the list; a nameless message goes by its number", () => {
  const edited = nodes.map(readNode);
  expect(listAnchors(["rules"], [...edited, makeNode({ type: "placeholder" })])).toEqual(["rules", "mood"]);
  expect(nameInPicture(edited, 0)).toEqual(["note"]);
  expect(nameInPicture(edited, 2)).toEqual(["3", "#3"]);
});

test("the picture marks the message that is edited, and opens the one that is chosen", async () => {
  const onopen = vi.fn();
  const rows = [
    { kind: "identity", name: "identity", role: "system" },
    { kind: "anchor", name: "rules", role: "system" },
    { kind: "message", name: "note", role: "user", words: "Be brief.", depth: 2 },
    { kind: "off", name: "mood" },
  ] as unknown as Row[];
  const { container } = render(Picture, { rows, current: ["note"], onopen });
  expect(container.querySelectorAll(".layer")).toHaveLength(1);
  const message = screen.getByRole("button", { name: /note/ });
  expect(message.closest("li")!.getAttribute("aria-current")).toBe("true");
  await fireEvent.click(message);
  expect(onopen).toHaveBeenCalledWith("note");
});

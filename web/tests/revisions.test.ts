/** Versions of a chapter: the newest first, each with what it replaced. */
import { expect, test } from "vitest";
import { listVersions, shortenLine } from "../src/views/desk/revisions";

const make = (revision: number, cause: string, label = "") => ({ documentId: "c", revision, title: "", label, cause, recordedAt: `2026-01-0${revision}T00:00:00`, length: 1 });

test("the present text comes first, and each version says which one it replaced and why", () => {
  const versions = listVersions([make(2, "typed"), make(5, "accepted"), make(1, "replaced")], 7);
  expect(versions.map((one) => one.revision)).toEqual([7, 5, 2, 1]);
  expect(versions.map((one) => one.before)).toEqual([5, 2, 1, null]);
  expect(versions.map((one) => one.cause)).toEqual(["accepted", "typed", "replaced", ""]);
  expect(versions.map((one) => one.isCurrent)).toEqual([true, false, false, false]);
});

test("a present text with a name stands once, and without earlier ones there is no list", () => {
  const versions = listVersions([make(7, "labelled", "draft one"), make(5, "typed")], 7);
  expect(versions.map((one) => [one.revision, one.label, one.isCurrent])).toEqual([[7, "draft one", true], [5, "", false]]);
  expect(listVersions([], 3)).toEqual([]);
});

test("of a long line only the changed words and a little around them are shown", () => {
  const far = "word ".repeat(40);
  const short = shortenLine([{ kind: "same", text: far }, { kind: "removed", text: "lamp" }, { kind: "added", text: "lantern" }, { kind: "same", text: far }]);
  expect(short.map((one) => one.kind)).toEqual(["same", "removed", "added", "same"]);
  expect(short[0]!.text).toBe(`…${far.slice(-24)}`);
  expect(short[3]!.text).toBe(`${far.slice(0, 24)}…`);
  expect(shortenLine([{ kind: "added", text: far }])[0]!.text.length).toBe(91);
});

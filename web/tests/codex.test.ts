/** What the codex view works out by itself, and its heat strip. */
import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import type { Entry } from "../src/lib/story.svelte";
import { changeDetails, filterEntries, readDetails, recogniseFile, spaceNumbers, splitNames, writeDetails } from "../src/views/codex/entries";
import HeatStrip from "../src/views/codex/HeatStrip.svelte";
import "./serve";

const make = (values: Partial<Entry>): Entry =>
  ({ id: values.name, type: "character", name: "", aliases: [], aiContextLevel: "always", description: "", details: {}, tags: [], notes: "", relations: [], knownTo: null, since: null, rules: {}, progressions: [], ...values }) as Entry;
const all = { words: "", kind: "", level: "" };

test("entries are found by words in names first, then in the rest", () => {
  const entries = [make({ name: "Bo", description: "Knows Mara." }), make({ name: "Mara Venn", tags: ["keeper"] }), make({ name: "Harrow", type: "location", aiContextLevel: "never" })];
  const names = (filter: object) => filterEntries(entries, { ...all, ...filter }).map((one) => one.name);
  expect(names({ words: "mara" })).toEqual(["Mara Venn", "Bo"]);
  expect(names({ words: "KEEPER venn" })).toEqual(["Mara Venn"]);
  expect(names({ kind: "location" })).toEqual(["Harrow"]);
  expect(names({ level: "always" })).toEqual(["Bo", "Mara Venn"]);
});

test("names are separated by commas of either script", () => {
  expect(splitNames("Mara， Miss Venn、 小玛,Mara, ")).toEqual(["Mara", "Miss Venn", "小玛"]);
});

test("details are lines, and one that is gone is taken away", () => {
  const details = readDetails("hair: brown\nand grey\n眼睛：蓝\nno colon before it");
  expect(details).toEqual({ hair: "brown\nand grey", 眼睛: "蓝\nno colon before it" });
  expect(readDetails(writeDetails({ time: "12:30" }))).toEqual({ time: "12:30" });
  expect(changeDetails({ hair: "brown", age: "26" }, { hair: "grey" })).toEqual({ hair: "grey", age: "" });
});

test("a dropped file is recognised by what is in it", async () => {
  const json = (value: unknown) => Object.assign(new File([], "x.json"), { text: async () => JSON.stringify(value) });
  expect(await recogniseFile(json({ spec: "chara_card_v2", data: { name: "Mara" } }))).toBe("card");
  expect(await recogniseFile(json({ name: "Mara", first_mes: "Hello." }))).toBe("card");
  expect(await recogniseFile(json({ entries: {} }))).toBe("book");
  expect(await recogniseFile(new File([], "mara.png"))).toBe("card");
});

test("the heat strip has a cell for each chapter and a mark for each change", () => {
  const documents = [{ documentId: "a", number: 1, title: "Dawn" }, { documentId: "b", number: 2, title: "Dusk" }];
  const progressions = [{ number: 1, text: "Leaves.", since: { document: "b", offset: 0 }, knownTo: ["mara"], aliases: [] }];
  const { container } = render(HeatStrip, { documents, counts: [0, 3], progressions });
  expect(screen.getByLabelText(/Dusk.*3/)).toBeTruthy();
  expect(container.querySelectorAll("rect.heat").length).toBe(1);
  expect(container.querySelectorAll("circle.secret").length).toBe(1);
});

test("numbers below a strip are as many as fit, at round steps", () => {
  expect([7, 41, 120, 365, 2000].map((count) => spaceNumbers(count, 23))).toEqual([1, 2, 10, 20, 100]);
  expect(spaceNumbers(120, 11)).toBe(20);
  expect(spaceNumbers(0, 0)).toBe(1);
});

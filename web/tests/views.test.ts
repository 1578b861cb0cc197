/** What the views of runs, files and conversations work out by themselves. */
import { expect, test } from "vitest";
import { readFileName, type Schemas } from "../src/lib/api";
import { formatMoney } from "../src/lib/i18n/index.svelte";
import { findKind, sumRows } from "../src/views/files/files";
import { countProgress, groupSources, spreadDays, type Job } from "../src/views/runs/runs";
import { listGreetings } from "../src/views/talk/greetings";

const job = (kind: string, state: string): Job => ({ key: `${kind}:${state}`, kind, state }) as Job;

test("progress counts kinds that have something left to do", () => {
  const jobs = [job("synopsis", "done"), job("synopsis", "queued"), job("synopsis", "cancelled"), job("index", "done"), job("recap", "running"), job("recap", "failed")];
  expect(countProgress(jobs)).toEqual([
    { kind: "synopsis", done: 1, total: 2 },
    { kind: "recap", done: 0, total: 2 },
  ]);
});

test("a month has an amount for each of its days", () => {
  const days = spreadDays("2028-02", { "2028-02-01": 3, "2028-02-29": 5, "2028-03-01": 9 });
  expect(days.length).toBe(29);
  expect([days[0], days[1], days[28]]).toEqual([3, 0, 5]);
});

test("sources of a prompt are grouped by kind, entries with their progressions by name", () => {
  const names: Record<string, string> = { mara: "Mara Venn", "ch-01": "The Light" };
  expect(groupSources(["codex:entity:mara", "codex:entity:mara#2", "codex:entity:x", "synopsis:ch-01", "input", "mode"], (_, id) => names[id] ?? "", (kind) => (["codex", "synopsis"].includes(kind) ? kind : "other"))).toEqual([
    { label: "codex", count: 2, names: ["Mara Venn"] },
    { label: "synopsis", count: 1, names: ["The Light"] },
    { label: "other", count: 2, names: [] },
  ]);
});

test("money has as many digits as it needs, in any currency", () => {
  expect(formatMoney(1_500_000, "USD")).toContain("1.50");
  expect(formatMoney(1_234, "USD")).toContain("0.0012");
  expect(formatMoney(2_000_000, "not a currency")).toContain("2.00");
});

test("a file is recognised by its ending, and JSON by what it holds", async () => {
  const kinds = ["a.md", "b.DOCX", "c.fabula", "d.jsonl", "e.png", "noending"].map((name) => findKind(new File(["x"], name)));
  expect(await Promise.all(kinds)).toEqual(["manuscript", "manuscript", "save", "chat", "card", "manuscript"]);
  const json = (text: string) => ({ name: "some.json", text: () => Promise.resolve(text) }) as File;
  expect(await findKind(json('{"entries": {}}'))).toBe("book");
  expect(await findKind(json('{"spec": "chara_card_v2", "data": {}}'))).toBe("card");
});

test("the rows of a save are summed up without those of a person", () => {
  expect(sumRows({ documents: 3, beats: 2, facts: 1, "person/user_memories": 9, runs: 0 }, ["documents", "runs"])).toEqual([
    ["documents", 3],
    ["otherRows", 3],
  ]);
});

test("the name of a file may be in any script", () => {
  expect(readFileName("attachment; filename*=UTF-8''%E9%9B%BE%E6%B8%AF.docx")).toBe("雾港.docx");
  expect(readFileName("")).toBe("file");
});

test("greetings of cards are listed in the order of their alternatives, with names in them", () => {
  const card = { firstMessage: "I am {{char}}, {{user}}.", alternateGreetings: ["Again you.", "I am {{char}}, {{user}}."], groupGreetings: ["All here."], nickname: "" };
  const people = [{ id: "persona:bo", name: "Bo", card }, { id: "persona:al", name: "Al", card: null }] as unknown as Schemas["ParticipantInfo"][];
  expect(listGreetings(people, false, "you").map((one) => one.text)).toEqual(["I am Bo, you.", "Again you."]);
  expect(listGreetings(people, true, "you").map((one) => [one.index, one.text])).toEqual([[0, "All here."], [1, "I am Bo, you."], [2, "Again you."]]);
});

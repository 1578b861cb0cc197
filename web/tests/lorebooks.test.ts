import { expect, test } from "vitest";
import { editEntry, filterEntries, listChanges, nameEntry, splitLines, type LoreEntry } from "../src/views/lorebooks/entries";

const entry = { uid: 3, key: ["/a,b/", "lamp"], content: "It burns.", order: 20 } as unknown as LoreEntry;

test("only what was changed is sent, and keys with commas stay whole", () => {
  const before = editEntry(entry);
  expect(listChanges(before, { ...before })).toEqual({});
  expect(listChanges(before, { ...before, key: "/a,b/\nlantern\n\nlantern" })).toEqual({ key: ["/a,b/", "lantern"] });
  expect(listChanges(before, { ...before, disable: true, order: 7 })).toEqual({ disable: true, order: 7 });
});

test("secondary keys and a probability switch on what makes them count", () => {
  const before = editEntry(entry);
  expect(listChanges(before, { ...before, keysecondary: "oil" })).toEqual({ keysecondary: ["oil"], selective: true });
  expect(listChanges({ ...before, keysecondary: "oil" }, before)).toEqual({ keysecondary: [], selective: false });
  expect(listChanges(before, { ...before, probability: 40 })).toEqual({ probability: 40, useProbability: true });
});

test("an entry is called by its title, its keys or its words", () => {
  expect(nameEntry(entry)).toBe("/a,b/, lamp");
  expect(nameEntry({ ...entry, comment: "Lamps" })).toBe("Lamps");
  expect(nameEntry({ uid: 4, content: "Only words." } as unknown as LoreEntry)).toBe("Only words.");
});

test("entries are found by title, key and text", () => {
  expect(filterEntries([entry], "LAMP burns")).toEqual([entry]);
  expect(filterEntries([entry], "oil")).toEqual([]);
  expect(splitLines(" a \n\nb\na")).toEqual(["a", "b"]);
});

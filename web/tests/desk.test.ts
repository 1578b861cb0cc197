import { expect, test, vi } from "vitest";
import { findLead } from "../src/views/desk/actions";
import { ChapterSession, countWords } from "../src/views/desk/chapter.svelte";
import { saving } from "../src/lib/saving.svelte";
import { readFindings } from "../src/views/desk/assistant.svelte";
import { findChange, findClash, keepBoth, merge } from "../src/views/desk/merge";
import { splitSentences } from "../src/views/desk/sentences";

test("the change between two texts makes the one of the other, also inside of emoji", () => {
  for (const [before, after] of [["abc", "abXc"], ["", "x"], ["aaa", "aa"], ["👩a", "👨a"], ["x👩", "x👨👩"], ["同", "同"]]) {
    const change = findChange(before!, after!);
    if (!change) expect(before).toBe(after);
    else {
      expect(before!.slice(0, change.from) + change.insert + before!.slice(change.to)).toBe(after);
      expect(/[\ud800-\udbff]$/.test(before!.slice(0, change.from))).toBe(false);
    }
  }
});

test("two changes of one text are put together where they do not touch", () => {
  const base = "one two three";
  expect(merge(base, "ONE two three", "one two THREE")).toBe("ONE two THREE");
  expect(merge(base, base, "other")).toBe("other");
  expect(merge(base, "mine", base)).toBe("mine");
  expect(merge(base, "one 2 three", "one zwei three")).toBeNull();
  expect(merge(base, "one two three!", "one two three?")).toBeNull();
});

test("sentences give the text again, and a closing quote belongs to its sentence", () => {
  const english = "“Go,” she said. Nobody moved.\n\nThen they did!";
  expect(splitSentences(english, "en").join("")).toBe(english);
  expect(splitSentences(english, "en")).toHaveLength(3);
  const chinese = "他走了。“好吧。”她说。";
  expect(splitSentences(chinese, "zh-CN").join("")).toBe(chinese);
  expect(splitSentences("", "en")).toEqual([]);
});

test("a suggestion is parted from the text as the server will part it", () => {
  expect(findLead("She said", 8)).toBe(" ");
  expect(findLead("She said.", 9)).toBe("\n\n");
  expect(findLead("One.\nTwo.", 9)).toBe("\n");
  expect(findLead("One. Two", 4)).toBe(" ");
  expect(findLead("他说", 2)).toBe("");
  expect(findLead("", 0)).toBe("");
});

test("words are counted as the server counts them", () => {
  expect(countWords("One two—three, four.")).toBe(3);
  expect(countWords("林远走了过来，说：go on。")).toBe(9);
  expect(countWords("")).toBe(0);
});

test("findings of the judge are read with their words and reasons", () => {
  const [one] = readFindings({ findings: [{ words: "a dash", reason: "No dashes.", hint: false }] });
  expect(one).toEqual({ quote: "a dash", reason: "No dashes.", isHint: false });
  expect(readFindings({})).toEqual([]);
});

test("both versions of a place are kept whole, one after the other", () => {
  const clash = findClash("He came in. It rained.", "He came in. She left for good. It rained.", "He came in. She stayed. It rained.");
  expect(clash).toEqual({ before: "He came in. ", mine: "She left for good. ", theirs: "She stayed. ", after: "It rained." });
  expect(keepBoth(clash)).toBe("He came in. She stayed. \n\nShe left for good. It rained.");
  const end = findClash("He came in.", "He came in. She left. For good.", "He came in. She stayed.");
  expect(keepBoth(end)).toBe("He came in. She stayed.\n\nShe left. For good.");
  expect(findClash("One two three.", "One tree three.", "One tool three.")).toEqual({ before: "One ", mine: "tree", theirs: "tool", after: " three." });
  expect(findClash("雨停了。", "雨又停了。", "雨早停了。")).toEqual({ before: "雨", mine: "又", theirs: "早", after: "停了。" });
});

test("typing does not put the whole text together; saving and keeping do", async () => {
  vi.stubGlobal("fetch", vi.fn(() => Promise.reject(new TypeError("offline"))));
  const read = vi.fn(() => "One two");
  const session = new ChapterSession(() => undefined, read);
  session.isLoaded = true;
  for (let key = 0; key < 50; key++) session.change();
  expect(session.isChanged).toBe(true);
  expect(read).not.toHaveBeenCalled();
  await session.keep();
  expect(read).toHaveBeenCalledOnce();
  await session.leave();
  expect(read).toHaveBeenCalledOnce();
  expect(session.isChanged).toBe(true); // nobody has it yet but the draft
  vi.unstubAllGlobals();
});

test("what was typed and taken back is no change and leaves no draft", async () => {
  const session = new ChapterSession(() => undefined, () => "");
  session.isLoaded = true;
  session.change();
  await session.save();
  expect(session.isChanged).toBe(false);
  expect(saving.state).toBe("saved");
});

import { expect, test, vi } from "vitest";
import { findLead } from "../src/views/desk/actions";
import { ChapterSession, countWords } from "../src/views/desk/chapter.svelte";
import { placeViolations } from "../src/views/desk/broken";
import * as drafts from "../src/views/desk/drafts";
import type { Draft } from "../src/views/desk/drafts";
import { saving } from "../src/lib/saving.svelte";
import { findUndecided } from "../src/views/desk/assistant.svelte";
import { groupFindings, markSentences, readFindings } from "../src/views/desk/findings";
import { language } from "../src/lib/i18n/index.svelte";
import { story } from "../src/lib/story.svelte";
import { isSeveral, keepWhole, nameLength } from "../src/views/desk/lengths";
import { findChange, findChanges, joinPieces, keepBoth, merge, mergePieces } from "../src/views/desk/merge";
import { shortenTitle } from "../src/lib/titles";
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
  expect(merge("One two. Three four.", "ONE two. Three four.", "One two. Three FOUR.")).toBe("ONE two. Three FOUR.");
  expect(merge("一二。三四。", "一二。三三。", "二二。三四。")).toBe("二二。三三。");
  expect(merge(base, "ONE two three", "one two THREE")).toBeNull();
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
  const [one] = readFindings({ findings: [{ breaks: "r", words: "a dash", reason: "No dashes.", hint: false, start: 3, end: 9 }] });
  expect(one).toEqual({ rule: "r", quote: "a dash", reason: "No dashes.", isHint: false, start: 3, end: 9 });
  expect(readFindings({})).toEqual([]);
});

test("both versions of a place are kept whole, one after the other", () => {
  const both = (base: string, mine: string, theirs: string) => joinPieces(mergePieces(base, mine, theirs), keepBoth);
  expect(both("He came in. It rained.", "He came in. She left for good. It rained.", "He came in. She stayed. It rained.")).toBe("He came in. She stayed. She left for good. It rained.");
  expect(both("He came in.", "He came in. She left. For good.", "He came in. She stayed.")).toBe("He came in. She stayed. She left. For good.");
  expect(both("Night\n\nRain.", "Deep night\n\nRain.", "Late night\n\nRain.")).toBe("Late night\n\nDeep night\n\nRain.");
  expect(both("Rain.", "Rain.\n\nShe left.", "Rain.\n\nShe stayed.")).toBe("Rain.\n\nShe stayed.\n\nShe left.");
  expect(both("One two. Three.", "One too. Three.", "One tow. Three.")).toBe("One tow. One too. Three.");
  const clashes = (base: string, mine: string, theirs: string) => mergePieces(base, mine, theirs).filter((one) => one !== "");
  expect(clashes("One two three.", "One tree three.", "One tool three.")).toEqual([{ mine: "One tree three.", theirs: "One tool three." }]);
  expect(clashes("雨停了。", "雨又停了。", "雨早停了。")).toEqual([{ mine: "雨又停了。", theirs: "雨早停了。" }]);
  expect(both("雨停了。", "雨又停了。", "雨早停了。")).toBe("雨早停了。雨又停了。");
});

test("no sentence is put together from two versions", () => {
  const [base, mine, theirs] = ["Rain fell. She shut the old gate. It held.", "Rain fell. She opened the old door. It held.", "Rain fell. He closed a new gate. It held."] as const;
  const pieces = mergePieces(base, mine, theirs);
  expect(joinPieces(pieces, (clash) => clash.mine)).toBe(mine);
  expect(joinPieces(pieces, (clash) => clash.theirs)).toBe(theirs);
  expect(joinPieces(pieces, keepBoth)).toBe("Rain fell. He closed a new gate. She opened the old door. It held.");
  expect(merge(base, base.replace("She", "He"), base.replace("gate", "door"))).toBeNull();
  expect(merge("She waited", "She waited long", "He waited")).toBeNull(); // a line without an end is a sentence
  expect(merge("She left. He slept.", "She left, and he slept.", "She left. He woke.")).toBeNull();
  expect(merge("She left. He slept.", "She left. While he slept.", "She left. He woke.")).toBeNull();
  expect(merge("She left. He slept.", "She left. Rain fell. He slept.", "She left. He woke.")).toBe("She left. Rain fell. He woke.");
  expect(merge("She left. He slept.", "She left. He slept. Rain fell.", "She left. He woke up.")).toBe("She left. He woke up. Rain fell.");
  expect(merge("It cost 3.5 pounds, i.e. much. He paid.", "It cost 4.5 pounds, i.e. much. He paid.", "It cost 3.5 pounds, i.e. a lot. He paid.")).toBeNull();
});

test("what one side alone changed stays as it made it, and it is all one whose side is whose", () => {
  const words = ["a ", "b", ". ", "A ", "B! ", "c.\n", "\n", "雨。", "风", " "];
  let seed = 7;
  const pick = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const make = () => Array.from({ length: pick(9) }, () => words[pick(words.length)]!);
  for (let round = 0; round < 400; round++) {
    const base = make();
    const edit = () => base.flatMap((one) => [[one], [one], [one], [], [one, ...make().slice(0, 2)]][pick(5)]!).join("");
    const [text, mine, theirs] = [base.join(""), edit(), edit()];
    expect(merge(text, mine, text)).toBe(mine);
    expect(merge(text, text, theirs)).toBe(theirs);
    expect(merge(text, mine, mine)).toBe(mine);
    const sides = (one: string, other: string) => JSON.stringify(mergePieces(text, one, other).map((piece) => (typeof piece === "string" ? piece : [piece.mine, piece.theirs].sort())));
    if (merge(text, mine, theirs) === null) expect(merge(text, theirs, mine)).toBeNull();
    else expect(sides(mine, theirs)).toBe(sides(theirs, mine));
  }
});

test("a sentence goes into the paragraph it was written in, also where paragraphs came and went and are as many as before", () => {
  const base = ["The gulls were late.", "Mara waited.", "The lamp burned low."].join("\n\n");
  const mine = ["Mara waited.", "The lamp burned low.", "She left."].join("\n\n");
  expect(merge(base, mine, base.replace("waited.", "waited. Nobody came."))).toBe(["Mara waited. Nobody came.", "The lamp burned low.", "She left."].join("\n\n"));
});

test("what two people changed far from each other is no clash, and beside one it stays in any case", () => {
  const paragraphs = ["The gulls were late.", "Nobody spoke.", "Mara waited.", "Nobody spoke.", "The lamp burned low."];
  const change = (changed: Record<number, string>, more: string[] = []) => [...paragraphs.map((one, index) => changed[index] ?? one), ...more].join("\n\n");
  const base = change({});
  const mine = change({ 0: "The grey gulls were late." }, ["She left."]);
  expect(merge(base, mine, change({ 3: "Ida spoke." }))).toBe(change({ 0: "The grey gulls were late.", 3: "Ida spoke." }, ["She left."]));
  expect(merge(base, mine, [...paragraphs.slice(0, 2), "A bell rang.", ...paragraphs.slice(2)].join("\n\n"))).toBe(["The grey gulls were late.", "Nobody spoke.", "A bell rang.", ...paragraphs.slice(2), "She left."].join("\n\n"));
  expect(merge(base, mine, mine)).toBe(mine);
  const theirs = change({ 2: "Mara slept." }, ["She stayed."]);
  expect(merge(base, mine, theirs)).toBeNull();
  const decided = joinPieces(mergePieces(base, mine, theirs), (clash) => clash.theirs);
  expect(decided).toBe(change({ 0: "The grey gulls were late.", 2: "Mara slept." }, ["She stayed."]));
});

test("what stands between two changes of a text is no change", () => {
  expect(findChanges("a rope\n\nthe rope is a rope", "a line\n\nthe line is a line").map((one) => one.from)).toEqual([2, 12, 22]);
  for (const [before, after] of [["one\ntwo", "one\nand\ntwo too"], ["a b c", "a bb d c"], ["", "x"], ["x y", ""], ["雨停了。\n风", "雨又停了。\n风起"], ["a\n\nb\n\nc", "c\n\na\n\nx\n\nb"], ["a\n", "b\nc\n"], ["x\na\na", "a\nx\na\na\n"]] as const) {
    let text = before as string;
    for (const { from, to, insert } of findChanges(before, after).reverse()) text = text.slice(0, from) + insert + text.slice(to);
    expect(text).toBe(after);
  }
  expect(findChanges("same", "same")).toEqual([]);
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

test("a chapter that was changed in two places opens with what was typed here, and keystrokes never replace it", async () => {
  const written: Draft[] = [];
  vi.spyOn(drafts, "takeDraft").mockResolvedValue({ key: "b/1/w", text: "Mine. It rained.", base: "It rained.", revision: 3, at: 1 });
  vi.spyOn(drafts, "writeDraft").mockImplementation((draft) => Promise.resolve(void written.push(draft)));
  vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(new Response(JSON.stringify({ id: "1", text: "Theirs. It rained.", revision: 4 }), { headers: { "Content-Type": "application/json" } }))));
  let text = "";
  const session = new ChapterSession((shown) => (text = shown), () => text);
  text = await session.load("1");
  expect(text).toBe("Mine. It rained.");
  text += " More.";
  session.change();
  expect(session.conflict).toMatchObject({ mine: "Mine. It rained. More.", theirs: "Theirs. It rained." });
  await session.keep();
  expect(written.at(-1)).toMatchObject({ text: "Mine. It rained. More.", base: "It rained.", revision: 3 });
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("a chapter that cannot be loaded leaves the open one as it was, to be kept and saved", async () => {
  const written: Draft[] = [];
  vi.spyOn(drafts, "takeDraft").mockResolvedValue(undefined);
  vi.spyOn(drafts, "writeDraft").mockImplementation((draft) => Promise.resolve(void written.push(draft)));
  const sent: string[] = [];
  const answer = (_url: string, init: RequestInit = {}) => {
    if (init.method === "PUT") sent.push((JSON.parse(String(init.body)) as { text: string }).text);
    return Promise.resolve(new Response(JSON.stringify({ id: "1", text: "One.", revision: 3 }), { headers: { "Content-Type": "application/json" } }));
  };
  vi.stubGlobal("fetch", vi.fn(answer));
  let text = "";
  const session = new ChapterSession((shown) => (text = shown), () => text);
  text = await session.load("1");
  vi.stubGlobal("fetch", vi.fn(() => Promise.reject(new TypeError("gone"))));
  await expect(session.load("2")).rejects.toThrow();
  text += " Two.";
  session.change();
  await session.keep();
  expect(session.id).toBe("1");
  expect(written.at(-1)).toMatchObject({ text: "One. Two." });
  vi.stubGlobal("fetch", vi.fn(answer));
  await session.save();
  expect(sent).toEqual(["One. Two."]);
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("of two chapters that are asked for, the later one is opened, whichever comes first", async () => {
  vi.spyOn(drafts, "takeDraft").mockResolvedValue(undefined);
  const held: (() => void)[] = [];
  vi.stubGlobal("fetch", vi.fn((url: string) => new Promise((resolve) => held.push(() => resolve(new Response(JSON.stringify({ text: url.at(-1), revision: 1 })))))));
  const session = new ChapterSession(() => undefined, () => "");
  const [early, late] = [session.load("1"), session.load("2")];
  await vi.waitFor(() => expect(held).toHaveLength(2));
  held[1]!();
  expect(await late).toBe("2");
  held[0]!();
  await expect(early).rejects.toThrow("Another chapter");
  expect(session.id).toBe("2");
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("what breaks a rule in the saved text is found in the text of now, unless it was changed", () => {
  const find = (start: number, end: number, sentence = "No.") => ({ start, end, sentence });
  expect(placeViolations([find(4, 9)], "The radio plays.", "The radio plays.")).toEqual([{ from: 4, to: 9, reason: "No." }]);
  expect(placeViolations([find(4, 9)], "The radio plays.", "Now the radio plays.".replace("the", "The"))).toEqual([{ from: 8, to: 13, reason: "No." }]);
  expect(placeViolations([find(4, 9)], "The radio plays.", "The radio plays on.")).toEqual([{ from: 4, to: 9, reason: "No." }]);
  expect(placeViolations([find(4, 9)], "The radio plays.", "The ratio plays.")).toEqual([]);
  expect(placeViolations([find(2, 7)], "👩 radio", "👩 radio")).toEqual([{ from: 3, to: 8, reason: "No." }]); // characters, not units
  expect(placeViolations([find(0, 3, "One."), find(0, 3, "Two.")], "The end", "The end")).toEqual([{ from: 0, to: 3, reason: "One. Two." }]);
});

test("answers that nobody decided are found again, unless a later one of the chapter was decided", () => {
  const place = { answer: "insert", cursor: 4, selection: null, text: "hash" };
  const make = (id: string, outcome: string, given: object = {}) => ({ id, outcome, documentId: "c", skillId: "continue", answer: "Rain.", at: new Date().toISOString(), saw: { place }, ...given }) as never;
  const idsOf = (runs: never[], run = "") => findUndecided(runs, "c", run).runs.map((one) => one.id);
  expect(idsOf([make("b", "open"), make("a", "open"), make("old", "accepted")])).toEqual(["a", "b"]); // two variants, in their order
  expect(idsOf([make("x", "open", { documentId: "d" }), make("a", "stopped")])).toEqual(["a"]);
  expect(idsOf([make("b", "rejected"), make("a", "open")])).toEqual([]);
  expect(idsOf([make("b", "rejected"), make("a", "open")], "a")).toEqual(["a"]);
  expect(idsOf([make("b", "open", { saw: { place: { ...place, answer: "show" } } }), make("a", "open")])).toEqual(["a"]);
  expect(idsOf([make("b", "open"), make("a", "open", { saw: { place: { ...place, cursor: 9 } } })])).toEqual(["b"]);
  expect(findUndecided([make("b", "begun", { answer: "", saw: {} })], "c").isWriting).toBe(true);
  expect(findUndecided([make("b", "begun", { answer: "", saw: {}, at: "2020-01-01T00:00:00" })], "c").isWriting).toBe(false);
});

test("words that break a rule are marked where they stand, never inside of another word", () => {
  const find = (quote: string, start: number | null, rule = "r") => ({ rule, quote, reason: `No ${quote}.`, isHint: false, start, end: start === null ? null : start + quote.length });
  const marked = (sentences: string[], findings: ReturnType<typeof find>[]) => markSentences(sentences, findings).map((parts) => parts.map((one) => (one.reason ? `[${one.text}]` : one.text)).join(""));
  const sentences = ["He kept pushing us. ", "Your house is our house."];
  expect(marked(sentences, [find("us", 16), find("our", null)])).toEqual(["He kept pushing [us]. ", "Your house is [our] house."]);
  expect(marked(sentences, [find("us", 12), find("us", 12, "other")])).toEqual(["He kept pushing [us]. ", "Your house is our house."]); // a text that was changed
  expect(marked(["👩 and us."], [find("us", 6)])).toEqual(["👩 and [us]."]);
  expect(marked(["One. ", "Two."], [find("One. Two", 0)])).toEqual(["[One. ]", "[Two]."]);
  expect(marked(["我们走吧。"], [find("我们", 0)])).toEqual(["[我们]走吧。"]);
  expect(marked(["pushing"], [find("us", null)])).toEqual(["pushing"]);
});

test("a rule that is broken many times is said once", () => {
  const findings = ["us", "we", "us"].map((quote) => ({ rule: "person", quote, reason: `“${quote}” speaks of the narrator.`, isHint: false, start: null, end: null }));
  expect(groupFindings(findings)).toEqual([{ reason: "“us” speaks of the narrator.", count: 3 }]);
});

test("a title does not repeat the number that stands before it", () => {
  const titles = { "CHAPTER CXV The Pequod": "The Pequod", "Chapter 12: Rain": "Rain", "Chapter 1": "Chapter 1", "Chapters of accidents": "Chapters of accidents", "第十二章 雨": "雨", "第三章": "第三章", "Chapter Mix": "Chapter Mix" };
  expect(Object.keys(titles).map(shortenTitle)).toEqual(Object.values(titles));
});

test("a length has the unit of the book's language, in the reader's words", () => {
  const said = (book: string, reader: "en" | "zh") => {
    story.info = { id: "x", language: book } as never;
    language.set(reader);
    return nameLength(1200);
  };
  expect([said("en", "en"), said("en", "zh"), said("zh", "en"), said("zh", "zh")]).toEqual(["1,200 words", "1,200 词", "1,200 characters", "1,200 字"]);
  language.set("en");
  story.info = null;
});

test("a chapter that is probably several is told of until the writer wants it as it is", () => {
  localStorage.clear();
  expect(isSeveral({ id: "a", words: 30_000 })).toBe(false);
  expect(isSeveral({ id: "a", words: 130_000 })).toBe(true);
  keepWhole("a");
  expect(isSeveral({ id: "a", words: 130_000 })).toBe(false);
  expect(isSeveral({ id: "b", words: 130_000 })).toBe(true);
});

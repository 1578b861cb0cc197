import { expect, test } from "vitest";
import { chooseFacts, cutArcs, makePicture, sortDocuments, type Choice, type Fact, type StoryDocument } from "../src/views/timeline/picture";
import { cutName } from "../src/views/timeline/sizes";

const makeDocument = (index: number, storyIndex = index, happensElsewhere = false): StoryDocument => ({
  documentId: `c${index}`, number: index + 1, title: `Chapter ${index + 1}`, pov: "", storyIndex, happensElsewhere,
});
const makeFact = (given: Partial<Fact>): Fact => ({
  entryId: "mara", name: "Mara", text: "It is so.", progression: 1, relatedTo: null, since: null, until: null, isSecret: false, knowers: [], ...given,
});
const at = (document: string, offset = 0) => ({ document, offset });
const plain: Choice = { order: "reading", eyes: "", words: "", kind: "all" };
// The third chapter of four happens first.
const documents = [makeDocument(0, 1), makeDocument(1, 2), makeDocument(2, 0, true), makeDocument(3, 3)];
const secret = makeFact({
  since: at("c1"), isSecret: true,
  knowers: [{ knowerId: "grace", name: "Grace", since: null }, { knowerId: "hope", name: "Hope", since: at("c3", 9) }],
});
const timeline = { documents, appearances: [], facts: [secret, makeFact({ progression: 2, since: at("c1", 5) }), makeFact({ progression: 3, isSecret: true }), makeFact({ progression: 4, since: at("lost") })] };

test("what becomes true and who learns it stand below their chapter, in its order", () => {
  const { lines } = makePicture(timeline, plain);
  expect(lines.map((one) => one.key)).toEqual([
    "start", "f:mara#3", "c:c0", "c:c1", "f:mara#1", "f:mara#2", "c:c2", "c:c3", "l:mara#1:hope", "gone", "f:mara#4",
  ]);
});

test("in the order of the story a flashback stands where it happens", () => {
  expect(sortDocuments(documents, "story")).toEqual([2, 0, 1, 3]);
  const { lines } = makePicture(timeline, { ...plain, order: "story" });
  expect(lines.filter((one) => one.kind === "chapter").map((one) => one.key)).toEqual(["c:c2", "c:c0", "c:c1", "c:c3"]);
});

test("a lane runs from where a secret becomes true, and somebody knows it from where it is learnt", () => {
  const author = makePicture(timeline, plain);
  const [lane] = author.lanes;
  expect(lane).toMatchObject({ begins: 4, known: 4, ends: author.lines.length, learnt: [8] });
  expect(makePicture(timeline, { ...plain, eyes: "hope" }).lanes[0]!.known).toBe(8);
  expect(makePicture(timeline, { ...plain, eyes: "grace" }).lanes[0]!.known).toBe(4);
  expect(makePicture(timeline, { ...plain, eyes: "nobody" }).lanes[0]!.known).toBe(Infinity);
});

test("an arc leads from a chapter to where it belongs in the other order", () => {
  const { arcs, arcColumns, lines } = makePicture({ ...timeline, facts: [] }, plain);
  expect(arcs).toEqual([{ from: 2, to: 0, column: 0 }]);
  expect(arcColumns).toBe(1);
  expect(lines[2]!.key).toBe("c:c2");
  expect(cutArcs(arcs, 1)).toEqual([{ column: 0, up: true, down: true, leaves: false, arrives: false }]);
  expect(cutArcs(arcs, 0)[0]).toMatchObject({ up: false, down: true, arrives: true });
  expect(cutArcs(arcs, 3)).toEqual([]);
});

test("facts are chosen by words and by kind", () => {
  expect(chooseFacts(timeline.facts, { words: "HOPE", kind: "all" })).toEqual([secret]);
  expect(chooseFacts(timeline.facts, { words: "", kind: "secrets" })).toHaveLength(2);
  expect(chooseFacts(timeline.facts, { words: "", kind: "changes" })).toHaveLength(3);
});

test("two facts of one name keep two lines", () => {
  const twice = [makeFact({ relatedTo: "x", since: at("c0") }), makeFact({ relatedTo: "x", since: at("c1") })];
  const keys = makePicture({ documents, appearances: [], facts: twice }, plain).lines.map((one) => one.key);
  expect(new Set(keys).size).toBe(keys.length);
});

test("a name over a column is cut by the room it takes, and Chinese takes more", () => {
  expect(cutName("Grace Odell")).toBe("Grace Odell");
  expect(cutName("The Inspector's daughter")).toBe("The Inspector's…");
  expect(cutName("雾港灯塔守夜人的旧日记本")).toBe("雾港灯塔守夜人…");
});

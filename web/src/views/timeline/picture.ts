/**
 * The timeline as lines of one height: a line for each chapter, and below it one for everything that becomes true there
 * and one for everybody who learns something. Each line knows its part of the lanes, so only visible lines are drawn.
 */
import type { Schemas } from "../../lib/api";

export type StoryDocument = Schemas["StoryDocumentInfo"];
export type Fact = Schemas["StoryFactInfo"];
export type Knower = Schemas["FactKnowerInfo"];
export type Timeline = Schemas["TimelineInfo"];
export type Order = "reading" | "story";

export interface Line {
  /** What names it in the address. */
  key: string;
  kind: "start" | "chapter" | "fact" | "learns" | "gone";
  /** The index of its chapter in reading order; -1 before the first one. */
  document: number;
  fact?: Fact;
  knower?: Knower;
}

/** A secret as a line down the picture, in numbers of lines. */
export interface Lane {
  id: string;
  fact: Fact;
  begins: number;
  ends: number;
  /** From which line on the chosen person knows it; `Infinity` for never. */
  known: number;
  /** The lines at which somebody learns it. */
  learnt: number[];
}

/** A chapter that does not happen where it is read: from its line to where it belongs in the other order. */
export interface Arc {
  from: number;
  to: number;
  column: number;
}

export interface Picture {
  lines: Line[];
  lanes: Lane[];
  arcs: Arc[];
  /** How many columns the arcs take. */
  arcColumns: number;
}

export interface Choice {
  order: Order;
  /** Whose knowledge is drawn; empty for the author's, who knows everything. */
  eyes: string;
  /** Words that a fact or its entry must have. */
  words: string;
  kind: "all" | "changes" | "secrets";
}

const MOST_ARC_COLUMNS = 3;

/** Return the id of a fact: of an entry, its progression or its relation. */
export function nameFact(fact: Fact): string {
  return fact.relatedTo ? `${fact.entryId}>${fact.relatedTo}` : `${fact.entryId}#${fact.progression}`;
}

/** Return the documents by their index, in an order. */
export function sortDocuments(documents: readonly StoryDocument[], order: Order): number[] {
  const indexes = documents.map((_, index) => index);
  return order === "reading" ? indexes : indexes.sort((a, b) => documents[a]!.storyIndex - documents[b]!.storyIndex);
}

export function chooseFacts(facts: readonly Fact[], choice: Pick<Choice, "words" | "kind">): Fact[] {
  const words = choice.words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return facts.filter((one) => {
    if (choice.kind === "secrets" && !one.isSecret) return false;
    if (choice.kind === "changes" && !one.since && !one.until) return false;
    const text = [one.name, one.text, ...one.knowers.map((knower) => knower.name)].join("\n").toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Draw up the picture: all lines, and which lines each secret runs through. */
export function makePicture(timeline: Timeline, choice: Choice): Picture {
  const { documents } = timeline;
  const places = new Map(documents.map((one, index) => [one.documentId, index]));
  const below = new Map<number, Line[]>();
  const facts = chooseFacts(timeline.facts, choice);
  const ids = new Map<Fact, string>();
  const used = new Map<string, number>();
  for (const fact of facts) {
    const name = nameFact(fact);
    const count = used.get(name) ?? 0;
    used.set(name, count + 1);
    ids.set(fact, count ? `${name}~${count}` : name); // two may stand to each other in two ways
  }
  const place = (since: Schemas["StoryPlace"] | null) => (since ? (places.get(since.document) ?? documents.length) : -1);
  const add = (line: Line, offset: number) => {
    const list = below.get(line.document) ?? [];
    list.push(Object.assign(line, { offset }));
    below.set(line.document, list);
  };
  for (const fact of facts) {
    const id = ids.get(fact)!;
    const at = place(fact.since);
    add({ key: `f:${id}`, kind: "fact", document: at, fact }, fact.since?.offset ?? 0);
    for (const knower of fact.knowers) {
      if (!knower.since) continue;
      add({ key: `l:${id}:${knower.knowerId}`, kind: "learns", document: place(knower.since), fact, knower }, knower.since.offset);
    }
  }
  const lines: Line[] = [];
  const take = (document: number) => {
    const found = (below.get(document) ?? []) as (Line & { offset: number })[];
    lines.push(...found.sort((a, b) => a.offset - b.offset));
  };
  if (below.has(-1)) lines.push({ key: "start", kind: "start", document: -1 });
  take(-1);
  const chapterLines = new Map<number, number>();
  for (const index of sortDocuments(documents, choice.order)) {
    chapterLines.set(index, lines.length);
    lines.push({ key: `c:${documents[index]!.documentId}`, kind: "chapter", document: index });
    take(index);
  }
  if (below.has(documents.length)) lines.push({ key: "gone", kind: "gone", document: documents.length });
  take(documents.length);
  return { lines, lanes: makeLanes(facts, ids, lines, chapterLines, places, choice.eyes), ...makeArcs(documents, choice.order, chapterLines) };
}

function makeLanes(facts: readonly Fact[], ids: Map<Fact, string>, lines: readonly Line[], chapterLines: Map<number, number>, places: Map<string, number>, eyes: string): Lane[] {
  const at = new Map(lines.map((one, index) => [one.key, index]));
  return facts
    .filter((one) => one.isSecret)
    .map((fact) => {
      const id = ids.get(fact)!;
      const begins = at.get(`f:${id}`)!;
      const learnt = fact.knowers.filter((one) => one.since).map((one) => at.get(`l:${id}:${one.knowerId}`)!);
      const own = fact.knowers.find((one) => one.knowerId === eyes);
      const end = fact.until ? chapterLines.get(places.get(fact.until.document) ?? -1) : undefined;
      const known = !eyes ? begins : !own ? Infinity : own.since ? Math.max(begins, at.get(`l:${id}:${eyes}`)!) : begins;
      return { id, fact, begins, ends: end ?? lines.length, known, learnt };
    });
}

/** Lines from chapters that happen elsewhere to where they belong, in as few columns as do not cross. */
function makeArcs(documents: readonly StoryDocument[], order: Order, chapterLines: Map<number, number>): Pick<Picture, "arcs" | "arcColumns"> {
  const other = sortDocuments(documents, order === "reading" ? "story" : "reading");
  const arcs: Arc[] = [];
  const free: number[] = [];
  let before = -1;
  const moved: { from: number; to: number }[] = [];
  for (const index of other) {
    if (!documents[index]!.happensElsewhere) {
      before = index;
      continue;
    }
    const from = chapterLines.get(index)!;
    const to = before < 0 ? 0 : chapterLines.get(before)!;
    if (Math.abs(from - to) > 1) moved.push({ from, to });
  }
  moved.sort((a, b) => Math.min(a.from, a.to) - Math.min(b.from, b.to));
  for (const one of moved) {
    const first = Math.min(one.from, one.to);
    let column = free.findIndex((end) => end < first);
    if (column < 0) column = free.length;
    if (column >= MOST_ARC_COLUMNS) continue; // the words beside the chapter still say it
    free[column] = Math.max(one.from, one.to);
    arcs.push({ ...one, column });
  }
  return { arcs, arcColumns: free.length };
}

/** The part of the arcs that one line shows. */
export function cutArcs(arcs: readonly Arc[], index: number): { column: number; up: boolean; down: boolean; leaves: boolean; arrives: boolean }[] {
  return arcs
    .filter((one) => index >= Math.min(one.from, one.to) && index <= Math.max(one.from, one.to))
    .map((one) => ({
      column: one.column,
      up: index > Math.min(one.from, one.to),
      down: index < Math.max(one.from, one.to),
      leaves: index === one.from,
      arrives: index === one.to,
    }));
}

/** What changed between two texts, stretch by stretch; and what two people changed in one text put together. */
export interface Change {
  from: number;
  to: number;
  insert: string;
}

/** Return the one stretch in which two texts differ; never one that begins or ends inside a surrogate pair. */
export function findChange(before: string, after: string): Change | null {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  if (start > 0 && isHigh(before.charCodeAt(start - 1))) start--;
  let end = 0;
  while (end < shorter - start && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)) end++;
  if (end > 0 && isLow(before.charCodeAt(before.length - end))) end--;
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}

/**
 * Return the stretches in which two texts differ, so that what stands between them stays as it is. They are
 * found between lines that stayed; where no line did and there are as many, line by line. Where words were added or
 * taken away, it is one stretch a line.
 */
export function findChanges(before: string, after: string, separators: readonly string[] = ["\n", " "]): Change[] {
  const change = findChange(before, after);
  const [separator, ...others] = separators;
  if (!change || separator === undefined) return change ? [change] : [];
  const [old, now] = [before.split(separator), after.split(separator)];
  const anchors = separator === "\n" ? findAnchors(old, now) : [];
  if (anchors.length) return findBetween(before, after, anchors, separators);
  if (old.length !== now.length) return [change];
  let at = 0;
  return old.flatMap((piece, index) => {
    const start = at;
    at += piece.length + separator.length;
    return findChanges(piece, now[index]!, others).map((one) => move(one, start));
  });
}

const move = ({ from, to, insert }: Change, by: number): Change => ({ from: from + by, to: to + by, insert });

/** A line that stayed: where it begins in both texts, and how long it is. */
interface Anchor {
  old: number;
  now: number;
  length: number;
}

/** Return what changed between lines that stayed. */
function findBetween(before: string, after: string, anchors: readonly Anchor[], separators: readonly string[]): Change[] {
  let [old, now] = [0, 0];
  const changes: Change[] = [];
  for (const anchor of [...anchors, { old: before.length, now: after.length, length: 0 }]) {
    const start = old;
    changes.push(...findChanges(before.slice(old, anchor.old), after.slice(now, anchor.now), separators).map((one) => move(one, start)));
    [old, now] = [anchor.old + anchor.length, anchor.now + anchor.length];
  }
  return changes;
}

/** Find lines that stand once in both texts, as many of them as have the same order in both. */
function findAnchors(old: readonly string[], now: readonly string[]): Anchor[] {
  const places = findSingles(now);
  const found = [...findSingles(old)].flatMap(([line, place]) => (places.has(line) ? [{ old: place, now: places.get(line)!, length: line.length }] : []));
  // The longest series that rises in the second text: `ends[n]` is the best end of a series of n + 1.
  const ends: number[] = [];
  const previous = found.map(() => -1);
  found.forEach((one, index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found[ends[middle]!]!.now < one.now) low = middle + 1;
      else high = middle;
    }
    previous[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  });
  const series: Anchor[] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index]!) series.push(found[index]!);
  return series.reverse();
}

/** Return where lines begin that stand once in a text; empty ones say nothing of their place. */
function findSingles(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const seen = new Set<string>();
  let at = 0;
  for (const line of lines) {
    if (seen.has(line)) places.delete(line);
    else if (line) places.set(line, at);
    seen.add(line);
    at += line.length + 1;
  }
  return places;
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** A stretch that two people changed, as each of them left it. */
export interface Clash {
  mine: string;
  theirs: string;
}

/** A part of two versions put together: text, or what a person has to decide. */
export type Piece = string | Clash;

/** What one side made of whole sentences; `first` and `last` are where that begins and ends within them. */
interface SentenceChange extends Change {
  first: number;
  last: number;
}

/** Put the changes of two people together, sentence by sentence; what both changed differently is a clash. */
export function mergePieces(base: string, mine: string, theirs: string): Piece[] {
  const changesOf = (text: string, isOwn: boolean) => findSentenceChanges(base, text).map((change) => ({ change, isOwn }));
  const waiting = [...changesOf(mine, true), ...changesOf(theirs, false)].sort((a, b) => a.change.from - b.change.from || a.change.to - b.change.to);
  const pieces: Piece[] = [];
  let done = 0; // in the base
  while (waiting.length) {
    const group = [waiting.shift()!];
    let { from, to, last } = group[0]!.change;
    while (waiting.length && (waiting[0]!.change.from < to || waiting[0]!.change.first <= last)) {
      const next = waiting.shift()!;
      group.push(next);
      [to, last] = [Math.max(to, next.change.to), Math.max(last, next.change.last)];
    }
    const cut = (isOwn: boolean) => apply(base.slice(from, to), group.filter((one) => one.isOwn === isOwn).map((one) => one.change), from);
    const [own, others] = [cut(true), cut(false)];
    const isBoth = group.some((one) => one.isOwn !== group[0]!.isOwn);
    pieces.push(base.slice(done, from), isBoth && own !== others ? { mine: own, theirs: others } : group[0]!.isOwn ? own : others);
    done = to;
  }
  return [...pieces, base.slice(done)];
}

const END = /[.!?。！？][.!?。！？”’"'」』）)\]»]*/u.source;
/** What stands between two sentences, a sentence, or the rest of a line. A stop before a small letter ends none. */
const SENTENCE = new RegExp(String.raw`\s+|[^\n]*?(?:${END}(?=\s+[^\s\p{Ll}])|[。！？][。！？”’」』）]*)|[^\n]*\S`, "gu");
const WHOLE = new RegExp(String.raw`(?:^|${END}|\n)\s*$`, "u");

/** Return what changed between two texts in whole sentences, so that none is put together from two versions. */
function findSentenceChanges(before: string, after: string): SentenceChange[] {
  const waiting = findChanges(before, after);
  const edges = [0, ...[...before.matchAll(SENTENCE)].map((one) => one.index + one[0].length)];
  const startOf = (place: number) => edges.findLast((edge) => edge <= place) ?? 0;
  const endOf = (place: number) => edges.find((edge) => edge >= place) ?? before.length;
  const found: SentenceChange[] = [];
  while (waiting.length) {
    const parts = [waiting.shift()!];
    const first = parts[0]!.from;
    // What is added behind words without an end goes on with them, unless it is a line of its own.
    const goesOn = /^[^\n]/.test(parts[0]!.insert) && !WHOLE.test(before.slice(startOf(first - 1), first));
    const from = Math.max(found.at(-1)?.to ?? 0, startOf(goesOn ? first - 1 : first));
    let to = endOf(parts[0]!.to);
    let insert = "";
    for (;;) {
      while (waiting.length && waiting[0]!.from < to) to = Math.max(to, endOf(parts[parts.push(waiting.shift()!) - 1]!.to));
      insert = apply(before.slice(from, to), parts, from);
      if (to >= before.length || before[to] === "\n" || WHOLE.test(insert)) break;
      to = endOf(to + 1);
    }
    found.push({ from, to, insert, first, last: parts.at(-1)!.to });
  }
  return found;
}

/** Make changes in a part of a text that begins at a place. */
function apply(part: string, changes: readonly Change[], start: number): string {
  let [text, done] = ["", start];
  for (const { from, to, insert } of changes) {
    text += part.slice(done - start, from - start) + insert;
    done = to;
  }
  return text + part.slice(done - start);
}

/** Put the pieces together, with what is decided for each clash. */
export function joinPieces(pieces: readonly Piece[], decide: (clash: Clash) => string): string {
  return pieces.map((one) => (typeof one === "string" ? one : decide(one))).join("");
}

/** Put two changes of one text together; null where both changed the same place. */
export function merge(base: string, mine: string, theirs: string): string | null {
  const pieces = mergePieces(base, mine, theirs);
  return pieces.every((one) => typeof one === "string") ? pieces.join("") : null;
}

/** Both versions of such a stretch, one after the other: sentences in one paragraph, anything else in one each. */
export function keepBoth({ mine, theirs }: Clash): string {
  if (!theirs.trim() || !mine.trim()) return theirs + mine;
  const isParagraph = (theirs + mine).includes("\n") || !WHOLE.test(theirs);
  if (isParagraph) return theirs.endsWith("\n") ? theirs + mine : `${theirs}\n\n${mine.trimStart()}`;
  const isParted = /\s$/.test(theirs) || /^\s/.test(mine) || /[。！？][^\p{L}\p{N}]*$/u.test(theirs);
  return theirs + (isParted ? "" : " ") + mine;
}

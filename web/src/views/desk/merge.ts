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
 * Return the stretches in which two texts differ, so that what stands between them stays as it is. Where lines were
 * added or taken away, they are found between lines that stayed; where words were, it is one stretch a line.
 */
export function findChanges(before: string, after: string, separators: readonly string[] = ["\n", " "]): Change[] {
  const change = findChange(before, after);
  const [separator, ...others] = separators;
  if (!change || separator === undefined) return change ? [change] : [];
  const [old, now] = [before.split(separator), after.split(separator)];
  if (old.length !== now.length) return separator === "\n" ? findBetween(before, after, findAnchors(old, now), separators, change) : [change];
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

/** Return what changed between lines that stayed; where none did, it is the one change. */
function findBetween(before: string, after: string, anchors: readonly Anchor[], separators: readonly string[], change: Change): Change[] {
  if (!anchors.length) return [change];
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

/** Put the changes of two people together; what touches is a clash. */
export function mergePieces(base: string, mine: string, theirs: string): Piece[] {
  const sides = { mine: findChanges(base, mine), theirs: findChanges(base, theirs) };
  const pieces: Piece[] = [];
  let done = 0; // in the base
  const waiting = [...sides.mine, ...sides.theirs].sort((a, b) => a.from - b.from || a.to - b.to);
  while (waiting.length) {
    let { from, to } = waiting.shift()!;
    while (waiting.length && waiting[0]!.from <= to) to = Math.max(to, waiting.shift()!.to);
    const next = waiting[0]?.from ?? base.length;
    const within = (side: readonly Change[]) => side.filter((one) => one.from >= from && one.to <= to);
    const cut = (side: readonly Change[]) => apply(base.slice(from, to), side, from);
    const [own, others] = [within(sides.mine), within(sides.theirs)];
    if (own.length && others.length && cut(own) !== cut(others)) {
      const cutsWord = (place: number, edge: (text: string) => string | undefined) => isWord(base[place]) && [cut(own), cut(others), base.slice(from, to)].some((text) => isWord(edge(text)));
      while (from > done && cutsWord(from - 1, (text) => text[0] ?? base[to])) from--; // halves of words cannot stand one after the other
      while (to < next && cutsWord(to, (text) => text.at(-1) ?? base[from - 1])) to++;
      pieces.push(base.slice(done, from), { mine: cut(own), theirs: cut(others) });
    } else pieces.push(base.slice(done, from), cut(own.length ? own : others));
    done = to;
  }
  return [...pieces, base.slice(done)];
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

/** Whether a character belongs to a word that is written with letters. */
const isWord = (one: string | undefined) => one !== undefined && /[\p{L}\p{N}'’]/u.test(one) && !/\p{Script=Han}/u.test(one);

/** Both versions of such a stretch, one after the other. */
export function keepBoth({ mine, theirs }: Clash): string {
  const between = theirs.trim() && mine.trim() && !theirs.endsWith("\n") ? "\n\n" : "";
  return theirs + between + (between ? mine.trimStart() : mine);
}

/** What changed between two texts, as one replaced stretch; and two such changes of one text put together. */
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
 * added or taken away, it is one stretch; where words were, it is one a line.
 */
export function findChanges(before: string, after: string, separators: readonly string[] = ["\n", " "]): Change[] {
  const change = findChange(before, after);
  const [separator, ...others] = separators;
  if (!change || separator === undefined) return change ? [change] : [];
  const [old, now] = [before.split(separator), after.split(separator)];
  if (old.length !== now.length) return [change];
  let at = 0;
  return old.flatMap((piece, index) => {
    const start = at;
    at += piece.length + separator.length;
    return findChanges(piece, now[index]!, others).map(({ from, to, insert }) => ({ from: from + start, to: to + start, insert }));
  });
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** Put two changes of one text together; null where both changed the same place. */
export function merge(base: string, mine: string, theirs: string): string | null {
  if (mine === theirs || theirs === base) return mine;
  if (mine === base) return theirs;
  const own = findChange(base, mine)!;
  const other = findChange(base, theirs)!;
  const [first, second] = own.from <= other.from ? [own, other] : [other, own];
  if (first.to >= second.from) return null; // they touch: a person has to decide
  return base.slice(0, first.from) + first.insert + base.slice(first.to, second.from) + second.insert + base.slice(second.to);
}

/** The stretch of a text that two people changed, as each of them left it, and what stands before and after it. */
export interface Clash {
  before: string;
  mine: string;
  theirs: string;
  after: string;
}

/** Return the stretch of a text that holds both changes of it. */
export function findClash(base: string, mine: string, theirs: string): Clash {
  const changes = [findChange(base, mine), findChange(base, theirs)].filter((one) => one !== null);
  let from = Math.min(base.length, ...changes.map((one) => one.from));
  let rest = base.length - Math.max(from, ...changes.map((one) => one.to));
  const cutsWord = (place: (text: string) => number) => [base, mine, theirs].some((text) => isWord(text[place(text) - 1]) && isWord(text[place(text)]));
  while (cutsWord(() => from)) from--; // halves of words cannot stand one after the other
  while (cutsWord((text) => text.length - rest)) rest--;
  const cut = (text: string) => text.slice(from, text.length - rest);
  return { before: base.slice(0, from), mine: cut(mine), theirs: cut(theirs), after: base.slice(base.length - rest) };
}

/** Whether a character belongs to a word that is written with letters. */
const isWord = (one: string | undefined) => one !== undefined && /[\p{L}\p{N}'’]/u.test(one) && !/\p{Script=Han}/u.test(one);

/** Put both versions of such a stretch into the text, one after the other. */
export function keepBoth({ before, mine, theirs, after }: Clash): string {
  const between = theirs.trim() && mine.trim() && !theirs.endsWith("\n") ? "\n\n" : "";
  return before + theirs + between + (between ? mine.trimStart() : mine) + after;
}

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

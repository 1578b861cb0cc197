/** What the judge says of an answer: which words break which rule, and every rule once. */
export interface Finding {
  /** The id of the rule. */
  rule: string;
  quote: string;
  reason: string;
  isHint: boolean;
  /** Where the words stand in the answer, in characters; none where the judge did not find them. */
  start: number | null;
  end: number | null;
}

/** Read what the judge says of an answer. */
export function readFindings(verdict: Record<string, unknown>): Finding[] {
  const found = Array.isArray(verdict.findings) ? (verdict.findings as Record<string, unknown>[]) : [];
  const place = (value: unknown) => (typeof value === "number" ? value : null);
  return found.map((one) => ({
    rule: String(one.breaks ?? ""),
    quote: String(one.words ?? ""),
    reason: String(one.reason ?? ""),
    isHint: Boolean(one.hint),
    start: place(one.start),
    end: place(one.end),
  }));
}

/** A part of a sentence; with a reason where it breaks a rule. */
export interface MarkedPart {
  text: string;
  reason: string;
}

const isLetter = (one: string | undefined) => one !== undefined && /[\p{L}\p{N}]/u.test(one) && !/\p{Script=Han}/u.test(one);

/** Whether words stand in a text at a place, and not inside of a longer word. */
function standsAt(text: string, quote: string, at: number): boolean {
  const end = at + quote.length;
  if (!text.startsWith(quote, at)) return false;
  return !(isLetter(text[at - 1]) && isLetter(quote[0])) && !(isLetter(quote.at(-1)) && isLetter(text[end]));
}

/** Cut sentences where words of them break a rule; an answer that was changed since is searched for the words. */
export function markSentences(sentences: readonly string[], findings: readonly Finding[]): MarkedPart[][] {
  const text = sentences.join("");
  const characters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const unitsOf = (place: number) => characters?.slice(0, place).join("").length ?? place;
  const used = new Set<string>();
  const marks = new Map<number, { end: number; reasons: string[] }>(); // by where they begin
  for (const { rule, quote, reason, start } of findings) {
    if (!quote || !reason) continue;
    let at = start === null ? -1 : unitsOf(start);
    if (at < 0 || !standsAt(text, quote, at) || used.has(`${rule} ${at}`)) {
      at = text.indexOf(quote);
      while (at >= 0 && (!standsAt(text, quote, at) || used.has(`${rule} ${at}`))) at = text.indexOf(quote, at + 1);
    }
    if (at < 0) continue;
    used.add(`${rule} ${at}`);
    const known = marks.get(at);
    marks.set(at, { end: Math.max(at + quote.length, known?.end ?? 0), reasons: [...(known?.reasons ?? []), reason] });
  }
  const ordered = [...marks].sort(([a], [b]) => a - b);
  let offset = 0;
  return sentences.map((sentence) => {
    const parts: MarkedPart[] = [];
    const [from, to] = [offset, offset + sentence.length];
    let done = from;
    for (const [start, { end, reasons }] of ordered) {
      const [first, last] = [Math.max(start, done), Math.min(end, to)];
      if (first >= last) continue;
      if (first > done) parts.push({ text: text.slice(done, first), reason: "" });
      parts.push({ text: text.slice(first, last), reason: [...new Set(reasons)].join(" ") });
      done = last;
    }
    if (done < to) parts.push({ text: text.slice(done, to), reason: "" });
    offset = to;
    return parts;
  });
}

/** Return every broken rule once, with its first reason and at how many places it is broken. */
export function groupFindings(findings: readonly Finding[]): { reason: string; count: number }[] {
  const groups = new Map<string, { reason: string; count: number }>();
  for (const { rule, reason } of findings) {
    const key = rule || reason;
    groups.set(key, { reason: groups.get(key)?.reason ?? reason, count: (groups.get(key)?.count ?? 0) + 1 });
  }
  return [...groups.values()];
}

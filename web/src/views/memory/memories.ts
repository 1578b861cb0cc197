/** What the memory view works out by itself: the order of memories, their evidence, and what they contradict. */
import type { Schemas } from "../../lib/api";

export type Memory = Schemas["MemoryInfo"];
export type State = "proposed" | "confirmed" | "dismissed";

/** Return the memories of a state that have all the words, the surest first. */
export function filterMemories(list: readonly Memory[], state: State, words: string, kind: string): Memory[] {
  const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return list
    .filter((one) => one.state === state && (!kind || one.kind === kind))
    .filter((one) => wanted.every((word) => one.text.toLocaleLowerCase().includes(word)))
    .sort((a, b) => b.today - a.today);
}

/** Return the quotations of evidence; each stands behind the id of what was accepted or rejected, and a colon. */
export function quoteEvidence(evidence: readonly string[]): string[] {
  return evidence.map((one) => (/^[^\s:]+: /.test(one) ? one.slice(one.indexOf(": ") + 2) : /^[0-9a-f-]{8,}$/i.test(one) ? "" : one)).filter(Boolean);
}

/** Return the texts of the memories that one contradicts. */
export function listContradicted(one: Memory, list: readonly Memory[]): string[] {
  return one.contradicts.flatMap((id) => list.filter((other) => other.id === id).map((other) => other.text));
}

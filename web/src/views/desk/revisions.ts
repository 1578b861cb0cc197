/** Versions of a chapter as a list shows them: the present text first, each with the version that it replaced. */
import type { Schemas } from "../../lib/api";

type Revision = Schemas["RevisionInfo"];
type Part = Schemas["TextPartInfo"];

export interface Version {
  revision: number;
  label: string;
  /** When another text replaced it; empty for the present one. */
  recordedAt: string;
  isCurrent: boolean;
  /** The revision that it replaced; null for the first that was kept. */
  before: number | null;
  /** Why that one was replaced. */
  cause: string;
}

/** Return all versions, the newest first, from the revisions that were kept and the number of the present one. */
export function listVersions(kept: readonly Revision[], current: number): Version[] {
  const earlier = kept.toSorted((a, b) => b.revision - a.revision);
  if (!earlier.length) return [];
  const isKept = earlier[0]!.revision === current; // the present text, under a name
  const all = isKept ? earlier : [{ revision: current, label: "", recordedAt: "", cause: "" }, ...earlier];
  return all.map((one, index) => ({
    revision: one.revision,
    label: one.label,
    recordedAt: one.revision === current ? "" : one.recordedAt,
    isCurrent: one.revision === current,
    before: all[index + 1]?.revision ?? null,
    cause: all[index + 1]?.cause ?? "",
  }));
}

const AROUND = 24; // characters of unchanged text beside a change
const MOST = 90; // characters of one change

/** Return a changed line with only a little of what stayed the same. */
export function shortenLine(parts: readonly Part[]): Part[] {
  return parts.map((part, index) => {
    if (part.kind !== "same") return { ...part, text: part.text.length > MOST ? `${part.text.slice(0, MOST)}…` : part.text };
    const isFirst = index === 0;
    const isLast = index === parts.length - 1;
    if (part.text.length <= (isFirst || isLast ? AROUND : 2 * AROUND)) return part;
    const start = isFirst ? "" : part.text.slice(0, AROUND);
    const end = isLast ? "" : part.text.slice(-AROUND);
    return { ...part, text: `${start}…${end}` };
  });
}

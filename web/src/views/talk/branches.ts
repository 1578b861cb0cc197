/**
 * The alternatives of a conversation as rows of a tree: the path that it takes runs straight down at the left, and what
 * was said in another way hangs beside it, with whatever followed that.
 */
import type { Schemas } from "../../lib/api";

type TreeMessage = Schemas["TreeMessageInfo"];

export interface BranchRow {
  message: TreeMessage["message"];
  /** Which alternative of its message it is, from 1 on. */
  number: number;
  isActive: boolean;
  /** How far it stands to the right. */
  column: number;
  /** Whether it begins a line of its own, beside that of the column before. */
  isBeside: boolean;
  /** The columns whose line goes on below this row, and whether the conversation goes along it. */
  below: { column: number; isActive: boolean }[];
}

/** Return the alternatives below each one, or at the beginning; what has no alternatives is passed over. */
function groupAlternatives(tree: readonly TreeMessage[]): Map<string | null, TreeMessage[]> {
  const byId = new Map(tree.map((one) => [one.message.id, one]));
  const counts = new Map<string | null, number>();
  for (const one of tree) counts.set(one.parentId, (counts.get(one.parentId) ?? 0) + 1);
  const isAlternative = (one: TreeMessage) => counts.get(one.parentId)! > 1;
  const above = new Map<string, string | null>(); // of each message, the nearest alternative before it
  const groups = new Map<string | null, TreeMessage[]>();
  for (const one of tree) {
    const parent = one.parentId === null ? undefined : byId.get(one.parentId); // which stands before what follows it
    const nearest = !parent ? null : isAlternative(parent) ? parent.message.id : (above.get(parent.message.id) ?? null);
    above.set(one.message.id, nearest);
    if (isAlternative(one)) groups.set(nearest, [...(groups.get(nearest) ?? []), one]);
  }
  return groups;
}

/** Lay out the tree of a conversation as rows. */
export function layOut(tree: readonly TreeMessage[]): BranchRow[] {
  const groups = groupAlternatives(tree);
  const rows: BranchRow[] = [];

  function follow(from: string | null, column: number): void {
    for (let group = groups.get(from); group; ) {
      const trunk = group.find((one) => one.isActive) ?? group.at(-1)!;
      const add = (one: TreeMessage, isBeside: boolean) =>
        rows.push({ message: one.message, number: group!.indexOf(one) + 1, isActive: one.isActive, column: isBeside ? column + 1 : column, isBeside, below: [] });
      for (const one of group) {
        if (one === trunk) continue;
        add(one, true);
        follow(one.message.id, column + 1);
      }
      add(trunk, false);
      group = groups.get(trunk.message.id);
    }
  }

  follow(null, 0);
  const next: (BranchRow | undefined)[] = []; // by column, the row to which its line goes on
  for (const row of rows.toReversed()) {
    row.below = next.slice(0, row.column + 1).flatMap((one, column) => (one ? [{ column, isActive: one.isActive }] : []));
    next[row.column] = row.isBeside ? undefined : row;
    next.length = row.column + 1;
  }
  return rows;
}

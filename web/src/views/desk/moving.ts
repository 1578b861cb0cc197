/** Where a chapter or a part goes in the tree: a step up or down beside what stands there, or behind what it is dropped on. */
import type { Chapter } from "../../lib/story.svelte";

export type TreePlace = { before: string } | { after: string } | { into: string };

const CONTAINERS = ["part", "book", "volume", "act", "folder"];

/** Whether something has chapters and no text of its own. */
export const isContainer = (one: Chapter): boolean => CONTAINERS.includes(one.kind);

/** The index behind the last chapter that stands in the one at an index. */
function findEnd(all: readonly Chapter[], index: number): number {
  let end = index + 1;
  while (end < all.length && all[end]!.depth > all[index]!.depth) end++;
  return end;
}

/** The parts that a chapter stands in, the nearest first. */
export function findAncestors(all: readonly Chapter[], id: string): Chapter[] {
  const found: Chapter[] = [];
  let inner = all.find((one) => one.id === id);
  while (inner && inner.depth > 0) {
    const { depth } = inner;
    inner = all.slice(0, all.indexOf(inner)).findLast((one) => one.depth < depth);
    if (inner) found.push(inner);
  }
  return found;
}

/** The beginning of a part, which may be empty. */
function beginOf(all: readonly Chapter[], part: Chapter): TreePlace {
  const first = all[all.indexOf(part) + 1];
  return first && first.depth > part.depth ? { before: first.id } : { into: part.id };
}

/** Return where something goes by one step up (-1) or down (1), with all that it holds; nothing where it is the first or the last. */
export function planStep(all: readonly Chapter[], one: Chapter, step: number): TreePlace | null {
  const index = all.findIndex((other) => other.id === one.id);
  const enters = (other: Chapter) => isContainer(other) && !isContainer(one);
  if (step > 0) {
    const next = all[findEnd(all, index)];
    if (next && next.depth >= one.depth) return enters(next) ? beginOf(all, next) : { after: next.id };
    const parent = all.slice(0, index).findLast((other) => other.depth < one.depth);
    return parent ? { after: parent.id } : null;
  }
  const previous = all.slice(0, index).findLast((other) => other.depth <= one.depth);
  if (!previous) return null;
  return previous.depth === one.depth && enters(previous) ? { into: previous.id } : { before: previous.id };
}

/** Return where something goes that is dropped behind another, or at the beginning; nothing where that stands in itself. */
export function planDrop(all: readonly Chapter[], one: Chapter, after: Chapter | null): TreePlace | null {
  if (!after) {
    const first = all.find((other) => other.id !== one.id);
    return first ? { before: first.id } : null;
  }
  const index = all.findIndex((other) => other.id === one.id);
  if (all.slice(index, findEnd(all, index)).some((other) => other.id === after.id)) return null;
  return isContainer(after) && !isContainer(one) ? beginOf(all, after) : { after: after.id };
}

/** Sizes of the timeline, in pixels; rows and header use the same. */
export const HEIGHT = 30;
export const ARC = 10; // a column of arcs
export const PERSON = 20; // a column of one person
export const CELL = 16;
export const LANE = 16; // a column of one secret
const GAP = 8;

/** Where the cell of a person begins. */
export function personX(arcColumns: number, number: number): number {
  return (arcColumns ? arcColumns * ARC + GAP : 0) + number * PERSON;
}

/** Where the lane of a secret begins; behind the last one, the width of all. */
export function laneX(arcColumns: number, people: number, number: number): number {
  return personX(arcColumns, people) + (people ? GAP : 0) + number * LANE;
}

const NAME_WIDTH = 15; // Latin letters that fit over a column; a Chinese character takes two

/** Return as much of a name as fits over its column. */
export function cutName(name: string): string {
  let width = 0;
  const letters = [...name];
  const end = letters.findIndex((letter) => (width += letter > "\u2e7f" ? 2 : 1) > NAME_WIDTH);
  return end < 0 ? name : `${letters.slice(0, end).join("").trimEnd()}…`;
}

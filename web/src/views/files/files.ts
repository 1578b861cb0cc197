/** What a file that is brought in may be, and how a save is summed up. */
import { recogniseFile } from "../codex/entries";

export type FileKind = "manuscript" | "save" | "card" | "book" | "chat";

/** Tell what a file is, by its ending and, where that says too little, by what it holds. */
export async function findKind(file: File): Promise<FileKind> {
  const ending = /\.([^.]+)$/.exec(file.name.toLowerCase())?.[1] ?? "";
  if (ending === "fabula") return "save";
  if (ending === "jsonl") return "chat";
  return ["json", "png", "charx"].includes(ending) ? recogniseFile(file) : "manuscript";
}

/** Sum up the rows of a save: those of the named tables, and all others together. */
export function sumRows(rows: Readonly<Record<string, number>>, named: readonly string[]): [string, number][] {
  const known = named.map((name): [string, number] => [name, rows[name] ?? 0]);
  const others = Object.entries(rows).filter(([name]) => !named.includes(name) && !name.startsWith("person/"));
  const rest = others.reduce((sum, [, count]) => sum + count, 0);
  return [...known, ["otherRows", rest] as [string, number]].filter(([, count]) => count > 0);
}

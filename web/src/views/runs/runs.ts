/** What the lists of runs and jobs work out by themselves. */
import type { Schemas } from "../../lib/api";
import { t, type Text } from "../../lib/i18n/index.svelte";
import { texts } from "../../lib/prompt/texts";
import { texts as own } from "./texts";

export type Job = Schemas["JobInfo"];
export type Run = Schemas["RunInfo"];

/** Return the name of a model, such as `openai/gpt-5`; the demo is called what it is called where it is chosen. */
export function nameModel(name: string): string {
  return name === "demo/demo" ? t(texts.demo) : name;
}

/** Return why a job failed or waits, in the page's own words where it has some. */
export function explainReason(one: Pick<Job, "why" | "note">): string {
  const known = one.why ? (own as Record<string, Text>)[one.why] : undefined;
  return known ? t(known) : (one.note ?? "");
}

/** Return what became of an answer; one that was said in a conversation is no answer to a job. */
export function nameOutcome(one: Pick<Run, "outcome" | "skillId">): string {
  if (one.outcome === "used" && one.skillId === "chat") return t(own.said);
  return t(one.outcome === "retried" ? own.retriedRun : ((own as Record<string, Text>)[one.outcome] ?? own.open));
}

/** How far the jobs of one kind are. */
export interface JobProgress {
  kind: string;
  done: number;
  total: number;
}

/** Count the jobs of each kind of which some are not done yet. */
export function countProgress(jobs: readonly Job[]): JobProgress[] {
  const isOpen = (one: Job) => one.state === "queued" || one.state === "running";
  const kinds = [...new Set(jobs.filter(isOpen).map((one) => one.kind))];
  return kinds.map((kind) => {
    const own = jobs.filter((one) => one.kind === kind && one.state !== "cancelled");
    return { kind, done: own.filter((one) => one.state === "done").length, total: own.length };
  });
}

/** Return the amounts of a month such as 2026-11, one for each of its days. */
export function spreadDays(month: string, byDay: Readonly<Record<string, number>>): number[] {
  const [year, number] = month.split("-").map(Number);
  const count = new Date(Date.UTC(year!, number!, 0)).getUTCDate();
  return Array.from({ length: count }, (_, index) => byDay[`${month}-${String(index + 1).padStart(2, "0")}`] ?? 0);
}

/** What a prompt was made of: sources of one kind, by the names of what they are. */
export interface SourceGroup {
  label: string;
  count: number;
  names: string[];
}

/** Group the sources of a prompt by what their kinds are called; what has no name is counted. */
export function groupSources(sources: readonly string[], nameOf: (kind: string, id: string) => string, labelOf: (kind: string) => string): SourceGroup[] {
  const groups = new Map<string, Map<string, string>>(); // the names of sources, by label and source
  for (const source of sources) {
    const plain = source.replace(/^codex:entity:/, "codex:").replace(/#.*$/, "");
    const [kind = "", ...rest] = plain.split(":");
    const label = labelOf(kind);
    groups.set(label, (groups.get(label) ?? new Map<string, string>()).set(plain, nameOf(kind, rest.join(":"))));
  }
  return [...groups].map(([label, names]) => ({ label, count: names.size, names: [...new Set(names.values())].filter(Boolean) }));
}

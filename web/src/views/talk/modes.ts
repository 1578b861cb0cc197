/** The modes that come with Fabula, how they are played, and what their states say. */
import type { Text } from "../../lib/i18n/index.svelte";
import { texts } from "./texts";

export const MODES = ["free_chat", "group", "quiz", "werewolf", "workflow"] as const;
export const ROLES = ["coder", "reviewer", "tester"] as const;

/** How a mode is played that is a game, what its state says before anything happened, and how it is begun anew; nothing for another mode. */
export function describeGame(mode: string): { howTo: Text; empty: Text; restart: Text } | null {
  if (mode === "werewolf") return { howTo: texts.howWerewolf, empty: texts.nothingState, restart: texts.dealAnew };
  return mode === "quiz" ? { howTo: texts.howQuiz, empty: texts.noPoints, restart: texts.startOver } : null;
}

/** One row of a mode's state: a table of participants and values, or a single value. */
export interface StateRow {
  key: string;
  pairs: [string, string][];
}

const OWN = new Set(["others", "earlier", "round"]); // what the chat itself keeps in the state

/** Return what a state says, table by table; what belongs to the chat itself is left out. */
export function readState(state: Record<string, unknown>): StateRow[] {
  return Object.entries(state).flatMap(([key, value]) => {
    if (OWN.has(key) || value === null || value === "" || (typeof value === "object" && !Object.keys(value).length)) return [];
    if (Array.isArray(value)) return [{ key, pairs: value.map((one) => [showValue(one), ""] as [string, string]) }];
    if (typeof value === "object") return [{ key, pairs: Object.entries(value).map(([name, one]) => [name, showValue(one)] as [string, string]) }];
    return [{ key, pairs: [[showValue(value), ""] as [string, string]] }];
  });
}

function showValue(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

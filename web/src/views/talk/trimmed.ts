/** What a prompt leaves out of a conversation, by the reason for it. */
import type { Fragment } from "../../lib/context.svelte";
import { t } from "../../lib/i18n/index.svelte";
import { texts } from "./texts";

export interface TrimmedMessages {
  reason: string;
  count: number;
  /** How many there are, and why they are out. */
  text: string;
  messages: Fragment[];
}

const WORDS = {
  cap: texts.outByCap,
  step: texts.outByStep,
  room: texts.outByRoom,
} as const;
const KINDS: Record<string, keyof typeof WORDS> = { HISTORY_CAP: "cap", WINDOW_STEP: "step", NO_ROOM: "room", LOWER_RANK: "room", HEADROOM: "room", TOO_LARGE: "room", PASSED_OVER: "room" };

/**
 * Group messages that are out by why they are; whatever is no matter of room says so in the server's words. `earlier` is
 * how many came before the oldest of them: they are out for what that one is out for.
 */
export function groupTrimmed(out: readonly Fragment[], earlier = 0): TrimmedMessages[] {
  const groups = new Map<string, Fragment[]>();
  for (const one of out) {
    const key = KINDS[one.reason] ?? one.why;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const shared = [...groups.keys()].find((one) => one in WORDS);
  return [...groups].map(([reason, messages]) => {
    const words = WORDS[reason as keyof typeof WORDS];
    const n = messages.length + (reason === shared ? earlier : 0);
    return { reason, messages, count: n, text: words ? t(words, { n }) : t(texts.outByOther, { n, why: reason }) };
  });
}

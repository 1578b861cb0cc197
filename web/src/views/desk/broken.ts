/**
 * Words of the chapter that break a rule which a program can check: a wavy line, as in a suggestion, with the reason in
 * the card of the place. The server checks the text that it has, after every save; what is typed meanwhile moves the lines along.
 */
import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";
import { get, Problem, type Schemas } from "../../lib/api";
import { countUnits } from "../../lib/characters";
import { story } from "../../lib/story.svelte";
import { findChange } from "./merge";

export interface BrokenWords {
  from: number;
  to: number;
  reason: string;
}

const setBroken = StateEffect.define<readonly BrokenWords[]>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let set = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setBroken)) set = Decoration.set(effect.value.map((one) => Decoration.mark({ class: "cm-broken", reason: one.reason }).range(one.from, one.to)), true);
    }
    return set;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Draw a wavy line below what breaks a rule. */
export const brokenWords: Extension = marks;

/** Return the words at a position that break a rule, and why. */
export function reasonAt(view: EditorView, position: number): BrokenWords | null {
  let found: BrokenWords | null = null;
  view.state.field(marks, false)?.between(position, position, (from, to, mark) => {
    found = { from, to, reason: (mark.spec as { reason: string }).reason };
    return false;
  });
  return found;
}

type Violation = Pick<Schemas["DocumentViolationInfo"], "start" | "end" | "sentence">;

/** Place what was found in the saved text in the text of now; what was changed since is left to the next check. */
export function placeViolations(violations: readonly Violation[], saved: string, text: string): BrokenWords[] {
  const change = findChange(saved, text) ?? { from: saved.length, to: saved.length, insert: "" };
  const moved = change.insert.length - (change.to - change.from);
  const places = new Map<string, BrokenWords>();
  for (const { start, end, sentence } of violations) {
    let [from, to] = [countUnits(saved, start), countUnits(saved, end)];
    if (from >= change.to) [from, to] = [from + moved, to + moved];
    else if (to > change.from) continue;
    if (from >= to || to > text.length) continue;
    const known = places.get(`${from} ${to}`);
    places.set(`${from} ${to}`, { from, to, reason: known ? `${known.reason} ${sentence}` : sentence });
  }
  return [...places.values()].sort((a, b) => a.from - b.from || a.to - b.to);
}

/** Ask for what breaks a rule in a chapter as it is saved, and mark it; `read` returns the saved text, or null where it is another one by now. */
export async function markBroken(view: EditorView, chapter: string, read: () => string | null): Promise<void> {
  let violations: readonly Violation[];
  try {
    ({ violations } = await get("/projects/{project}/constraints/violations", { path: { project: story.id }, query: { chapter } }));
  } catch (error) {
    if (error instanceof Problem) return; // the chapter is gone or the server is; the next save asks again
    throw error;
  }
  const saved = read();
  if (saved !== null && view.dom.isConnected) view.dispatch({ effects: setBroken.of(placeViolations(violations, saved, view.state.doc.toString())) });
}

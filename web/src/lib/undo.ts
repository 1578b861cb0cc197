/** Takes back a change of the book and says what it was: the last one, or the one that a notice tells of. */
import { post, type Step } from "./api";
import { t } from "./i18n/index.svelte";
import { live } from "./live";
import { story } from "./story.svelte";
import { texts } from "./texts";
import { toasts } from "./toasts.svelte";

/** Take back the last change of the book. */
export function undoLast(): Promise<void> {
  return undo(story.id);
}

/** Take back the change of a step, whatever was done after it. */
export async function takeBack(step: Step | null): Promise<void> {
  if (step) await undo(step.project, step.number);
  else toasts.show(t(texts.nothingToUndo));
}

async function undo(project: string, step?: number): Promise<void> {
  const path = { project };
  const { label, number } = await post("/projects/{project}/undo", { path, body: { step: step ?? null } });
  await reload();
  const run = async () => {
    await post("/projects/{project}/redo", { path, body: { step: number } });
    await reload();
  };
  toasts.show(t(texts.undoneWhat, { what: label }), { action: { label: t(texts.redo), run } });
}

async function reload(): Promise<void> {
  live.refresh();
  await Promise.all([story.loadChapters(), story.loadEntries()]);
}

/** Takes back the last change of the book and says what it was. */
import { post } from "./api";
import { t } from "./i18n/index.svelte";
import { live } from "./live";
import { story } from "./story.svelte";
import { texts } from "./texts";
import { toasts } from "./toasts.svelte";

export async function undoLast(): Promise<void> {
  const path = { project: story.id };
  const { label } = await post("/projects/{project}/undo", { path });
  live.refresh();
  await Promise.all([story.loadChapters(), story.loadEntries()]);
  toasts.show(t(texts.undoneWhat, { what: label }), {
    action: {
      label: t(texts.redo),
      run: async () => {
        await post("/projects/{project}/redo", { path });
        live.refresh();
        await Promise.all([story.loadChapters(), story.loadEntries()]);
      },
    },
  });
}

/** What was written in a chapter that was deleted elsewhere: the browser keeps it, and gives it back as another chapter. */
import { post } from "../../lib/api";
import { t } from "../../lib/i18n/index.svelte";
import { router } from "../../lib/router.svelte";
import { story } from "../../lib/story.svelte";
import { attempt, toasts } from "../../lib/toasts.svelte";
import { uniqueTitle } from "../../lib/titles";
import { desk } from "./desk.svelte";
import { deleteDraft, findOrphans } from "./drafts";
import { texts } from "./texts";

const offered = new Set<string>(); // by the keys of drafts

/** Offer what is kept of chapters that are not there any more, each once; `gone` is one that the list still has. */
export async function offerOrphans(gone = ""): Promise<void> {
  const project = story.id;
  const chapters = new Set(story.chapters.map((one) => one.id).filter((one) => one !== gone));
  for (const draft of await findOrphans(project, chapters)) {
    if (offered.has(draft.key) || project !== story.id) continue;
    offered.add(draft.key);
    const title = draft.title || t(texts.newChapter);
    toasts.show(t(texts.goneElsewhere, { title }), { stays: true, action: { label: t(texts.bringBack), run: () => void attempt(() => bringBack(project, draft.key, title)) } });
  }
}

async function bringBack(project: string, key: string, title: string): Promise<void> {
  const gone = key.split("/")[1]!;
  const isOpen = () => desk.chapter.id === gone;
  if (isOpen()) await desk.chapter.keep(); // with what was typed since
  const draft = (await findOrphans(project, new Set())).find((one) => one.key === key);
  if (!draft) return;
  await story.loadChapters();
  const made = await post("/projects/{project}/chapters", { path: { project }, body: { title: uniqueTitle(title), text: draft.text } });
  if (isOpen()) desk.chapter.close();
  else await deleteDraft(key);
  await story.loadChapters();
  router.go([project, "write", made.id]);
}

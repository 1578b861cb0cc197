/** What the parts of the desk share: the editor, the chapter, the assistant, and which dialogs are open. */
import type { ChapterEditor } from "./editor";
import { Assistant } from "./assistant.svelte";
import { ChapterSession } from "./chapter.svelte";

export type DeskDialog = "" | "revisions" | "find" | "codex" | "rule" | "memory" | "similar" | "conflict";

class Desk {
  editor: ChapterEditor | undefined;
  readonly chapter = new ChapterSession((text) => this.chapter.id && this.editor?.show(text), () => this.editor?.text ?? "");
  readonly assistant = new Assistant();
  hasTree = $state(true);
  hasSide = $state(true);
  isFocused = $state(false);
  up = $state<"" | "left" | "right">("");
  dialog = $state<DeskDialog>("");
  /** What is selected in the text, in units of the editor. */
  selection = $state.raw<{ from: number; to: number; text: string }>({ from: 0, to: 0, text: "" });
}

export const desk = new Desk();

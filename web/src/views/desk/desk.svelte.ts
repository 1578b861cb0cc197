/** What the parts of the desk share: the editor, the chapter, the assistant, and which dialogs are open. */
import type { Chapter } from "../../lib/story.svelte";
import type { ChapterEditor } from "./editor";
import { Assistant } from "./assistant.svelte";
import { ChapterSession } from "./chapter.svelte";

export type DeskDialog = "" | "revisions" | "find" | "codex" | "rule" | "memory" | "similar" | "conflict" | "part";

class Desk {
  editor: ChapterEditor | undefined;
  readonly chapter = new ChapterSession((text) => this.chapter.id && this.editor?.show(text), () => this.editor?.text ?? "");
  readonly assistant = new Assistant();
  hasTree = $state(true);
  hasSide = $state(true);
  isFocused = $state(false);
  up = $state<"" | "left" | "right">("");
  dialog = $state<DeskDialog>("");
  /** The part that is given another name; a new one is made where there is none. */
  renamedPart = $state.raw<Chapter | null>(null);
  /** What is selected in the text, in units of the editor. */
  selection = $state.raw<{ from: number; to: number; text: string }>({ from: 0, to: 0, text: "" });
}

export const desk = new Desk();

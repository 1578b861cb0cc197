/** Whether what is on the page is stored: shown in the header, set by whoever edits. */
import { t } from "./i18n/index.svelte";
import { texts } from "./texts";

export type SavingState = "" | "saved" | "unsaved" | "saving" | "kept" | "conflict";

class Saving {
  state = $state<SavingState>("");

  get text(): string {
    if (!this.state) return "";
    return t({ saved: texts.saved, unsaved: texts.unsaved, saving: texts.savingNow, kept: texts.keptHere, conflict: texts.conflict }[this.state]);
  }
}

export const saving = new Saving();

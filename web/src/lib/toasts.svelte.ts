/**
 * Short notices at the foot of the page: what happened, and a way to take it back. They take room of their own, so that
 * they cover nothing; while a dialog is open, they stand at its foot.
 */
import { untrack } from "svelte";
import { findLastStep, Offline, Problem, type Step } from "./api";
import { t } from "./i18n/index.svelte";
import { texts } from "./texts";

export interface Toast {
  id: number;
  text: string;
  kind: "plain" | "bad";
  /** When it was shown. */
  at: number;
  /** The dialog in which it was said, if one was open. */
  dialog?: string;
  /** Whether it says that the server is gone, which ends by itself. */
  isOffline?: boolean;
  /** Whether it stays until somebody closes it: there is more to read than a glance takes. */
  stays?: boolean;
  action?: { label: string; run: () => void | Promise<void> };
}

const SHOWN_FOR = { plain: 6000, bad: 30_000 }; // milliseconds
const FRESH = 1500; // milliseconds in which bad news go along into another view, or out of a dialog

class Toasts {
  list = $state<Toast[]>([]);
  /** The dialogs that are open, the latest last. */
  dialogs = $state.raw<readonly string[]>([]);
  private last = 0;

  show(text: string, options: Partial<Omit<Toast, "id" | "text">> = {}): void {
    const dialog = untrack(() => this.dialogs.at(-1));
    const toast: Toast = { id: ++this.last, at: Date.now(), text, kind: "plain", dialog, ...options };
    const others = untrack(() => this.list.filter((one) => one.text !== text)); // an effect may say something too
    this.list = [...others, toast].slice(-4);
    if (!toast.stays) setTimeout(() => this.close(toast.id), SHOWN_FOR[toast.kind]);
  }

  /** Say that something was done, with a button that takes it back: `undo` gets the step of just that. */
  done(text: string, undo?: (step: Step | null) => void | Promise<void>): void {
    const step = findLastStep();
    this.show(text, undo ? { action: { label: t(texts.undo), run: () => undo(step) } } : {});
  }

  /** Say what went wrong, in the server's own sentence. */
  fail(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof Problem && error.status === 401) return; // the shell asks to sign in
    const text = error instanceof Problem ? error.message : t(texts.failed, { what: String(error) });
    this.show(text, { kind: "bad", isOffline: error instanceof Offline });
  }

  /** The server is back: take away what said that it was gone. */
  reconnect(): void {
    this.list = this.list.filter((one) => !one.isOffline);
  }

  /** Another view or dialog is shown, or this dialog is closed: bad news from there are over, unless they can be acted upon. */
  leave(dialog?: string): void {
    const isOver = (one: Toast) => one.kind === "bad" && !one.action && !one.stays && (dialog === undefined || one.dialog === dialog) && Date.now() - one.at >= FRESH;
    this.list = this.list.filter((one) => !isOver(one));
  }

  /** Show the notices in a dialog from now on; the answer ends that. Use it in an `$effect`. */
  enter(dialog: string): () => void {
    untrack(() => this.leave());
    this.dialogs = [...untrack(() => this.dialogs), dialog];
    return () => {
      this.dialogs = this.dialogs.filter((one) => one !== dialog);
      queueMicrotask(() => this.leave(dialog)); // while an effect ends, state is read as it was before
    };
  }

  close(id: number): void {
    this.list = this.list.filter((one) => one.id !== id);
  }
}

export const toasts = new Toasts();

/** Do something and show what goes wrong; returns whether it went well. */
export async function attempt(action: () => unknown): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    toasts.fail(error);
    return false;
  }
}

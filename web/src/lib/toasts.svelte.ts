/** Short notices at the foot of the page: what happened, and a way to take it back. */
import { untrack } from "svelte";
import { Problem } from "./api";
import { t } from "./i18n/index.svelte";
import { texts } from "./texts";

export interface Toast {
  id: number;
  text: string;
  kind: "plain" | "bad";
  action?: { label: string; run: () => void | Promise<void> };
}

const SHOWN_FOR = 6000; // milliseconds; bad news stay until they are closed

class Toasts {
  list = $state<Toast[]>([]);
  private last = 0;

  show(text: string, options: Partial<Omit<Toast, "id" | "text">> = {}): void {
    const toast: Toast = { id: ++this.last, text, kind: "plain", ...options };
    const others = untrack(() => this.list.filter((one) => one.text !== text)); // an effect may say something too
    this.list = [...others, toast].slice(-4);
    if (toast.kind === "plain") setTimeout(() => this.close(toast.id), SHOWN_FOR);
  }

  /** Say that something was done, with a button that takes it back. */
  done(text: string, undo?: () => void | Promise<void>): void {
    this.show(text, undo ? { action: { label: t(texts.undo), run: undo } } : {});
  }

  /** Say what went wrong, in the server's own sentence. */
  fail(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof Problem && error.status === 401) return; // the shell asks to sign in
    const text = error instanceof Problem ? error.message : t(texts.failed, { what: String(error) });
    this.show(text, { kind: "bad" });
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

/**
 * What was typed into a form and not saved yet. The browser keeps it under the book and the name of the form, so that
 * whoever leaves the view, closes the dialog or reloads the page finds it again. Saving and discarding forget it.
 */
import { untrack } from "svelte";
import { story } from "./story.svelte";

interface Kept<T> {
  value: T;
  /** The version of what is edited, as it was when the typing began. */
  version: string;
}

const addressOf = (name: string) => untrack(() => `fabula.form.${story.project}.${name}`);

/** Return what was typed into a form and not saved, or nothing. */
export function readUnsaved<T>(name: string): Kept<T> | null {
  try {
    return JSON.parse(localStorage.getItem(addressOf(name)) ?? "null") as Kept<T> | null;
  } catch {
    return null; // a browser may keep nothing
  }
}

/** Keep what was typed into a form; nothing forgets it. */
export function writeUnsaved(name: string, value: unknown): void {
  store(addressOf(name), value);
}

function store(address: string, value: unknown, version = ""): void {
  try {
    if (value === null) localStorage.removeItem(address);
    else localStorage.setItem(address, JSON.stringify({ value, version }));
  } catch {
    // a browser may keep nothing
  }
}

/** A form whose fields are kept while they differ from how it began. Make it while a component is made. */
export class UnsavedForm<T extends object> {
  value = $state() as T;
  /** Whether the form was opened with what was typed before. */
  isRestored = $state(false);
  version = "";
  private address = "";
  private first = $state("");
  private firstVersion = "";

  constructor(name: string, start: T, version = "") {
    this.open(name, start, version);
    $effect(() => {
      const isChanged = this.isChanged;
      const text = JSON.stringify(this.value);
      if (this.address) store(this.address, isChanged ? JSON.parse(text) : null, this.version);
    });
  }

  get isChanged(): boolean {
    return JSON.stringify(this.value) !== this.first;
  }

  /** Begin with what is stored, or with what was typed before. A form without a name keeps nothing. */
  open(name: string, start: T, version = ""): void {
    const kept = name ? readUnsaved<T>(name) : null;
    this.address = name && addressOf(name);
    this.first = JSON.stringify(start);
    this.firstVersion = version;
    this.version = kept?.version ?? version;
    this.value = { ...start, ...kept?.value };
    this.isRestored = untrack(() => kept !== null && this.isChanged);
  }

  /** Forget what was typed: it is stored. */
  finish(): void {
    this.first = JSON.stringify(this.value);
    this.isRestored = false;
    if (this.address) store(this.address, null);
  }

  /** Forget what was typed and begin again. */
  discard(): void {
    this.value = JSON.parse(this.first) as T;
    this.version = this.firstVersion;
    this.isRestored = false;
    if (this.address) store(this.address, null);
  }
}

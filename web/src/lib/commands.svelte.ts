/**
 * Commands and keys in one place: what a view registers is in the palette, works by its key and is shown on its button.
 *
 * A key is written as `Mod+K`, `Mod+Shift+F`, `Alt+1` or `F2`, where `Mod` is ⌘ on a Mac and Ctrl elsewhere. No key
 * fires while a character is being composed. `Mod+Enter` in a dialog or a form does its main thing.
 */
import { untrack } from "svelte";
import { t, type Text } from "./i18n/index.svelte";

export interface Command {
  id: string;
  label: Text | (() => string);
  run: () => unknown;
  /** Other words that people look for it by. */
  words?: Text;
  key?: string;
  /** The key that the text has for it: it is shown, and means something else elsewhere. */
  keyInText?: string;
  /** Whether it makes sense now; always by default. */
  when?: () => boolean;
}

/** Does the main thing of the dialog or form around it. */
export const SUBMIT_KEY = "Mod+Enter";
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

class Commands {
  private groups = $state.raw<Command[][]>([]);
  isOpen = $state(false);

  get all(): Command[] {
    return this.groups.flat().filter((one) => one.when?.() ?? true);
  }

  /** Add commands; returns what removes them. Use it in an `$effect`. */
  add(commands: Command[]): () => void {
    this.groups = [...untrack(() => this.groups), commands];
    return () => {
      this.groups = this.groups.filter((group) => group !== commands);
    };
  }

  labelOf(command: Command): string {
    return typeof command.label === "function" ? command.label() : t(command.label);
  }

  /** Run the command of a key; the newest one wins. Returns whether there was one. */
  press(event: KeyboardEvent): boolean {
    if (isComposing(event)) return false;
    const key = nameKey(event);
    const found = this.groups.flat().findLast((one) => one.key === key && (one.when?.() ?? true));
    if (!found) return false;
    event.preventDefault();
    void found.run();
    return true;
  }

  start(): () => void {
    const listen = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && !pressMain(event)) this.press(event);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }
}

export const commands = new Commands();

/** Whether a key belongs to an input method that is composing a character; 229 is what some browsers send instead. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/**
 * Press the button that saves in the dialog or form of an event, if its key is that of saving. Returns whether the key
 * belonged there: then nothing behind it may take it. What deletes is no such button.
 */
export function pressMain(event: KeyboardEvent): boolean {
  if (isComposing(event) || nameKey(event) !== SUBMIT_KEY) return false;
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  const form = event.target instanceof Element ? event.target.closest("form") : null;
  if (!dialog && !form) return false;
  event.preventDefault();
  const isWithin = form && (!dialog || dialog.contains(form));
  const offered = [...(isWithin ? form.elements : dialog!.querySelectorAll("button"))].filter((one) => one instanceof HTMLButtonElement);
  const buttons = offered.filter((one) => !one.disabled && !one.classList.contains("danger"));
  const isMain = (one: HTMLButtonElement) => (isWithin ? one.type === "submit" : one.classList.contains("main"));
  buttons.find(isMain)?.click(); // a form checks its fields first, as with a click
  return true;
}

/** Return the name of a key as commands write it. */
export function nameKey(event: KeyboardEvent): string {
  const digit = event.altKey && !isTyped(event) ? /^Digit(\d)$/.exec(event.code)?.[1] : undefined; // with Alt, a Mac and some layouts give another sign
  const key = digit ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  const isMod = IS_MAC ? event.metaKey : event.ctrlKey;
  return [isMod && "Mod", event.altKey && "Alt", event.shiftKey && event.key.length > 0 && "Shift", key].filter(Boolean).join("+");
}

/** Whether a key with Alt types a sign into a text: on a Mac, many layouts have “@” or “[” there; on that of the US, nobody needs them. */
function isTyped({ key, target }: KeyboardEvent): boolean {
  const isText = target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea"));
  return IS_MAC && isText && !/\d/.test(key) && !US_MAC_SIGNS.includes(key);
}

const US_MAC_SIGNS = "º¡™£¢∞§¶•ª"; // Alt with 0 to 9
const MAC_SIGNS: Record<string, string> = { Mod: "⌘", Alt: "⌥", Shift: "⇧", Enter: "↩" };
const SIGNS: Record<string, string> = { Mod: "Ctrl", Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };

/** Return a key as it is shown on a button. */
export function showKey(key: string): string {
  const parts = key.split("+").map((part) => (IS_MAC && MAC_SIGNS[part]) || SIGNS[part] || part);
  return parts.join(IS_MAC ? "" : " ");
}

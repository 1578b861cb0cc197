/** Ctrl Enter saves in the dialog or form where it is pressed, and nowhere else. */
import { beforeEach, expect, test, vi } from "vitest";
import { commands } from "../src/lib/commands.svelte";
import "./serve";

const press = (target: Element, given: KeyboardEventInit = {}) => target.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true, ...given }));
const ask = vi.fn();
let stop: () => void = () => undefined;

beforeEach(() => {
  stop();
  ask.mockClear();
  document.body.innerHTML = `
    <textarea id="outside"></textarea>
    <form id="one"><textarea required>Text</textarea><button type="button" class="main">No</button><button type="submit">Save</button></form>
    <dialog><input /><button class="danger" type="submit">Delete</button><button class="main" type="button">Take</button></dialog>`;
  const remove = commands.add([{ id: "ask", label: { en: "Ask", zh: "请求" }, key: "Mod+Enter", run: ask }]);
  const end = commands.start();
  stop = () => (remove(), end());
});

test("a form is saved by the button that would save it", () => {
  const form = document.querySelector("form")!;
  const saved = vi.fn((event: Event) => event.preventDefault());
  form.addEventListener("submit", saved);
  press(form.querySelector("textarea")!);
  expect(saved).toHaveBeenCalledOnce();
  form.querySelector("textarea")!.value = "";
  press(form.querySelector("textarea")!);
  expect(saved).toHaveBeenCalledOnce(); // a field that must be filled is empty
  form.querySelector<HTMLButtonElement>('[type="submit"]')!.disabled = true;
  press(form.querySelector("textarea")!);
  expect(saved).toHaveBeenCalledOnce();
  expect(ask).not.toHaveBeenCalled();
});

test("a button outside a form that belongs to it saves it too", () => {
  document.body.innerHTML = '<dialog open><form id="add"><input /></form><footer><button type="submit" form="add" class="main">Add</button></footer></dialog>';
  const saved = vi.fn((event: Event) => event.preventDefault());
  document.querySelector("form")!.addEventListener("submit", saved);
  press(document.querySelector("input")!);
  expect(saved).toHaveBeenCalledOnce();
});

test("no character that is being composed saves anything", () => {
  const form = document.querySelector("form")!;
  const saved = vi.fn((event: Event) => event.preventDefault());
  form.addEventListener("submit", saved);
  press(form.querySelector("textarea")!, { isComposing: true });
  press(form.querySelector("textarea")!, { keyCode: 229 });
  expect(saved).not.toHaveBeenCalled();
  expect(ask).not.toHaveBeenCalled();
});

test("an open dialog takes the key with its main button, never with one that deletes, and nothing behind it answers", () => {
  const dialog = document.querySelector("dialog")!;
  dialog.open = true;
  const [remove, take] = [vi.fn(), vi.fn()];
  dialog.querySelector(".danger")!.addEventListener("click", remove);
  dialog.querySelector(".main")!.addEventListener("click", take);
  press(dialog.querySelector("input")!);
  expect(take).toHaveBeenCalledOnce();
  dialog.querySelector(".main")!.remove();
  press(dialog.querySelector("input")!);
  expect(remove).not.toHaveBeenCalled();
  expect(ask).not.toHaveBeenCalled();
});

test("outside of forms and dialogs the key belongs to the view", () => {
  press(document.getElementById("outside")!);
  expect(ask).toHaveBeenCalledOnce();
});

/** The palette and the inspector are searched in a writer's words. */
import { fireEvent, render, screen } from "@testing-library/svelte";
import { tick } from "svelte";
import { expect, test, vi } from "vitest";
import { commands } from "../src/lib/commands.svelte";
import { describeSource } from "../src/lib/prompt/sources";
import { findFragments } from "../src/lib/prompt/find";
import { texts as promptTexts } from "../src/lib/prompt/texts";
import { story } from "../src/lib/story.svelte";
import Palette from "../src/lib/ui/Palette.svelte";
import { texts as deskTexts } from "../src/views/desk/texts";
import { views } from "../src/views";
import "./serve";

test("commands are found by other words too, behind those of that name", async () => {
  const remove = commands.add([
    { id: "inspector", label: promptTexts.openInspector, words: promptTexts.inspectorWords, run: () => undefined },
    { id: "find", label: deskTexts.find, words: deskTexts.findOther, run: () => undefined },
    { id: "delete", label: deskTexts.deleteChapter, run: () => undefined },
    { id: "split", label: deskTexts.split, words: deskTexts.splitOther, run: () => undefined },
    ...views.map((one) => ({ id: one.name, label: one.label, words: one.words, run: () => undefined })),
    ...views.flatMap((one) => one.verbs ?? []).map((one) => ({ ...one, run: () => undefined })),
  ]);
  commands.isOpen = true;
  render(Palette);
  const asked = { why: "Open the inspector", viewpoint: "Open the inspector", search: "Search the story", "search words": "Find and replace in the book", export: "Export the manuscript or the whole book", rename: "Rename somebody", title: "Change the title or the language", "new entry": "New entry of the codex", "new conversation": "New conversation", backup: "Files", delete: "Delete this chapter", split: "Split the chapter at the cursor" };
  for (const [words, name] of Object.entries(asked)) {
    await fireEvent.input(screen.getByRole("combobox", { hidden: true }), { target: { value: words } });
    expect(screen.getAllByRole("option", { hidden: true })[0]!.textContent).toContain(name);
  }
  remove();
});

test("the key opens the palette again right after it was closed, before the browser tells that it is", async () => {
  const ran = vi.fn();
  const remove = commands.add([{ id: "variant-1", label: () => "Take this variant: 2", run: ran }]);
  commands.isOpen = true;
  render(Palette);
  const dialog = screen.getByRole<HTMLDialogElement>("dialog", { hidden: true });
  const openAgain = async () => {
    commands.isOpen = !commands.isOpen; // what the key does
    await tick();
    await fireEvent(dialog, new Event("close")); // of the time before: a browser sends it in a task of its own
    expect(dialog.open).toBe(true);
    expect(commands.isOpen).toBe(true);
  };

  await fireEvent(dialog, new Event("cancel")); // Escape
  dialog.open = false;
  await openAgain();
  for (const times of [1, 2]) {
    const input = screen.getByRole("combobox", { hidden: true });
    await fireEvent.input(input, { target: { value: "Take this variant: 2" } });
    await fireEvent.keyDown(input, { key: "Enter" });
    expect(ran).toHaveBeenCalledTimes(times);
    expect(dialog.open).toBe(false);
    await openAgain();
  }

  dialog.open = false;
  await fireEvent(dialog, new Event("close")); // something else has closed it
  expect(commands.isOpen).toBe(false);
  remove();
});

test("cards are found by name, text and reason", () => {
  const make = (title: string, text: string, why: string) => ({ title, text, why, source: "codex:entity:x" }) as never;
  const all = [make("Mara Venn", "Keeps the lamp.", "named here"), make("Tam", "A boy.", "Mara does not know it")];
  expect(findFragments(all, " ")).toHaveLength(2);
  expect(findFragments(all, "MARA lamp")).toEqual([all[0]]);
  expect(findFragments(all, "mara")).toHaveLength(2);
});

test("sources are named in words", () => {
  story.entries = [{ id: "a4e96bd6", name: "Mara Venn" }] as never;
  story.chapters = [{ id: "ch-01", title: "The Light" }] as never;
  expect(describeSource("codex:entity:a4e96bd6#fact:78c4")).toBe("Codex · Mara Venn");
  expect(describeSource("search:ch-01#58ac")).toBe("Passages of the book · The Light");
  expect(["participants", "persona:character:mara", "turn", "skill:continue", "input", "preset:tide-table", "style"].map(describeSource)).toEqual(["Who takes part", "Who takes part", "Who speaks next", "What you asked for", "What you asked for", "Preset", "Style"]);
  expect(describeSource("unheard:of")).toBe("Other texts");
});

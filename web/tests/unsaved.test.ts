/** What was typed into a form and not saved is there again for whoever comes back. */
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { tick } from "svelte";
import { beforeEach, expect, test } from "vitest";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import EntryForm from "../src/views/codex/EntryForm.svelte";
import Constraints from "../src/views/constraints/Constraints.svelte";
import LoreEntryForm from "../src/views/lorebooks/LoreEntryForm.svelte";
import Memory from "../src/views/memory/Memory.svelte";
import Presets from "../src/views/presets/Presets.svelte";
import Composer from "../src/views/talk/Composer.svelte";
import { serve } from "./serve";

const RESTORED = "This is what you typed before and did not save.";
const type = (label: string, value: string) => fireEvent.input(screen.getByLabelText(label), { target: { value } });
const read = (label: string) => screen.getByLabelText<HTMLInputElement>(label).value;

beforeEach(() => {
  localStorage.clear();
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [];
  story.entries = [];
  router.read("#/b");
});

test("a half-filled form of the codex is kept, saved or discarded", async () => {
  serve({ "POST /projects/b/codex": { id: "m", name: "Mara" } });
  const show = () => render(EntryForm, { entry: null, etag: "", onsaved: () => undefined, onclose: () => undefined });
  show();
  expect(screen.queryByText(RESTORED)).toBeNull();
  await type("Name", "Mara");
  await type("Description", "Keeps the light.");
  cleanup();
  show();
  expect([read("Name"), read("Description")]).toEqual(["Mara", "Keeps the light."]);
  expect(screen.getByText(RESTORED)).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Discard it" }));
  expect(read("Name")).toBe("");
  cleanup();
  show();
  expect(read("Name")).toBe("");
  await type("Name", "Mara");
  await fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(localStorage.length).toBe(0));
});

test("what was typed belongs to its book, and to the version of the entry for which it was typed", async () => {
  const versions: (string | null)[] = [];
  serve({});
  const entry = { id: "m", name: "Mara", type: "character", aiContextLevel: "always", aliases: [], description: "", details: {}, tags: [], notes: "", knownTo: null, since: null, progressions: [] } as never;
  const show = (etag: string) => render(EntryForm, { entry, etag, onsaved: () => undefined, onclose: () => undefined });
  show("v1");
  await type("Description", "Keeps the light.");
  cleanup();
  story.info = { id: "other", language: "en" } as never;
  show("v1");
  expect(read("Description")).toBe("");
  cleanup();
  story.info = { id: "b", language: "en" } as never;
  show("v2"); // somebody else changed it meanwhile
  const send = globalThis.fetch;
  globalThis.fetch = (input, init) => (versions.push(new Headers(init?.headers).get("If-Match")), send(input, init));
  await fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(versions).toEqual(["v1"]));
});

test("a rule and a memory are kept when their dialog is closed, and not when they are cancelled", async () => {
  serve({ "GET /profile": { text: "", version: 0, changed: "" } });
  for (const [View, open, label] of [[Constraints, "New constraint", "What must hold"], [Memory, "Remember something", "What to remember"]] as const) {
    const show = async () => {
      render(View as typeof Constraints);
      await fireEvent.click(screen.getAllByRole("button", { name: open })[0]!);
    };
    await show();
    await type(label, "No dreams.");
    await fireEvent.click(screen.getByLabelText(label).closest("dialog")!.querySelector('[aria-label="Close"]')!);
    cleanup();
    await show();
    expect(read(label)).toBe("No dreams.");
    await fireEvent.click(screen.getByRole("button", { name: "Cancel", hidden: true }));
    cleanup();
    await show();
    expect(read(label)).toBe("");
    cleanup();
  }
});

test("messages of a preset are kept until they are saved or discarded", async () => {
  const preset = { id: "p", title: "Terse", active: true, nodes: 0 };
  serve({
    "GET /projects/b/presets": { items: [preset], next: null },
    "GET /projects/b/identity": { identity: "You write." },
    "GET /projects/b/presets/p": { ...preset, nodes: [] },
    "GET /projects/b/presets/p/anchors": { anchors: ["rules"] },
    "POST /projects/b/presets/layout": { rows: [] },
  });
  render(Presets);
  await fireEvent.click(await screen.findByRole("button", { name: "Add a message" }));
  await type("Text", "Be brief.");
  await type("Who the model is", "You are terse.");
  cleanup();
  render(Presets);
  expect(await screen.findByText("Be brief.")).toBeTruthy();
  expect(read("Who the model is")).toBe("You are terse.");
  expect(screen.getByText(RESTORED)).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Discard it" }));
  await waitFor(() => expect(screen.queryByText("Be brief.")).toBeNull());
  cleanup();
  render(Presets);
  await screen.findByRole("button", { name: "Add a message" });
  expect(screen.queryByText("Be brief.")).toBeNull();
});

test("an entry of a lorebook is kept until the server has it", async () => {
  let isStored = false;
  const show = () => render(LoreEntryForm, { book: "l", entry: null, problem: "", onsave: () => Promise.resolve(isStored), ondelete: () => undefined });
  show();
  await type("Text", "The tide turns at six.");
  await fireEvent.click(screen.getByRole("button", { name: "Save" }));
  cleanup();
  show();
  expect(read("Text")).toBe("The tide turns at six.");
  isStored = true;
  await fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await tick();
  cleanup();
  show();
  expect(read("Text")).toBe("");
});

test("what one was about to say is kept for its conversation", async () => {
  serve({ "GET /projects/b/providers": [] });
  const said: string[] = [];
  const show = (conversation: string) => render(Composer, { conversation, present: [], isBusy: false, model: null, provider: "", onsend: (text: string) => said.push(text), onstop: () => undefined });
  show("c");
  const label = screen.getByRole("textbox").getAttribute("aria-label")!;
  await type(label, "Good evening.");
  cleanup();
  show("d");
  expect(read(label)).toBe("");
  cleanup();
  show("c");
  expect(read(label)).toBe("Good evening.");
  await fireEvent.click(screen.getByRole("button", { name: /Send|Say/ }));
  cleanup();
  show("c");
  expect([said, read(label)]).toEqual([["Good evening."], ""]);
});

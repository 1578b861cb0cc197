/** Names that several people share, and numbers of chapters: each stands once, and nobody hides another. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { context } from "../src/lib/context.svelte";
import Inspector from "../src/lib/prompt/Inspector.svelte";
import { story } from "../src/lib/story.svelte";
import { desk } from "../src/views/desk/desk.svelte";
import FindReplace from "../src/views/desk/FindReplace.svelte";
import { listAbsent } from "../src/views/talk/chat.svelte";
import StartDialog from "../src/views/talk/StartDialog.svelte";
import { serve } from "./serve";

beforeEach(() => {
  localStorage.clear();
  context.clear();
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [];
  story.entries = [];
  story.areEntriesLoaded = true;
});

test("two people of the same name can both be chosen, and one who is an entry of the codex stands once", async () => {
  const person = (id: string, name: string, entry: string | null, persona: string) => ({ id, name, aliases: [], persona, isGone: false, revision: 1, version: 1, entry, card: null });
  story.entries = [
    { id: "e1", name: "Mara", type: "character", description: "A pilot." },
    { id: "e2", name: "Mara", type: "character", description: "A cook." },
    { id: "e3", name: "Bo", type: "character", description: "A smuggler." },
  ] as never;
  let sent: unknown;
  serve({
    "GET /projects/b/participants": { items: [person("character:e1", "Mara", "e1", ""), person("persona:m", "Mara", null, "A diver."), person("character:e3", "Bo", "e3", "")], next: null },
    "POST /projects/b/chats": (body: unknown) => ((sent = body), { conversationId: "k" }),
  });
  render(StartDialog, { props: { open: true, onclose: () => undefined, onstarted: () => undefined } });
  await waitFor(() => expect(screen.getAllByRole("checkbox", { name: /^Mara/, hidden: true })).toHaveLength(3));
  expect(screen.getAllByRole("checkbox", { name: /^Bo/, hidden: true })).toHaveLength(1);
  for (const about of [/A diver\./, /A cook\./]) await fireEvent.click(screen.getByRole("checkbox", { name: about, hidden: true }));
  expect(screen.queryByText("A smuggler.")).toBeNull(); // nobody else has this name
  await fireEvent.click(screen.getByRole("button", { name: /^Start/, hidden: true }));
  await waitFor(() => expect(sent).toMatchObject({ participants: ["persona:m", "e2"] }));
});

test("a namesake of somebody who is here can be invited", () => {
  const entry = (id: string, name: string) => ({ id, name, type: "character" }) as never;
  const here = [{ id: "character:e1", name: "Mara" }, { id: "pawn:x", name: "Bo" }] as never;
  const absent = listAbsent([entry("e1", "Mara"), entry("e2", "Mara"), entry("e3", "Bo"), entry("e4", "Cleo")], here);
  expect(absent.map((one) => one.id)).toEqual(["e2", "e4"]);
});

test("a chapter whose title has its number shows it once where words are found", async () => {
  const chapter = { id: "c", number: 6, title: "Chapter 6: The Storm" };
  serve({ "GET /projects/b/chapters/words": { items: [{ chapter, count: 1, places: [{ offset: 0, before: "", after: "" }] }], next: null } });
  desk.dialog = "find";
  desk.chapter.save = () => Promise.resolve() as never;
  render(FindReplace);
  await fireEvent.input(screen.getByLabelText("Find"), { target: { value: "rain" } });
  await fireEvent.submit(document.querySelector("form")!);
  expect((await screen.findByRole("heading", { level: 3, hidden: true })).textContent).toBe("6 · The Storm");
  desk.dialog = "";
});

test("the inspector says how many cards of a layer are shown while it is filtered, and no tokens of a part", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  const card = (source: string, title: string, included: boolean) => ({ source, title, text: "", why: "", layer: "rules", included, tokenCount: included ? 40 : 0, reason: "", score: 1 });
  const show = (fragments: object[]) => (context.prompt = { fragments, messages: [], warnings: [], tokenCount: 46, budget: { window: 8192, reply: 100, total: 8092 }, layers: { rules: { tokens: 46 } } } as never);
  show([card("constraint:1", "No rain", true), card("constraint:2", "No storms", false)]);
  context.isOpen = true;
  const { container } = render(Inspector);
  const heading = () => container.querySelector("h3")!.textContent;
  await waitFor(() => expect(heading()).toBe("Rules 46 tokens"));
  await fireEvent.input(screen.getByRole("searchbox"), { target: { value: "storms" } });
  expect(heading()).toBe("Rules 1 of 2 shown");
  show([card("constraint:2", "No storms", false)]);
  await fireEvent.input(screen.getByRole("searchbox"), { target: { value: "" } });
  expect(heading()).toBe("Rules nothing in the prompt");
});

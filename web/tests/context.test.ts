/** Which context is shown: of the place, without what nobody decided, for the model that will answer. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { context } from "../src/lib/context.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import { Assistant } from "../src/views/desk/assistant.svelte";
import Cards from "../src/lib/prompt/Cards.svelte";
import ContextBar from "../src/lib/prompt/ContextBar.svelte";
import Inspector from "../src/lib/prompt/Inspector.svelte";
import Talk from "../src/views/talk/Talk.svelte";
import { serve } from "./serve";

const prompt = { fragments: [{ source: "history:r1", included: false }, { source: "codex:entity:mara", included: true }], tokenCount: 1 };

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  context.clear();
});

test("a suggestion that is not decided is set aside in what is shown, not in what is asked", async () => {
  const inspect = vi.fn((_body: unknown) => prompt);
  serve({ "POST /projects/b/inspect": inspect });
  const assistant = new Assistant();
  assistant.skills = [{ id: "continue", answer: "insert" }] as never;
  assistant.variants = [{ text: "Rain.", runId: "r1", isDone: true, note: "", findings: [], problem: "" }];
  expect(assistant.sources).toEqual([]);
  assistant.state = "done";
  expect(assistant.sources).toEqual(["history:r1"]);
  context.place = { documentId: "c" };
  context.setAside(assistant.sources);
  await context.load();
  expect(inspect.mock.lastCall?.[0]).toMatchObject({ exclude: ["history:r1"] });
  expect(context.request.exclude).toEqual([]);
  expect(context.prompt?.fragments?.map((one) => one.source)).toEqual(["codex:entity:mara"]);
});

test("a conversation shows the context of the model that answers it, and names it", async () => {
  context.choose({ model: "gpt-large", window: 200000 }); // as the desk left it
  serve({
    "GET /projects/b/model": { kind: "local", provider: "ollama", model: "small", reason: "", window: 4096, encoding: "estimate" },
    "GET /projects/b/conversations/t": { id: "t", title: "Night", present: [], presence: [], state: {}, messageCount: 0 },
  });
  router.read("#/b/talk/t");
  render(Talk);
  await waitFor(() => expect(context.choices).toMatchObject({ model: "small", window: 4096 }));
  expect(screen.getByText("small answers here, as the settings say. It reads at most 4,096 tokens.")).toBeTruthy();
});

test("eyes that were chosen in the inspector are named beside the text, and can be taken back there", async () => {
  serve({});
  story.entries = [{ id: "m", name: "Mara Venn" }] as never;
  context.prompt = prompt as never;
  context.choose({ eyes: "character", character: "m" });
  render(Cards);
  expect(screen.getByText(/Through the eyes of Mara Venn/)).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Reset" }));
  expect(screen.queryByText(/Through the eyes of/)).toBeNull();
  expect(context.choices.eyes).toBeUndefined();
});

test("a window that has no room for the story, or for the rules, says so with what to change", async () => {
  const make = (layer: string, reason: string, included = false) => ({ source: `${layer}:${reason}`, layer, reason, included, title: "", text: "", why: "", tokenCount: 1, score: 1 });
  const cramped = { fragments: [make("rules", "KEPT", true), make("retrieved", "TOO_LARGE")], tokenCount: 400, model: "tiny", warnings: [], budget: { window: 512, total: 400, reply: 64 }, layers: { rules: { tokens: 300 }, immediate: { tokens: 90 } } };
  context.prompt = cramped as never;
  expect(context.shortage).toBe("story");
  render(Cards);
  expect(screen.getByText(/tiny reads 512 tokens at once, and that is too little here: your rules take 300/)).toBeTruthy();
  expect(screen.getByRole("link", { name: "Choose another model" })).toBeTruthy();
  expect(screen.queryByText(/0 in/)).toBeNull();
  context.prompt = { ...cramped, fragments: [make("retrieved", "NOT_KNOWN")] } as never;
  expect(context.shortage).toBe(""); // what may not be known needs no larger window
  context.prompt = { ...cramped, fragments: [make("retrieved", "NO_ROOM"), make("settings", "KEPT", true)] } as never;
  expect(context.shortage).toBe("");
  const refusal = { detail: "Your own rules need 91 tokens, and this window leaves 12 for them.", code: "CONTEXT_RULES_TOO_LARGE" };
  serve({ "POST /projects/b/inspect": () => new Response(JSON.stringify(refusal), { status: 422 }) });
  context.place = { documentId: "c" };
  await context.load();
  expect(context.shortage).toBe("rules");
  expect(await screen.findByText(/Your own rules need 91 tokens/)).toBeTruthy();
});

const verdict = (source: string, layer: string, included: boolean, reason = "KEPT") => ({ source, layer, included, reason, title: source, text: "", why: "", tokenCount: 1, score: 1 });
const shownPrompt = (fragments: object[]) => ({ fragments, tokenCount: 9, messages: [], model: "m", warnings: [], budget: { window: 512, total: 400, reply: 64 }, layers: {} }) as never;

test("the bar and the cards count the same: what is told of the codex and the story", () => {
  serve({});
  context.prompt = shownPrompt([verdict("constraint:a", "rules", true), verdict("codex:mara", "retrieved", true), verdict("codex:mara#1", "retrieved", true), verdict("synopsis:1", "settings", true), verdict("codex:bo", "retrieved", false, "NOT_KNOWN"), verdict("text", "immediate", true)]);
  render(Cards);
  render(ContextBar);
  expect(screen.getAllByText("2 in · 1 out")).toHaveLength(2);
});

test("rules that have no room are told of at the bar and beside the text, and lead to which ones", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  context.prompt = shownPrompt([verdict("No magic", "rules", true), verdict("No dashes", "rules", false, "RULES_OVERBUDGET"), verdict("Only in chapter 9", "rules", false, "CONDITION_UNMET"), verdict("codex:light", "rules", false, "RULES_OVERBUDGET"), verdict("codex:mara", "retrieved", true)]);
  expect(context.rulesOut.map((one) => one.source)).toEqual(["No dashes"]);
  render(ContextBar);
  const cards = render(Cards);
  expect(screen.getByText(/1 of your rules is left out here/)).toBeTruthy();
  cards.unmount();
  render(Inspector);
  await fireEvent.click(screen.getByRole("button", { name: "1 rule left out" }));
  const shown = () => [...document.querySelectorAll(".inspector article")].map((one) => one.getAttribute("data-source"));
  await waitFor(() => expect(shown()).toEqual(["No dashes"]));
  await fireEvent.click(screen.getByRole("button", { name: "Show everything" }));
  await waitFor(() => expect(shown()).toContain("No magic"));
  context.isOpen = false;
});

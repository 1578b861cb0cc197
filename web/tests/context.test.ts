/** Which context is shown: of the place, without what nobody decided, for the model that will answer. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { flushSync } from "svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { context } from "../src/lib/context.svelte";
import { router } from "../src/lib/router.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import { story } from "../src/lib/story.svelte";
import { Assistant } from "../src/views/desk/assistant.svelte";
import InspectorOverrides from "../src/lib/prompt/InspectorOverrides.svelte";
import Cards from "../src/lib/prompt/Cards.svelte";
import ContextBar from "../src/lib/prompt/ContextBar.svelte";
import Inspector from "../src/lib/prompt/Inspector.svelte";
import Talk from "../src/views/talk/Talk.svelte";
import { serve } from "./serve";

const prompt = { fragments: [{ source: "history:r1", included: false }, { source: "codex:entity:mara", included: true }], tokenCount: 1 };

beforeEach(() => {
  story.info = { id: "b", language: "en" } as never;
  context.clear();
  localStorage.clear();
});

test("a suggestion that is not decided is set aside in what is shown, not in what is asked", async () => {
  const inspect = vi.fn((_body: unknown) => prompt);
  serve({ "POST /projects/b/inspect": inspect });
  const assistant = new Assistant();
  assistant.skills = [{ id: "continue", answer: "insert" }] as never;
  expect(assistant.sources).toEqual([]);
  assistant.restore({ skillId: "continue", variants: [{ text: "Rain.", runId: "r1", isDone: true, note: "", findings: [], problem: "" }], chosen: 0, edited: null, instruction: "" });
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
  await waitFor(() => expect(context.request).toMatchObject({ model: "small", window: 4096 }));
  expect(screen.getByText("small answers here, as the settings say. It reads at most 4,096 tokens.")).toBeTruthy();
});

test("eyes that were chosen in the inspector are named beside the text, and can be taken back there", async () => {
  serve({});
  story.entries = [{ id: "m", name: "Mara Venn" }] as never;
  context.prompt = prompt as never;
  context.choose({ eyes: "character", character: "m" });
  render(Cards);
  expect(screen.getByText(/through the eyes of Mara Venn/)).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Reset" }));
  expect(screen.queryByText(/through the eyes of/)).toBeNull();
  expect(context.choices.eyes).toBeUndefined();
});

test("whatever is tried in the inspector is said beside the instruction, and taking it back leaves what was pinned", async () => {
  serve({ "GET /projects/b/model": { kind: "local", model: "small", window: 4096, encoding: "estimate" } });
  await context.useModel("ollama");
  context.follow({ documentId: "c", cursorPosition: 3 });
  context.choose({ include: ["codex:entity:mara"] });
  render(InspectorOverrides);
  expect(screen.queryByRole("status")).toBeNull(); // the model that answers is nothing that is tried
  context.choose({ window: 2048, replyTokens: 512 });
  expect((await screen.findByRole("status")).textContent).toContain("Next answers, as you chose in the inspector: window 2,048 tokens, 512 tokens for the answer.");
  context.choose({ model: "other", window: undefined });
  expect(context.request).toMatchObject({ model: "other", replyTokens: 512 });
  expect(context.request).not.toHaveProperty("window"); // it was that of the model before
  expect(context.request).not.toHaveProperty("encoding");
  context.lookAt({ documentId: "d", cursorPosition: 9 });
  expect(context.request).toMatchObject({ documentId: "d", cursorPosition: 9 });
  await fireEvent.click(screen.getByRole("button", { name: "Reset" }));
  expect(context.request).toMatchObject({ documentId: "c", cursorPosition: 3, model: "small", window: 4096, include: ["codex:entity:mara"] });
  expect(screen.queryByRole("status")).toBeNull();
});

test("what was pinned and is forgotten can be had back", () => {
  serve({});
  context.follow({ documentId: "c" });
  context.choose({ include: ["codex:entity:mara"] });
  context.forgetHandChoices();
  expect(context.choices.include).toEqual([]);
  void toasts.list.at(-1)!.action!.run();
  expect(context.choices.include).toEqual(["codex:entity:mara"]);
});

test("a window that has no room for the story, or for the rules, says so with what to change", async () => {
  const make = (layer: string, reason: string, included = false) => ({ source: `${layer}:${reason}`, layer, reason, included, title: "", text: "", why: "", tokenCount: 1, score: 1 });
  const cramped = { fragments: [make("rules", "KEPT", true), make("retrieved", "TOO_LARGE")], tokenCount: 400, model: "tiny", warnings: [], budget: { window: 512, total: 400, reply: 64 }, layers: { rules: { tokens: 300 }, immediate: { tokens: 90 } } };
  context.prompt = cramped as never;
  expect(context.shortage).toBe("story");
  render(Cards);
  expect(screen.getByText(/tiny reads 512 tokens at once, and that is too little here: the rules take 300/)).toBeTruthy();
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

test("while a large book is being prepared for search the desk says so, and looks again by itself", async () => {
  vi.useFakeTimers();
  const prompt = shownPrompt([verdict("text", "immediate", true)]) as object;
  let warnings = ["RETRIEVAL_NOT_READY: the search index is being built (12 % done); until then no passages are found", "SOMETHING_ELSE: no news"];
  const asked = serve({ "POST /projects/b/inspect": () => ({ ...prompt, warnings }) });
  context.place = { documentId: "c" };
  render(Cards);
  await context.load();
  flushSync();
  expect(screen.getByText("Still being prepared: the search index is being built (12 % done); until then no passages are found. You can write and ask meanwhile.")).toBeTruthy();
  expect(screen.queryByText(/no news/)).toBeNull();
  warnings = [];
  await vi.advanceTimersByTimeAsync(2500);
  flushSync();
  expect(screen.queryByText(/Still being prepared/)).toBeNull();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveLength(2); // it is ready, so nobody asks again
  vi.useRealTimers();
});

test("the bar and the cards count the same: what is told of the codex, the story, the rules and the text", () => {
  serve({});
  context.prompt = shownPrompt([verdict("constraint:a", "rules", true), verdict("codex:mara", "retrieved", true), verdict("codex:mara#1", "retrieved", true), verdict("synopsis:1", "settings", true), verdict("codex:bo", "retrieved", false, "NOT_KNOWN"), verdict("text", "immediate", true)]);
  render(Cards);
  render(ContextBar);
  expect(screen.getAllByText("4 in · 1 out")).toHaveLength(2);
});

test("what an answer at the desk had from the cache is not said of a conversation", async () => {
  serve({});
  context.prompt = shownPrompt([]);
  context.cacheShare = 40;
  render(ContextBar);
  expect(screen.getByText(/40 ?%.* from cache/)).toBeTruthy();
  context.follow({ conversationId: "t" });
  await waitFor(() => expect(screen.queryByText(/from cache/)).toBeNull());
});

test("a passage that the prompt has already is not told of as left out, except in the inspector", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  context.prompt = shownPrompt([verdict("editor:cursor-window", "immediate", true), verdict("search:c:1", "retrieved", false, "DUPLICATE"), verdict("search:c:2", "retrieved", false, "SAME_SOURCE")]);
  const cards = render(Cards);
  expect(screen.getByText("1 in · 0 out")).toBeTruthy();
  cards.unmount();
  context.inspect();
  render(Inspector);
  await waitFor(() => expect(document.querySelectorAll(".inspector article")).toHaveLength(3));
  context.isOpen = false;
});

test("the parts of the prompt add up to its sum, and the inspector lists each", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  const share = (tokens: number) => ({ tokens });
  const sum = { tokenCount: 786, layers: { rules: share(61), retrieved: share(200), immediate: share(400) }, identity: share(88), preset: share(0), attachments: share(0), overhead: 37 };
  context.prompt = { ...(shownPrompt([verdict("constraint:a", "rules", true), verdict("codex:mara", "retrieved", true), verdict("editor:cursor-window", "immediate", true)]) as object), ...sum } as never;
  expect(context.parts.reduce((all, one) => all + one.tokens, 0)).toBe(786);
  context.inspect();
  render(Inspector);
  const text = () => document.querySelector(".inspector .content")!.textContent;
  await waitFor(() => expect(text()).toContain("Framing of the messages: 37 tokens"));
  expect(text()).toContain("Who the model is: 88 tokens");
  expect(text()).toContain("786 of 400 tokens in all");
  context.isOpen = false;
});

test("only entries of the codex and of lorebooks can be pinned", () => {
  serve({});
  context.prompt = shownPrompt([verdict("codex:entity:mara", "retrieved", true), verdict("lorebook:a/1", "retrieved", true), verdict("search:c:1", "retrieved", true), verdict("editor:cursor-window", "immediate", true)]);
  render(Cards);
  const pins = screen.getAllByRole("button", { name: /^Pin/ }).map((one) => one.closest("article")!.dataset.source);
  expect(pins).toEqual(["codex:entity:mara", "lorebook:a/1"]);
  expect(screen.getAllByRole("button", { name: /^Leave out/ })).toHaveLength(4);
});

test("a pin that the server does not know is taken back with its reason, and the request goes on without it", async () => {
  const refusal = { detail: "There is no entry called 'codex:entity:gone'. Nothing was changed.", code: "STORE_NOT_FOUND" };
  const inspect = vi.fn((body: { include: string[] }) => (body.include.includes("codex:entity:gone") ? new Response(JSON.stringify(refusal), { status: 404 }) : prompt));
  serve({ "POST /projects/b/inspect": inspect });
  context.follow({ documentId: "c" });
  context.set("codex:entity:mara", "include");
  context.set("codex:entity:gone", "include");
  await waitFor(() => expect(context.choices.include).toEqual(["codex:entity:mara"]));
  await waitFor(() => expect(context.prompt).not.toBeNull());
  expect(context.problem).toBe("");
  expect(context.request.include).toEqual(["codex:entity:mara"]);
  expect(toasts.list.at(-1)?.text).toContain("There is no entry called 'codex:entity:gone'");
});

test("what is left out by hand stays with its chapter after a reload, is said, and can be taken back", async () => {
  serve({ "POST /projects/b/inspect": shownPrompt([verdict("codex:entity:mara", "retrieved", false, "EXCLUDED")]) });
  context.follow({ documentId: "c" });
  context.set("codex:entity:mara", "exclude");
  context.clear(); // as a reload does
  context.follow({ documentId: "d" });
  expect(context.choices.exclude).toEqual([]);
  context.follow({ documentId: "c" });
  expect(context.request.exclude).toEqual(["codex:entity:mara"]);
  await context.load();
  render(Cards);
  expect(screen.getByText(/You left 1 thing out here/)).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Take all of it back" }));
  expect(context.choices.exclude).toEqual([]);
  context.clear();
  context.follow({ documentId: "c" });
  expect(context.choices.exclude).toEqual([]);
});

test("other views count for the model of the desk after a conversation was answered by another", async () => {
  const model = vi.fn((query: URLSearchParams) => (query.get("provider") === "demo" ? { kind: "demo", model: "demo", window: 8192 } : { kind: "none", model: "", window: null }));
  serve({ "GET /projects/b/model": model });
  await context.useModel("big");
  context.choose({ model: "gpt-large", window: 131072 });
  await context.useDeskModel(); // nobody chose anything there, and no model is connected
  expect(context.request).toMatchObject({ model: "demo", window: 8192 });
});

test("a shortage says nothing of rules where there are none", () => {
  context.prompt = { ...(shownPrompt([verdict("codex:a", "retrieved", false, "TOO_LARGE")]) as object), layers: { rules: { tokens: 0 }, immediate: { tokens: 90 } } } as never;
  render(Cards);
  expect(screen.getByText(/the text at the cursor takes 90/)).toBeTruthy();
  expect(screen.queryByText(/rules/)).toBeNull();
});

test("rules that have no room are told of at the bar and beside the text, and lead to which ones", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  context.prompt = shownPrompt([verdict("No magic", "rules", true), verdict("No dashes", "rules", false, "RULES_OVERBUDGET"), verdict("Only in chapter 9", "rules", false, "CONDITION_UNMET"), verdict("codex:light", "rules", false, "RULES_OVERBUDGET"), verdict("codex:mara", "retrieved", true)]);
  expect(context.rulesOut.map((one) => one.source)).toEqual(["No dashes"]);
  render(ContextBar);
  const cards = render(Cards);
  expect(screen.getByText(/1 rule is left out here/)).toBeTruthy();
  cards.unmount();
  render(Inspector);
  await fireEvent.click(screen.getByRole("button", { name: "1 rule left out" }));
  const shown = () => [...document.querySelectorAll(".inspector article")].map((one) => one.getAttribute("data-source"));
  await waitFor(() => expect(shown()).toEqual(["No dashes"]));
  await fireEvent.click(screen.getByRole("button", { name: "Show everything" }));
  await waitFor(() => expect(shown()).toContain("No magic"));
  context.isOpen = false;
});

test("the bar tells what the last answer had from the cache, and what the month cost", async () => {
  const ended = { text: "Rain.", runId: "r1", finishReason: "stop", verdict: {}, usage: { inputTokens: 200, cachedTokens: 150, outputTokens: 3 }, cost: { known: false } };
  serve({
    "GET /projects/b/runs/spending": (query: URLSearchParams) => ({ spent: [], total: /^\d{4}-\d\d$/.test(query.get("month") ?? "") ? { USD: 1_230_000 } : {} }),
    "POST /projects/b/write": () => new Response(`event: completed\ndata: ${JSON.stringify({ event: "completed", variant: 0, ...ended })}\n\nevent: done\ndata: {}\n\n`),
  });
  context.prompt = shownPrompt([]);
  render(ContextBar);
  expect(await screen.findByText(/1\.23.* this month/)).toBeTruthy();
  expect(screen.queryByText(/from cache/)).toBeNull();
  const assistant = new Assistant();
  assistant.skills = [{ id: "continue", answer: "insert" }] as never;
  await assistant.ask({ documentId: "c", cursorPosition: 0 });
  expect(await screen.findByText("last answer 75 % from cache")).toBeTruthy();
});

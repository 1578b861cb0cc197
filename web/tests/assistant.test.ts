/** The assistant at the desk: what it remembers of a book, what it forgets, and a prompt that is handed over. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { flushSync } from "svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { context } from "../src/lib/context.svelte";
import { story } from "../src/lib/story.svelte";
import { ask, askAgain } from "../src/views/desk/actions";
import AskPanel from "../src/views/desk/AskPanel.svelte";
import { Assistant } from "../src/views/desk/assistant.svelte";
import { desk } from "../src/views/desk/desk.svelte";
import { ChapterEditor } from "../src/views/desk/editor";
import { placeOf, suggestions } from "../src/views/desk/suggestion";
import SuggestionText from "../src/views/desk/SuggestionText.svelte";
import { serve } from "./serve";

const skills = [
  { id: "continue", recipe: "novel", answer: "insert", worksOn: ["cursor"], title: { en: "Continue" } },
  { id: "rewrite", recipe: "novel", answer: "replace", worksOn: ["selection"], title: { en: "Rewrite" } },
  { id: "discuss", recipe: "novel", answer: "show", worksOn: ["cursor"], title: { en: "Discuss" } },
];
const model = { kind: "demo", provider: "demo", model: "demo", reason: "", window: 8192, encoding: "estimate" };
const place = { documentId: "c", cursorPosition: 4 };

function answers(project: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { [`GET /projects/${project}/skills`]: { skills }, [`GET /projects/${project}/model`]: model, ...more };
}

const event = (kind: string, data: object) => `event: ${kind}\ndata: ${JSON.stringify({ event: kind, variant: 0, ...data })}\n\n`;

/** The end of a stream with one answer, as the server writes it. */
function finish(text: string, finishReason = "stop"): string {
  const done = { text, runId: "r1", finishReason, verdict: {}, usage: { inputTokens: 1, cachedTokens: 0, outputTokens: 1 }, cost: { known: false } };
  return `${event("completed", done)}event: done\ndata: {}\n\n`;
}

/** A stream with one answer. */
function write(text: string, finishReason = "stop"): () => Response {
  return () => new Response(event("delta", { text }) + finish(text, finishReason));
}

async function open(project: string, more: Record<string, unknown> = {}, assistant = new Assistant()): Promise<Assistant> {
  story.info = { id: project, language: "en" } as never;
  serve(answers(project, more));
  await assistant.load();
  return assistant;
}

beforeEach(() => {
  localStorage.clear();
});

test("an instruction and what was talked about stay in their book", async () => {
  const assistant = await open("one", { "POST /projects/one/write": write("It is dry.") });
  assistant.skillId = "discuss";
  assistant.instruction = "Is it dry?";
  await assistant.ask(place);
  expect(assistant.talk).toHaveLength(1);
  assistant.instruction = "Make it drier.";
  await assistant.load(); // the same book
  expect(assistant.instruction).toBe("Make it drier.");
  await open("two", {}, assistant);
  expect(assistant.instruction).toBe("");
  expect(assistant.talk).toEqual([]);
});

test("an instruction that was followed leaves with the decision, and comes back with what was rejected", async () => {
  const assistant = await open("one", { "POST /projects/one/write": write("Rain.") });
  assistant.instruction = "Make it drier.";
  await assistant.ask(place);
  expect(assistant.instruction).toBe("Make it drier."); // until it is decided
  await assistant.reject();
  expect(assistant.instruction).toBe("");
  expect(assistant.restore()).toBe(true);
  expect(assistant.instruction).toBe("Make it drier.");
  assistant.instruction = "Then she leaves."; // begun for what comes next
  assistant.forgetInstruction();
  expect(assistant.instruction).toBe("Then she leaves.");
});

test("an answer keeps the skill it was asked with, whatever is chosen meanwhile, and one that is only read is asked for once", async () => {
  let sent: { variants?: number; skillId?: string } = {};
  const assistant = await open("one", { "POST /projects/one/write": (body: typeof sent) => ((sent = body), write("Rain.")()) });
  assistant.variantCount = 2;
  const writing = assistant.ask(place);
  assistant.skillId = "discuss";
  await writing;
  expect([assistant.state, assistant.isProse, assistant.sources, sent.variants]).toEqual(["done", true, ["history:r1"], 2]);
  expect(assistant.talk).toEqual([]);
  await assistant.reject();
  expect(assistant.restore()).toBe(true);
  expect([assistant.isProse, assistant.skillId]).toEqual([true, "discuss"]);
  await assistant.ask(place);
  expect([assistant.state, assistant.talk.length, sent.variants, sent.skillId]).toEqual(["idle", 1, 1, "discuss"]);
});

test("asking twice at once asks once, and the suggestion stays while it is written", async () => {
  story.info = { id: "one", language: "en" } as never;
  let end = (): void => undefined;
  const start = (controller: ReadableStreamDefaultController) => {
    const send = (part: string) => controller.enqueue(new TextEncoder().encode(part));
    send(event("delta", { text: "Rain." }));
    end = () => {
      send(finish("Rain."));
      controller.close();
    };
  };
  const stream = () => new Response(new ReadableStream({ start }));
  const asked = serve(answers("one", { "POST /projects/one/write": stream }));
  const { assistant } = desk;
  await assistant.load();
  const nothing = () => undefined;
  const labels = { text: "", placeholder: "", lang: "en" };
  const editor = new ChapterEditor({ parent: document.body, labels, extensions: suggestions(SuggestionText, SuggestionText), onchange: nothing, onmove: nothing });
  editor.open("one/c", "She left.");
  desk.editor = editor;
  const countAsked = () => asked.filter((one) => one === "POST /projects/one/write").length;
  for (const [times, act] of [[1, ask], [2, askAgain]] as const) {
    const both = [act(), act()];
    await waitFor(() => expect(assistant.text).toBe("Rain."));
    expect([assistant.state, placeOf(editor.view), countAsked()]).toEqual(["writing", { from: 9, to: 9 }, times]);
    end();
    await Promise.all(both);
    expect([assistant.state, placeOf(editor.view)]).toEqual(["done", { from: 9, to: 9 }]);
  }
  await assistant.reject();
  desk.editor = undefined;
  editor.destroy();
});

test("the last request is one that was sent, not another place that was looked at", async () => {
  const assistant = await open("one", { "POST /projects/one/write": write("Rain.") });
  context.prompt = { tokenCount: 1 } as never;
  context.otherPlace = { documentId: "d", cursorPosition: 0 };
  await assistant.ask(place);
  expect(context.sent).toBeNull();
  assistant.clear();
  context.otherPlace = null;
  await assistant.ask(place);
  expect(context.sent).toBe(context.prompt);
  context.clear();
});

test("the last request is that of the place where it was asked, also where its prompt was not shown yet", async () => {
  const shown = { tokenCount: 7, fragments: [], warnings: [] };
  const assistant = await open("one", { "POST /projects/one/write": write("Rain."), "POST /projects/one/inspect": shown });
  context.follow(place); // as the page does while one writes
  await assistant.ask(place);
  await waitFor(() => expect(context.sent).toEqual(shown));
  context.clear();
});

test("who writes is remembered for the book in this browser", async () => {
  (await open("one")).choose("clipboard");
  expect((await open("one")).provider).toBe("clipboard");
  expect((await open("two")).provider).toBe("");
});

test("where no model is connected the demo writes, until somebody chooses to be handed the prompt", async () => {
  const none = { "GET /projects/one/model": { ...model, kind: "none", provider: "clipboard" } };
  const assistant = await open("one", none);
  expect([assistant.provider, assistant.isDemo, assistant.isHandOver]).toEqual(["demo", true, false]);
  assistant.choose("");
  expect((await open("one", none)).isHandOver).toBe(true);
});

test("a prompt that is handed over is no answer; what is pasted for it is, and is sent when it is accepted", async () => {
  let sent: unknown;
  const accept = (body: unknown) => ((sent = body), { entries: [] });
  const assistant = await open("one", { "POST /projects/one/write": write("You are a novelist.", "handed_over"), "POST /projects/one/runs/r1/accept": accept });
  assistant.choose("clipboard");
  assistant.variantCount = 3;
  await assistant.ask(place);
  expect(assistant.state).toBe("handed");
  expect(assistant.variants).toHaveLength(1);
  expect(assistant.prompt).toBe("You are a novelist.");
  assistant.paste("  ");
  expect(assistant.state).toBe("handed");
  assistant.paste("Rain fell.\n");
  expect([assistant.state, assistant.text, assistant.prompt]).toEqual(["done", "Rain fell.", ""]);
  await assistant.accept(assistant.text);
  expect(sent).toEqual({ text: "Rain fell." });
});

test("what said that the server is gone leaves the panel when it is back", async () => {
  const assistant = await open("one");
  vi.stubGlobal("fetch", vi.fn(() => Promise.reject(new TypeError("gone"))));
  await assistant.ask(place);
  expect(assistant.problem).toMatch(/^The server does not answer/);
  assistant.reconnect();
  expect(assistant.problem).toBe("");
  assistant.problem = "The month's money is spent.";
  assistant.reconnect();
  expect(assistant.problem).toBe("The month's money is spent.");
});

test("the instruction asks for what the skill does", async () => {
  story.info = { id: "one", language: "en" } as never;
  serve(answers("one"));
  await desk.assistant.load();
  desk.selection = { from: 0, to: 4, text: "Rain" };
  render(AskPanel);
  const instruction = () => screen.getByLabelText<HTMLTextAreaElement>("Instruction").placeholder;
  expect(instruction()).toBe("What should happen next?");
  desk.assistant.skillId = "rewrite";
  flushSync();
  expect(instruction()).toBe("How should it change?");
  desk.selection = { from: 0, to: 0, text: "" };
});

test("the panel hands the prompt over with a button to copy it and a field for the answer", async () => {
  story.info = { id: "one", language: "en" } as never;
  serve(answers("one", { "POST /projects/one/write": write("You are a novelist.", "handed_over") }));
  await desk.assistant.load();
  desk.assistant.skillId = "discuss";
  desk.assistant.choose("clipboard");
  render(AskPanel);
  await desk.assistant.ask(place);
  flushSync();
  expect(screen.getByLabelText<HTMLTextAreaElement>("The prompt").value).toBe("You are a novelist.");
  expect(screen.getByRole("button", { name: "Copy the prompt" })).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Put the prompt away" }));
  await waitFor(() => expect(screen.queryByLabelText("The prompt")).toBeNull());
  expect(desk.assistant.state).toBe("idle");
});

/** The tree, the outline and its synopses: moved by steps, named, read on hover, edited and put in order. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { tick } from "svelte";
import { beforeEach, describe, expect, test } from "vitest";
import { questions } from "../src/lib/questions.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import Beats from "../src/views/desk/Beats.svelte";
import { desk } from "../src/views/desk/desk.svelte";
import { planDrop, planStep } from "../src/views/desk/moving";
import PartDialog from "../src/views/desk/PartDialog.svelte";
import Tree from "../src/views/desk/Tree.svelte";
import BeatList from "../src/views/outline/BeatList.svelte";
import Outline from "../src/views/outline/Outline.svelte";
import { serve } from "./serve";

const make = (id: string, depth = 0, kind = "chapter") => ({ id, title: id.toUpperCase(), kind, depth, number: kind === "part" ? null : 1, words: 10, length: 60 }) as never as (typeof story.chapters)[number];
const book = [make("p", 0, "part"), make("a", 1), make("b", 1), make("q", 0, "part"), make("c", 1), make("d")];
const find = (id: string) => book.find((one) => one.id === id)!;
const synopsis = (id: string, given: object = {}) => ({ documentId: id, title: id.toUpperCase(), state: "fresh", origin: "extract", text: `What happens in ${id}.`, lost: [], ...given });

beforeEach(() => {
  localStorage.clear();
  toasts.list = [];
  desk.dialog = "";
  story.info = { id: "b", language: "en" } as never;
  story.chapters = book;
});

test("a step takes a chapter past, into and out of parts, and a part past whatever it stands beside", () => {
  const step = (id: string, way: number) => planStep(book, find(id), way);
  expect([step("p", 1), step("p", -1)]).toEqual([{ after: "q" }, null]);
  expect([step("q", 1), step("q", -1)]).toEqual([{ after: "d" }, { before: "p" }]);
  expect([step("a", 1), step("a", -1)]).toEqual([{ after: "b" }, { before: "p" }]);
  expect([step("b", 1), step("b", -1)]).toEqual([{ after: "p" }, { before: "a" }]);
  expect([step("d", 1), step("d", -1)]).toEqual([null, { into: "q" }]);
  expect(planStep([make("x"), ...book], make("x"), 1)).toEqual({ before: "a" });
});

test("what is dropped on a part comes first in it, and nothing is put into itself", () => {
  expect(planDrop(book, find("d"), find("p"))).toEqual({ before: "a" });
  expect(planDrop(book, find("p"), find("b"))).toBeNull();
  expect(planDrop(book, find("d"), null)).toEqual({ before: "p" });
  expect(planDrop(book, find("a"), find("d"))).toEqual({ after: "d" });
});

test("the buttons of the tree are about the part that has the focus, and a part has a name of its own", async () => {
  const sent: unknown[] = [];
  serve({ "GET /projects/b/chapters": { items: book, next: null }, "PUT /projects/b/chapters/q/title": (body: unknown) => (sent.push(body), {}), "POST /projects/b/chapters": (body: unknown) => (sent.push(body), {}) });
  render(Tree);
  render(PartDialog);
  await fireEvent.focus(screen.getByRole("treeitem", { name: /Q/ }));
  await fireEvent.click(screen.getByRole("button", { name: "Delete “Q” from the book" }));
  expect(questions.current?.title).toBe("Delete “Q”?");
  questions.answer(false);
  await fireEvent.click(screen.getByRole("button", { name: "Rename the part “Q”" }));
  const field = await screen.findByLabelText("Name of the part");
  await fireEvent.input(field, { target: { value: " The Storm " } });
  await fireEvent.submit(field.closest("form")!);
  await waitFor(() => expect(sent).toEqual([{ title: "The Storm" }]));
  await fireEvent.click(screen.getByRole("button", { name: "Add a part" }));
  await fireEvent.input(await screen.findByLabelText("Name of the part"), { target: { value: "The Calm" } });
  await fireEvent.submit(document.querySelector("form")!);
  await waitFor(() => expect(sent.at(-1)).toEqual({ title: "The Calm", kind: "part", after: null }));
});

test("a row shows the synopsis of its chapter, and one that could not be read is asked for again", async () => {
  let isThere = false;
  const asked = serve({ "GET /projects/b/synopses/texts": () => (isThere ? { items: [synopsis("a", { state: "stale", origin: "hand" })], next: null } : new Response("{}", { status: 500 })) });
  render(Tree);
  const row = screen.getByRole("treeitem", { name: /A/ });
  await fireEvent.focus(row);
  await waitFor(() => expect(asked).toHaveLength(1));
  await fireEvent.blur(row);
  isThere = true;
  await fireEvent.focus(row);
  const card = await screen.findByRole("tooltip");
  expect(card.textContent).toContain("What happens in a.");
  expect(card.textContent).toContain("Written by hand. Out of date: the chapter was changed since.");
  expect(row.getAttribute("aria-describedby")).toBe(card.id);
  await fireEvent.blur(row);
  expect(screen.queryByRole("tooltip")).toBeNull();
});

test("the outline shows each synopsis with its state, to edit, make anew and delete, and beats to put in order", async () => {
  const sent: unknown[] = [];
  const keep = (name: string) => (body: unknown) => (sent.push([name, body]), { made: [], left: [], overtaken: [], failed: {}, lost: {} });
  const beat = (id: string) => ({ id, documentId: "a", text: `Beat ${id}`, done: false });
  serve({
    "GET /projects/b/synopses/texts": { items: [synopsis("a", { state: "stale", origin: "model" }), synopsis("b", { origin: "hand" })], next: null },
    "GET /projects/b/beats": { items: [beat("1"), beat("2")], next: null },
    "PUT /projects/b/synopses/b": keep("write"),
    "POST /projects/b/synopses": keep("make"),
    "DELETE /projects/b/synopses/b": keep("delete"),
    "PATCH /projects/b/beats/2": keep("reword"),
    "PUT /projects/b/beats/order": keep("order"),
  });
  router.read("#/b/outline");
  render(Outline);
  expect(await screen.findByText(/Written by a model\. Out of date/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Build the synopsis of “B” from its own sentences" })).toBeNull(); // what a person wrote is not replaced
  await fireEvent.click(screen.getByRole("button", { name: "Edit the synopsis of “B”" }));
  const field = screen.getByLabelText("Synopsis of “B”");
  await fireEvent.input(field, { target: { value: "Mara leaves." } });
  await fireEvent.submit(field.closest("form")!);
  await waitFor(() => expect(sent).toEqual([["write", { text: "Mara leaves." }]]));
  await fireEvent.click(screen.getByRole("button", { name: "Build the synopsis of “A” from its own sentences" }));
  await fireEvent.click(await screen.findByRole("button", { name: "Delete the synopsis of “B”" }));
  await waitFor(() => expect(sent.slice(1).map((one) => (one as [string])[0])).toEqual(["make", "delete"]));
  const second = screen.getByLabelText("Beat 2");
  await fireEvent.change(second, { target: { value: "They hide." } });
  await waitFor(() => expect(sent.at(-1)).toEqual(["reword", { text: "They hide." }]));
  await fireEvent.keyDown(second, { key: "ArrowUp", altKey: true });
  await waitFor(() => expect(sent.at(-1)).toEqual(["order", { document: "a", items: ["2", "1"] }]));
});

test("a part keeps the name that is typed while chapters are saved", async () => {
  render(PartDialog);
  desk.renamedPart = null;
  desk.dialog = "part";
  const field = await screen.findByLabelText<HTMLInputElement>("Name of the part");
  await fireEvent.input(field, { target: { value: "The Calm" } });
  story.chapters = [...book];
  await tick();
  expect(field.value).toBe("The Calm");
});

test("a chapter that is moved into a folded part is in sight there", async () => {
  const moved = [make("q", 0, "part"), make("d", 1), make("c", 1)];
  const sent: unknown[] = [];
  story.chapters = [make("d"), make("q", 0, "part"), make("c", 1)];
  serve({ "PUT /projects/b/chapters/d/place": (body: unknown) => (sent.push(body), {}), "GET /projects/b/chapters": { items: moved, next: null } });
  render(Tree);
  await fireEvent.click(screen.getByRole("treeitem", { name: /Q/ }));
  expect(screen.queryByRole("treeitem", { name: /C/ })).toBeNull();
  await fireEvent.keyDown(screen.getByRole("treeitem", { name: /D/ }), { key: "ArrowDown", altKey: true });
  await waitFor(() => expect(sent).toEqual([{ before: "c" }]));
  await waitFor(() => expect(story.chapters[0]?.id).toBe("q"));
  expect(await screen.findByRole("treeitem", { name: /D/ })).toBeTruthy();
  expect(await screen.findByRole("treeitem", { name: /C/ })).toBeTruthy();
});

test("Escape closes the synopsis that the pointer opened, wherever the keyboard is", async () => {
  serve({ "GET /projects/b/synopses/texts": { items: [synopsis("a")], next: null } });
  render(Tree);
  await fireEvent.focus(screen.getByRole("treeitem", { name: /A/ }));
  await screen.findByRole("tooltip");
  await fireEvent.keyDown(document.body, { key: "Escape" });
  expect(screen.queryByRole("tooltip")).toBeNull();
});

test("a draft of a synopsis waits without taking the keyboard, and “Edit” gives it", async () => {
  localStorage.setItem("fabula.form.b.synopsis.a", JSON.stringify({ value: { text: "Mara wai" }, version: "" }));
  serve({ "GET /projects/b/synopses/texts": { items: [synopsis("a"), synopsis("b")], next: null } });
  router.read("#/b/outline");
  render(Outline);
  expect((await screen.findByLabelText<HTMLTextAreaElement>("Synopsis of “A”")).value).toBe("Mara wai");
  expect(document.activeElement).toBe(document.body);
  await fireEvent.click(screen.getByRole("button", { name: "Edit the synopsis of “B”" }));
  expect(document.activeElement).toBe(screen.getByLabelText("Synopsis of “B”"));
});

describe("beats", () => {
  const beats = ["1", "2"].map((id) => ({ id, documentId: "a", text: `Beat ${id}`, done: false })) as never[];

  test("a rewording that could not be saved stays, and an empty one goes back", async () => {
    serve({ "PATCH /projects/b/beats/1": () => new Response("{}", { status: 500 }) });
    render(BeatList, { document: "a", beats, onchange: async () => undefined });
    const field = screen.getByLabelText<HTMLTextAreaElement>("Beat 1");
    await fireEvent.change(field, { target: { value: "They hide." } });
    await waitFor(() => expect(toasts.list.at(-1)?.kind).toBe("bad"));
    expect(field.value).toBe("They hide.");
    await fireEvent.change(field, { target: { value: " " } });
    expect(field.value).toBe("Beat 1");
  });

  test("what is typed while a beat is added stays", async () => {
    let answer: (response: Response) => void = () => undefined;
    serve({});
    const fetched = globalThis.fetch;
    globalThis.fetch = (input, init) => (init?.method === "POST" ? new Promise((resolve) => (answer = resolve)) : fetched(input, init));
    let changes = 0;
    render(BeatList, { document: "a", beats: [], onchange: async () => changes++ });
    const field = screen.getByLabelText<HTMLInputElement>("Add a beat");
    await fireEvent.input(field, { target: { value: "Mara hides." } });
    await fireEvent.keyDown(field, { key: "Enter" });
    await fireEvent.input(field, { target: { value: "The bell" } });
    answer(new Response("{}"));
    await waitFor(() => expect(changes).toBe(1));
    expect(field.value).toBe("The bell");
  });

  test("half a beat of one chapter is not taken along to another", async () => {
    const read = (id: string) => ({ id, title: id, text: "Fog.", revision: "1", version: "1" });
    serve({ "GET /projects/b/chapters/a": read("a"), "GET /projects/b/chapters/c": read("c") });
    await desk.chapter.load("a");
    render(Beats);
    await fireEvent.input(screen.getByLabelText("Add a beat"), { target: { value: "Mara hi" } });
    await desk.chapter.load("c");
    await tick();
    expect(screen.getByLabelText<HTMLInputElement>("Add a beat").value).toBe("");
    desk.chapter.close();
  });

  test("beats of the chapter before are gone while those of another one are loaded: none of them can be moved into it", async () => {
    const read = (id: string) => ({ id, title: id, text: "Fog.", revision: "1", version: "1" });
    let answer: (found: Response) => void = () => undefined;
    const late = new Promise<Response>((resolve) => (answer = resolve));
    serve({ "GET /projects/b/chapters/a": read("a"), "GET /projects/b/chapters/c": read("c"), "GET /projects/b/beats": { items: beats, next: null }, "GET /projects/b/synopses/texts": { items: [synopsis("a")], next: null } });
    const fetched = globalThis.fetch;
    await desk.chapter.load("a");
    render(Beats);
    expect(await screen.findByLabelText("Beat 2")).toBeTruthy();
    globalThis.fetch = (input, init) => (String(input).includes("document=c") ? late : fetched(input, init));
    await desk.chapter.load("c");
    await tick();
    expect(screen.queryByLabelText("Beat 2")).toBeNull();
    expect(screen.queryByText("What happens in a.")).toBeNull();
    answer(new Response(JSON.stringify({ items: [{ ...Object(beats[0]), id: "3", documentId: "c", text: "Dawn" }], next: null })));
    await waitFor(() => expect(screen.getByLabelText<HTMLTextAreaElement>("Beat 1").value).toBe("Dawn"));
    desk.chapter.close();
  });

  test("a beat that is removed is taken back by its own step, and each is written by a button with its text", async () => {
    const sent: unknown[] = [];
    serve({
      "DELETE /projects/b/beats/1": () => new Response("{}", { headers: { "Undo-Step": "b/7" } }),
      "POST /projects/b/undo": (body: unknown) => (sent.push(body), { label: "beat removed", number: 7 }),
    });
    render(BeatList, { document: "a", beats, onchange: async () => undefined, onwrite: () => undefined });
    expect(screen.getByRole("button", { name: "Write the beat “Beat 2”" })).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Remove the beat “Beat 1”" }));
    await waitFor(() => expect(toasts.list).toHaveLength(1));
    await toasts.list[0]!.action!.run();
    expect(sent).toEqual([{ step: 7 }]);
  });
});

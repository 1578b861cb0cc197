/** The list of books: title and language can be changed, and a sample is opened again and not copied twice. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { afterEach, beforeEach, expect, test } from "vitest";
import { language } from "../src/lib/i18n/index.svelte";
import { questions } from "../src/lib/questions.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import Settings from "../src/views/settings/Settings.svelte";
import Start from "../src/views/start/Start.svelte";
import { serve } from "./serve";

const fog = { id: "b", title: "Fog", language: "en", characters: 9, changed: "2026-01-01T00:00:00" };
const model = { kind: "demo", provider: "demo", model: "demo", reason: "" };

beforeEach(() => {
  router.read("#/");
  questions.answer(false);
});
afterEach(() => language.set("en"));

test("the title and the language of a book are changed from the list", async () => {
  const sent: unknown[] = [];
  serve({ "GET /projects": { items: [fog], next: null }, "GET /model": model, "PUT /projects/b/title": (body: unknown) => (sent.push(body), {}), "PUT /projects/b/language": (body: unknown) => (sent.push(body), {}) });
  render(Start);
  await fireEvent.click(await screen.findByRole("button", { name: "Change the title or language of “Fog”" }));
  await fireEvent.input(screen.getByLabelText("Title of the book"), { target: { value: "Mist " } });
  await fireEvent.change(screen.getAllByLabelText("Language of the book").at(-1)!, { target: { value: "zh" } });
  await fireEvent.click(screen.getByRole("button", { name: /Save/, hidden: true }));
  await waitFor(() => expect(sent).toEqual([{ title: "Mist", allowDuplicate: false }, { language: "zh" }]));
});

test("whoever plays a character in a book or writes in that of another neither retitles nor deletes it", async () => {
  const rain = { ...fog, id: "r", title: "Rain" };
  const snow = { ...fog, id: "s", title: "Snow", characters: 0 };
  const role = (project: string, role: string) => ({ project, title: "", role, characters: null, documents: null, conversations: null });
  const me = { id: "ann", name: "Ann", isStoreOwner: false, creatableProjects: 0, roles: [role("b", "owner"), role("r", "editor"), role("s", "player")] };
  serve({ "GET /projects": { items: [fog, rain, snow], next: null }, "GET /model": model, "GET /account": me });
  render(Start);
  expect(await screen.findByText(/^you play a character/)).toBeTruthy();
  expect(screen.getAllByRole("button", { name: /^(Change|Delete)/ }).map((one) => one.getAttribute("aria-label"))).toEqual(["Change the title or language of “Fog”", "Delete “Fog”"]);
});

test("a title that another book has is asked about", async () => {
  const sent: { allowDuplicate: boolean }[] = [];
  const refuse = () => new Response(JSON.stringify({ code: "STORE_DUPLICATE", detail: "There is a project 'Rain' already. (`allowDuplicate`)" }), { status: 409 });
  story.info = { ...fog } as never;
  serve({ "GET /projects/b/settings": { settings: [], groups: {} }, "GET /projects/b": fog, "PUT /projects/b/title": (body: { allowDuplicate: boolean }) => (sent.push(body), body.allowDuplicate ? {} : refuse()) });
  const { unmount } = render(Settings);
  await fireEvent.input(screen.getByLabelText("Title of the book"), { target: { value: "Rain" } });
  await fireEvent.click(screen.getByRole("button", { name: /Save/ }));
  await waitFor(() => expect(questions.current?.title).toBe("Another book is called “Rain” too"));
  questions.answer(true);
  await waitFor(() => expect(sent.map((one) => one.allowDuplicate)).toEqual([false, true]));
  expect(screen.queryByText(/allowDuplicate/)).toBeNull();
  unmount();
  story.close();
});

test("a new book takes the language of the page as it is when the book is made", async () => {
  language.set("zh");
  const sent: unknown[] = [];
  serve({ "GET /model": model, "POST /projects": (body: unknown) => (sent.push(body), { id: "n" }), "POST /projects/n/chapters": {} });
  render(Start);
  language.set("en");
  await fireEvent.input(await screen.findByLabelText("Title"), { target: { value: "Salt" } });
  await fireEvent.click(screen.getByRole("button", { name: "Create" }));
  await waitFor(() => expect(sent).toEqual([{ title: "Salt", language: "en" }]));
});

test("a sample that is there already is opened, and copied again only when that is asked for", async () => {
  const asked = serve({
    "GET /projects": { items: [fog], next: null },
    "GET /samples": { items: [{ name: "fog", title: "Fog", language: "en" }, { name: "rain", title: "Rain", language: "en" }], next: null },
    "GET /model": model,
    "POST /samples/fog/copies": { id: "c" },
    "POST /samples/rain/copies": { id: "r" },
  });
  render(Start);
  await fireEvent.click(await screen.findByRole("button", { name: "Open “Fog”" }));
  expect(router.parts).toEqual(["b", "write"]);
  expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  await fireEvent.click(screen.getByRole("button", { name: "Make another copy of “Fog”" }));
  await waitFor(() => expect(router.parts).toEqual(["c", "write"]));
  await fireEvent.click(screen.getByRole("button", { name: "Open “Rain”" }));
  await waitFor(() => expect(router.parts).toEqual(["r", "write"]));
});

/** A book whose player sees the own part of it, and what is asked of the server for it. */
import { render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { context } from "../src/lib/context.svelte";
import Inspector from "../src/lib/prompt/Inspector.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import Play from "../src/views/play/Play.svelte";
import { serve } from "./serve";

Element.prototype.scrollTo = () => undefined;
vi.stubGlobal("EventSource", class { addEventListener(): void {} close(): void {} });
const refused = () => new Response(JSON.stringify({ code: "CONTEXT_NOT_ALLOWED", detail: "This is not for players." }), { status: 403, headers: { "Content-Type": "application/problem+json" } });
const role = { project: "b", title: "Harbour", role: "player", characters: ["m"], documents: [], conversations: [] };
const closed = { "GET /projects/b": refused, "GET /projects/b/chapters": refused };
const answer = (role: object | null) => ({ ...closed, "GET /account": { id: "ann", name: "Ann", hasPassword: true, createdAt: "", roles: role ? [role] : [] } });

beforeEach(() => {
  localStorage.clear();
  story.close();
});

test("a book that refuses a player opens as the player's own part of it", async () => {
  serve(answer(role));
  await story.open("b");
  expect([story.played?.title, story.project, story.id]).toEqual(["Harbour", "b", ""]);
  story.close();
  expect(story.project).toBe("");
});

test("a book that refuses anybody else stays closed", async () => {
  for (const other of [null, { ...role, role: "reader" }, { ...role, project: "c" }]) {
    serve(answer(other));
    await expect(story.open("b")).rejects.toThrow("This is not for players.");
    expect(story.played).toBeNull();
  }
});

test("a player's book asks for what players may have and for nothing else", async () => {
  const message = { id: "m1", role: "user", kind: "user", speaker: "character:m", name: "Mara", content: "*Hush.*", audience: ["persona:bo"], audienceNames: ["Bo"], parentId: null };
  const asked = serve({
    ...answer(role),
    "GET /projects/b/chats": { items: [{ id: "k", title: "Pier", mode: "group", speaker: "character:m", present: [{ id: "character:m", name: "Mara" }, { id: "persona:bo", name: "Bo" }] }], next: null },
    "GET /projects/b/chats/k/messages": { messages: [message], before: null },
  });
  await story.open("b");
  asked.length = 0;
  router.read("#/b/talk/k");
  const { container } = render(Play);
  await waitFor(() => expect(container.querySelector(".own em")?.textContent).toBe("Hush."));
  expect(await screen.findByText("You play Mara")).toBeTruthy();
  expect(screen.getByText("heard by Bo only")).toBeTruthy();
  expect([...screen.getByLabelText<HTMLSelectElement>("Who hears it").options].map((one) => one.text)).toEqual(["everybody present", "only Bo"]);
  expect(screen.queryByLabelText("Which model answers")).toBeNull();
  const allowed = /^GET \/projects\/b\/(chats|reading\/(chapters|entries|recaps)|chats\/k\/messages|events)$/;
  expect(asked.filter((one) => !allowed.test(one))).toEqual([]);
});

test("the inspector does not stay over another view", async () => {
  serve({ "GET /projects/b/budget": { profile: {}, version: 1 } });
  router.read("#/b/write");
  render(Inspector);
  context.inspect();
  expect(await screen.findByRole("region", { name: "Inspector" })).toBeTruthy();
  router.read("#/b/codex");
  await waitFor(() => expect(screen.queryByRole("region", { name: "Inspector" })).toBeNull());
});

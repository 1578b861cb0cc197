/** The view of people and keys, as a plain person, an owner of a book and the owner of the store meet it. */
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import People from "../src/views/people/People.svelte";
import { serve } from "./serve";

const ME = { id: "ed", name: "Ed", hasPassword: true, isStoreOwner: false, creatableProjects: 0, roles: [{ project: "b", title: "Coast", role: "editor", characters: null, documents: null, conversations: null }] };
const SESSIONS = { items: ["one", "two"].map((id, index) => ({ id, account: "ed", createdAt: "2028-01-01T00:00:00Z", endsAt: "2028-02-01T00:00:00Z", isCurrent: index === 0 })), next: null };
let view: ReturnType<typeof mount> | null = null;

function open(tab: string, answers: Record<string, unknown>): string[] {
  const asked = serve({ "GET /account": ME, "GET /account/sessions": SESSIONS, ...answers });
  story.info = { id: "b", title: "Coast", language: "en" } as typeof story.info;
  story.chapters = [{ id: "c1", title: "The Light", kind: "chapter", number: 1 }] as unknown as typeof story.chapters;
  router.read(`#/b/people/${tab}`);
  view = mount(People, { target: document.body });
  return asked;
}

const settle = async (ready: () => boolean): Promise<void> => {
  await vi.waitFor(() => {
    flushSync();
    expect(ready()).toBe(true);
  });
};
const button = (name: string) => [...document.querySelectorAll("button")].find((one) => (one.getAttribute("aria-label") ?? one.textContent ?? "").trim().startsWith(name))!;
const field = (label: string) => document.querySelector<HTMLInputElement>(`#${[...document.querySelectorAll("label")].find((one) => one.textContent?.trim().startsWith(label))!.htmlFor}`)!;
function type(label: string, value: string): void {
  const found = field(label);
  found.value = value;
  found.dispatchEvent(new Event(found instanceof HTMLSelectElement ? "change" : "input", { bubbles: true }));
  flushSync();
}

afterEach(() => {
  if (view) void unmount(view);
  view = null;
  document.body.innerHTML = "";
});

test("a plain person changes the password and asks for nothing of others", async () => {
  const sent: unknown[] = [];
  const asked = open("", { "PUT /account/password": (body: unknown) => (sent.push(body), new Response(null, { status: 204 })) });
  await settle(() => document.body.textContent!.includes("You are signed in as Ed (ed)."));
  expect(document.body.textContent).toContain("Coast · editor");
  type("Old password", "correct horse");
  type("New password", "battery staple");
  button("Change the password").click();
  await settle(() => sent.length === 1);
  expect(sent).toEqual([{ oldPassword: "correct horse", password: "battery staple" }]);
  expect(asked.filter((one) => /\/accounts|GET \/keys|GET \/sessions|members/.test(one))).toEqual([]);
});

test("own sessions show this browser, and another one can be ended", async () => {
  const asked = open("sessions", { "DELETE /account/sessions/two": () => new Response(null, { status: 204 }) });
  await settle(() => document.body.textContent!.includes("this browser"));
  button("Sign out since").click();
  await settle(() => asked.includes("DELETE /account/sessions/two"));
});

test("an own key names verbs beside its rights", async () => {
  const sent: unknown[] = [];
  const key = { id: "k", account: "ed", label: "box", projects: null, rights: ["read"], verbs: ["project.search"], createdAt: "2028-01-01T00:00:00Z", revokedAt: null };
  open("keys", { "GET /account/keys": { items: [key], next: null }, "POST /account/keys": (body: unknown) => (sent.push(body), { key, secret: "fabula-x" }) });
  await settle(() => document.body.textContent!.includes("read, project.search"));
  button("New key").click();
  flushSync();
  type("What it is for", "box");
  type("Single verbs", "project.search, codex.add");
  button("Make the key").click();
  await settle(() => sent.length === 1);
  expect(sent).toEqual([{ label: "box", projects: [], rights: [], verbs: ["project.search", "codex.add"] }]);
});

test("an owner of a book adds a player with chapters", async () => {
  const sent: unknown[] = [];
  const role = { ...ME.roles[0], role: "owner" };
  open("", {
    "GET /account": { ...ME, roles: [role] },
    "GET /projects/b/members": { items: [{ id: "ed", name: "Ed", role }], next: null },
    "GET /projects/b/codex": { items: [{ id: "mara", name: "Mara" }], next: null },
    "PUT /projects/b/members/zoe": (body: unknown) => (sent.push(body), { id: "zoe", name: "Zoe", role: { ...role, role: "player" } }),
  });
  await settle(() => document.body.textContent!.includes("Who belongs to “Coast”"));
  button("Add a member").click();
  await settle(() => document.querySelector("dialog[open]") !== null);
  type("Account", "zoe");
  type("Role", "player");
  document.querySelector<HTMLInputElement>('fieldset input[value="c1"]')!.click();
  flushSync();
  button("Save").click();
  await settle(() => sent.length === 1);
  expect(sent).toEqual([{ role: "player", character: "mara", documents: ["c1"], conversations: [] }]);
});

test("the owner of the store sees everybody", async () => {
  const asked = open("", { "GET /account": { ...ME, id: "owner", isStoreOwner: true, creatableProjects: null, roles: [] } });
  await settle(() => document.body.textContent!.includes("Nobody but you"));
  expect(asked).toContain("GET /accounts");
  expect(asked).not.toContain("GET /account/keys");
});

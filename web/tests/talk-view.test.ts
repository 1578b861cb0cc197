/** Conversations as people meet them: deleting one, secrets of a game, and a book without anybody to talk to. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { tick } from "svelte";
import { beforeEach, expect, test } from "vitest";
import { context } from "../src/lib/context.svelte";
import { live } from "../src/lib/live";
import { questions } from "../src/lib/questions.svelte";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import History from "../src/views/history/History.svelte";
import StartDialog from "../src/views/talk/StartDialog.svelte";
import Talk from "../src/views/talk/Talk.svelte";
import { serve } from "./serve";

Element.prototype.scrollTo = () => undefined;
const present = [{ id: "player:you", name: "Player", aliases: [] }, { id: "persona:mara", name: "Mara", aliases: [] }];
const conversation = { id: "k", title: "Night", opening: "", messageCount: 2, changedAt: "2026-01-01T00:00:00", presence: present.map((one) => ({ participantId: one.id, name: one.name, since: null, until: null })) };
const say = (id: string, content: string, given: object = {}) => ({ id, role: "user", kind: "user", speaker: "player:you", name: "Player", content, timestamp: "", final: true, parentId: null, number: 1, audience: null, pinned: null, previousContent: null, version: 1, ...given });
const secret = say("s", "[You are a werewolf, and you are alone.]", { kind: "knowledge", speaker: "", name: "", audience: ["persona:mara"] });

function answers(mode: string, messages: object[], list: () => object[] = () => [conversation]): Record<string, unknown> {
  return {
    "GET /projects/b/conversations": () => ({ items: list(), next: null }),
    "GET /projects/b/chats/k": { conversationId: "k", title: "Night", present, mode, state: mode === "werewolf" ? { roles: { "persona:mara": "werewolf" } } : {} },
    "GET /projects/b/conversations/k/messages": { messages, before: null },
    "GET /projects/b/model": { kind: "demo", provider: "demo", model: "demo", reason: "", window: null, encoding: null },
    "POST /projects/b/inspect": { fragments: [], layers: {} },
    "DELETE /projects/b/conversations/k": {},
  };
}

beforeEach(() => {
  localStorage.clear();
  toasts.list = [];
  context.clear();
  questions.answer(false);
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [];
  story.entries = [];
  story.areEntriesLoaded = true;
  router.read("#/b/talk/k");
});

test("a conversation is deleted after a question, and nothing is asked about it any more", async () => {
  let isThere = true;
  const asked = serve({ ...answers("free_chat", [say("a", "Hello.")], () => (isThere ? [conversation] : [])), "DELETE /projects/b/conversations/k": () => ((isThere = false), {}) });
  render(Talk);
  await fireEvent.click(await screen.findByRole("button", { name: "Delete the conversation" }));
  expect(questions.current?.title).toBe("Delete “Night”?");
  expect(asked).not.toContain("DELETE /projects/b/conversations/k");
  await waitFor(() => expect(context.place?.conversationId).toBe("k"));
  questions.answer(true);
  await waitFor(() => expect(asked).toContain("DELETE /projects/b/conversations/k"));
  await waitFor(() => expect(router.rest).toEqual([]));
  expect(context.place).toBeNull();
  const before = asked.length;
  context.refresh(0); // as every change of a conversation does
  live.refresh();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(asked.slice(before).filter((one) => one.includes("inspect") || one.includes("/k"))).toEqual([]);
  expect(context.problem).toBe("");
  expect(toasts.list.map((one) => one.kind)).toEqual(["plain"]);
});

test("a conversation that somebody else deletes is left", async () => {
  let isThere = true;
  serve(answers("free_chat", [say("a", "Hello.")], () => (isThere ? [conversation] : [])));
  render(Talk);
  await screen.findByText("Hello.");
  isThere = false;
  live.refresh();
  await waitFor(() => expect(router.rest).toEqual([]));
});

test("what a mode told in secret is covered until it is asked for, in Talk and in the history", async () => {
  const message = secret.content;
  serve({ ...answers("werewolf", [secret, say("a", "Begin.")]), "GET /projects/b/participants": { items: present, next: null } });
  const talk = render(Talk);
  await screen.findByText("Begin.");
  expect(screen.queryByText(message)).toBeNull();
  expect(screen.getByText("Told in secret.")).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Show hidden roles" }));
  expect(screen.getByText(message)).toBeTruthy();
  talk.unmount();
  router.read("#/b/history?with=Mara");
  render(History);
  await screen.findByText("Begin.");
  expect(screen.queryByText(message)).toBeNull();
  await fireEvent.click(screen.getByRole("button", { name: "Show hidden roles" }));
  expect(screen.getByText(message)).toBeTruthy();
});

test("what a prompt leaves out of the conversation stands beside it, and where the model reads from within it", async () => {
  const verdict = (id: string, included: boolean, reason: string) => ({ source: `history:${id}`, layer: "immediate", included, reason, why: "", title: "", text: id, tokenCount: 1, score: 1 });
  serve({ ...answers("free_chat", [say("a", "One."), say("b", "Two."), say("c", "Three.")]), "POST /projects/b/inspect": { fragments: [verdict("a", false, "HISTORY_CAP"), verdict("b", false, "HISTORY_CAP"), verdict("c", true, "KEPT")], layers: {}, tokenCount: 1, budget: { total: 9 } } });
  render(Talk);
  expect(await screen.findByText(/^2 messages: the settings tell a model only/)).toBeTruthy();
  expect(screen.getByText(/Mara reads from here on/).nextElementSibling?.textContent).toContain("Three.");
});

test("what a prompt left out of another conversation is not said of the one that is open", async () => {
  const verdict = { source: "history:a", layer: "immediate", included: false, reason: "HISTORY_CAP", why: "", title: "", text: "a", tokenCount: 1, score: 1 };
  const all = answers("free_chat", [say("a", "One."), say("b", "Two.")]);
  serve({
    ...all,
    "GET /projects/b/chats/j": { conversationId: "j", title: "Day", present, mode: "free_chat", state: {} },
    "GET /projects/b/conversations/j/messages": { messages: [say("x", "Morning.")], before: null },
    "POST /projects/b/inspect": (body: unknown) => ((body as { conversationId: string }).conversationId === "k" ? { fragments: [verdict], layers: {}, tokenCount: 1, budget: { total: 9 } } : new Response(JSON.stringify({ detail: "No." }), { status: 500 })),
  });
  render(Talk);
  await screen.findByText("Not in the prompt for Mara");
  router.read("#/b/talk/j");
  await screen.findByText("Morning.");
  await waitFor(() => expect(context.problem).not.toBe(""));
  expect(context.place?.conversationId).toBe("j");
  expect(screen.queryByText("Not in the prompt for Mara")).toBeNull();
});

test("a game is begun anew after a question", async () => {
  const asked = serve(answers("werewolf", [say("a", "Begin.")]));
  render(Talk);
  await fireEvent.click(await screen.findByRole("tab", { name: "State" }));
  for (const isMeant of [false, true]) {
    await fireEvent.click(await screen.findByRole("button", { name: "Deal new roles" }));
    expect(questions.current?.title).toBe("Deal new roles?");
    expect(asked).not.toContain("PUT /projects/b/chats/k/mode");
    questions.answer(isMeant);
    await tick();
  }
  await waitFor(() => expect(asked).toContain("PUT /projects/b/chats/k/mode"));
});

test("a whisper of the person stays readable", async () => {
  serve(answers("werewolf", [say("w", "Only you.", { audience: ["persona:mara"] })]));
  render(Talk);
  expect(await screen.findByText("Only you.")).toBeTruthy();
});

/** A stream of a turn, as the server writes it. */
function stream(events: object[]): () => Response {
  const lines = events.map((one) => `event: ${(one as { event: string }).event}\ndata: ${JSON.stringify(one)}\n\n`);
  return () => new Response(`${lines.join("")}event: done\ndata: {}\n\n`);
}
const handed = { event: "prompt", participantId: "persona:mara", name: "Mara", prompt: "You are Mara.", isCopied: false };

test("a prompt that was handed over is there again after the page was left, with what was typed as its answer", async () => {
  const said = [say("a", "Hello.")];
  const sent: unknown[] = [];
  const reply = { event: "reply", participantId: "persona:mara", name: "Mara", message: say("r", "Aye.", { speaker: "persona:mara", name: "Mara", role: "assistant" }) };
  const answer = (body: unknown) => (sent.push(body), said.push(reply.message), stream([reply])());
  const all = { ...answers("free_chat", said), "POST /projects/b/chats/k/send": stream([handed]), "POST /projects/b/chats/k/paste": answer };
  serve(all);
  const first = render(Talk);
  await fireEvent.input(await screen.findByLabelText(/^Say something/), { target: { value: "Hello." } });
  await fireEvent.click(screen.getByRole("button", { name: "Send" }));
  await fireEvent.input(await screen.findByRole("textbox", { name: "Take this as the answer of Mara" }), { target: { value: "Aye" } });
  first.unmount();
  const second = render(Talk);
  expect((await screen.findByLabelText<HTMLTextAreaElement>(/^No model is connected/)).value).toBe("You are Mara.");
  const box = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Take this as the answer of Mara" });
  expect(box.value).toBe("Aye");
  await fireEvent.input(box, { target: { value: "Aye." } });
  await fireEvent.click(screen.getByRole("button", { name: "Take this as the answer of Mara" }));
  await screen.findByText("Aye.");
  expect(sent).toMatchObject([{ participant: "persona:mara", text: "Aye.", insteadOf: "", goesOnFrom: "" }]);
  second.unmount();
  render(Talk);
  await screen.findByText("Aye.");
  expect(screen.queryByLabelText(/^No model is connected/)).toBeNull();
});

test("an answer from elsewhere to a reply that is given again stands beside that reply", async () => {
  const sent: unknown[] = [];
  const said = [say("r", "Nay.", { speaker: "persona:mara", name: "Mara", role: "assistant" })];
  serve({ ...answers("free_chat", said), "POST /projects/b/chats/k/regenerate": stream([handed]), "POST /projects/b/chats/k/paste": (body: unknown) => (sent.push(body), stream([])()) });
  render(Talk);
  await fireEvent.click(await screen.findByRole("button", { name: "Again" }));
  await fireEvent.input(await screen.findByRole("textbox", { name: "Take this as the answer of Mara" }), { target: { value: "Aye." } });
  await fireEvent.click(screen.getByRole("button", { name: "Take this as the answer of Mara" }));
  await waitFor(() => expect(sent).toMatchObject([{ insteadOf: "r", goesOnFrom: "" }]));
});

test("a prompt that was handed over is forgotten where somebody has spoken since", async () => {
  const said = [say("a", "Hello.")];
  serve({ ...answers("free_chat", said), "POST /projects/b/chats/k/send": stream([handed]) });
  const first = render(Talk);
  await fireEvent.input(await screen.findByLabelText(/^Say something/), { target: { value: "Hello." } });
  await fireEvent.click(screen.getByRole("button", { name: "Send" }));
  await screen.findByLabelText(/^No model is connected/);
  first.unmount();
  said.push(say("b", "Anybody?"));
  render(Talk);
  await screen.findByText("Anybody?");
  expect(screen.queryByLabelText(/^No model is connected/)).toBeNull();
});

test("emphasis of what is said is shown as emphasis", async () => {
  serve(answers("free_chat", [say("a", "*She smiles.* “Stay, <b>please</b>.”")]));
  const { container } = render(Talk);
  await screen.findByText("She smiles.");
  expect(container.querySelector(".said em")!.textContent).toBe("She smiles.");
  expect(container.querySelector(".said")!.textContent).toBe("She smiles. “Stay, <b>please</b>.”");
});

test("a quiz says how it is played, and that nobody has points", async () => {
  serve(answers("quiz", []));
  render(Talk);
  expect(await screen.findByText(/Write “@Mara \+1” to give a point/)).toBeTruthy();
  await fireEvent.click(screen.getByRole("tab", { name: "State" }));
  expect(screen.getByText("Nobody has points yet.")).toBeTruthy();
});

test("a book without characters says so where a conversation would begin, and leads to the codex", async () => {
  serve({ "GET /projects/b/participants": { items: [], next: null } });
  render(StartDialog, { props: { open: true, onclose: () => undefined, onstarted: () => undefined } });
  expect(await screen.findByText("This book has no characters yet.")).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: /Add a character to the codex/, hidden: true }));
  expect(router.parts).toEqual(["b", "codex", "new"]);
});

test("a recap that failed says so and why where it was asked for", async () => {
  const job = { key: "recap:k:anew", kind: "recap", title: "", state: "queued", why: null as string | null, note: null as string | null, queued: "2026-01-01T00:00:00", due: "", tries: 1, stopping: false };
  const asked = serve({
    ...answers("free_chat", [say("a", "Hello.")]),
    "GET /projects/b/participants": { items: present, next: null },
    "GET /projects/b/jobs": () => ({ projects: [{ jobs: [job], breakers: [] }] }),
    "POST /projects/b/conversations/k/recaps/rebuild": () => (Object.assign(job, { state: "failed", why: "RECAP_NO_MODEL", note: "`background = NAME` in models.toml names one" }), { job: job.key }),
    "POST /projects/b/jobs/retry": { keys: [job.key] },
  });
  job.state = "done";
  router.read("#/b/history/recap?with=Mara");
  render(History);
  await fireEvent.click(await screen.findByRole("button", { name: "Tell it anew" }));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The recap was not written.");
  expect(alert.textContent).toContain("none is connected that can");
  expect(alert.textContent).not.toContain("models.toml");
  await fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await waitFor(() => expect(asked).toContain("POST /projects/b/jobs/retry"));
});

test("whoever is whispered to is shown as who speaks next, and the whisper is for one line", async () => {
  const bo = { id: "persona:bo", name: "Bo", aliases: [] };
  const sent: { audience: string[] | null }[] = [];
  serve({
    ...answers("free_chat", [say("w", "Psst.", { role: "assistant", speaker: "persona:bo", name: "Bo", audience: ["player:you"] })]),
    "GET /projects/b/chats/k": { conversationId: "k", title: "Night", present: [...present, bo], mode: "free_chat", state: {} },
    "POST /projects/b/chats/k/send": (body: { audience: string[] | null }) => (sent.push(body), new Response("", { headers: { "Content-Type": "text/event-stream" } })),
  });
  render(Talk);
  expect(await screen.findByText("heard by you only")).toBeTruthy();
  await waitFor(() => expect(context.place?.speakerId).toBe("persona:mara"));
  const hears = screen.getByLabelText<HTMLSelectElement>("Who hears it");
  await fireEvent.change(hears, { target: { value: "persona:bo" } });
  expect(screen.getByText(/Only Bo hears the next line/)).toBeTruthy();
  await waitFor(() => expect(context.place?.speakerId).toBe("persona:bo"));
  expect(screen.getByLabelText<HTMLSelectElement>("Whose knowledge").value).toBe("persona:bo");
  await fireEvent.input(screen.getByLabelText(/Say something/), { target: { value: "Where is it?" } });
  await fireEvent.click(screen.getByRole("button", { name: /Send/ }));
  expect(sent[0]?.audience).toEqual(["persona:bo"]);
  await waitFor(() => expect(hears.value).toBe(""));
  expect(screen.queryByText(/Only Bo hears/)).toBeNull();
});

test("what the demo said is marked as prepared", async () => {
  const reply = { role: "assistant", kind: "assistant", speaker: "persona:mara", name: "Mara" };
  serve(answers("free_chat", [say("a", "Hello."), say("d", "For a while nobody spoke.", { ...reply, isDemo: true }), say("m", "Good evening.", reply)]));
  render(Talk);
  await screen.findByText("Good evening.");
  const marks = screen.getAllByText("Demo: prepared sentences. No model has read your story.");
  expect(marks.map((one) => one.closest("section")!.dataset.message)).toEqual(["d"]);
});

test("the history says how many messages are on this branch and how many other branches there are, with one name for you", async () => {
  serve({
    ...answers("free_chat", [say("a", "Hello."), say("d", "Again.", { parentId: "a" })]),
    "GET /projects/b/participants": { items: present, next: null },
    "GET /projects/b/conversations/k/branches": { items: [say("c", "Once.", { parentId: "a" }), say("d", "Again.", { parentId: "a" }), say("e", "Thrice.", { parentId: "a" })], next: null },
  });
  router.read("#/b/history?with=Mara");
  render(History);
  expect(await screen.findByText("2 messages on this branch · 2 other branches")).toBeTruthy();
  expect([...document.querySelectorAll("ol b")].map((one) => one.textContent)).toEqual(["You", "You"]);
});

/** What a writer sees in the lists of conversations and lorebooks, and beside an entry. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { router } from "../src/lib/router.svelte";
import { story } from "../src/lib/story.svelte";
import Codex from "../src/views/codex/Codex.svelte";
import History from "../src/views/history/History.svelte";
import Lorebooks from "../src/views/lorebooks/Lorebooks.svelte";
import { serve } from "./serve";

beforeEach(() => {
  localStorage.clear();
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [];
  story.entries = [];
});

test("a lorebook can be dropped onto its view", async () => {
  router.read("#/b/lorebooks");
  const asked = serve({ "POST /projects/b/lorebooks/import": { name: "Harbour", entries: [], warnings: [] } });
  render(Lorebooks);
  const file = new File(["{}"], "harbour.json");
  await fireEvent.drop(window, { dataTransfer: { files: [file], types: ["Files"] } });
  await waitFor(() => expect(asked).toContain("POST /projects/b/lorebooks/import"));
});

test("the reading of an entry says that it is the author's", async () => {
  router.read("#/b/codex/m");
  const entry = { id: "m", name: "Mara", type: "character", aiContextLevel: "always", aliases: [], description: "", details: {}, tags: [], notes: "", knownTo: null, since: null, progressions: [], relations: [] };
  serve({
    "GET /projects/b/codex/m": entry,
    "GET /projects/b/codex/m/facts": { facts: [] },
    "GET /projects/b/timeline": { appearances: [], documents: [], facts: [] },
    "GET /projects/b/mentions/m": { id: "m", name: "Mara", type: "character", text: "She lit the fires.", later: 0 },
  });
  render(Codex);
  expect(await screen.findByText(/This is the author’s view, with every secret/)).toBeTruthy();
});

test("two characters to whom one talked are enough to find the conversation, and participants go by their names", async () => {
  router.read("#/b/history?with=Silas,Ada");
  const people = [["player:1", "Player"], ["character:s", "Silas"], ["character:a", "Ada"]].map(([id, name]) => ({ id, name, aliases: [] }));
  const presence = people.map(({ id, name }) => ({ participantId: id, name, until: null }));
  const talk = { id: "t", title: "At the quay", messageCount: 1, changedAt: "2026-01-01T00:00:00", presence };
  serve({
    "GET /projects/b/participants": { items: people, next: null },
    "GET /projects/b/conversations": (query: URLSearchParams) => ({ items: query.get("match") === "exact" ? [] : [talk], next: null }),
    "GET /projects/b/conversations/t/messages": { messages: [{ id: "1", speaker: "character:s", name: "Silas", content: "Good evening.", timestamp: "2026-01-01T00:00:00", previousContent: null, version: 1 }], before: null },
  });
  render(History);
  expect(await screen.findByText("Good evening.")).toBeTruthy();
  expect(screen.queryByText("These have not talked alone with each other")).toBeNull();
  await fireEvent.change(screen.getByLabelText("Add a participant"), { target: { value: "player:1" } });
  expect(screen.getByLabelText<HTMLInputElement>("Participants").value).toBe("Silas, Ada, You");
});

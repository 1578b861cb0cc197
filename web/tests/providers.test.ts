/** Providers of models: a server of one's own is used with a model that somebody names, and never with that of another. */
import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, expect, test } from "vitest";
import { story } from "../src/lib/story.svelte";
import { Assistant } from "../src/views/desk/assistant.svelte";
import Providers from "../src/views/settings/Providers.svelte";
import { serve } from "./serve";

const provider = (name: string, given: object) => ({ name, address: "", needsKey: false, variable: "", key: null, model: "", canAnswer: false, ...given });
const list = [provider("ollama", { address: "http://127.0.0.1:11434/v1" }), provider("local", {}), provider("demo", { model: "demo", canAnswer: true })];

beforeEach(() => {
  localStorage.clear();
  story.info = { id: "b", language: "en" } as never;
});

test("a server of one's own asks for its model before it writes, and another provider forgets that model", async () => {
  const set: [string, unknown][] = [];
  const asked = serve({
    "GET /providers": { items: list, next: null },
    "GET /projects/b/model": { provider: "clipboard", model: "", kind: "none" },
    "GET /projects/b/settings": { settings: [{ name: "llm.model", origin: "person" }], groups: {} },
    "PUT /settings/llm.model": (body: { value: unknown }) => (set.push(["llm.model", body.value]), {}),
    "PUT /settings/llm.provider": (body: { value: unknown }) => (set.push(["llm.provider", body.value]), {}),
    "DELETE /settings/llm.model": {},
  });
  render(Providers, { onchange: () => Promise.resolve(), onready: () => undefined });
  await fireEvent.click(await screen.findByRole("button", { name: /Let it write: Ollama/i }));
  expect(set).toEqual([]);
  await fireEvent.input(screen.getByLabelText(/Model of Ollama/i), { target: { value: " llama3.1:8b " } });
  await fireEvent.submit(document.querySelector("form")!);
  await waitFor(() => expect(set).toEqual([["llm.model", "llama3.1:8b"], ["llm.provider", "ollama"]]));
  expect(asked).not.toContain("DELETE /settings/llm.model");
  expect(screen.queryByRole("button", { name: /Let it write: .*local/i })).toBeNull(); // it has no file
  await fireEvent.click(screen.getByRole("button", { name: /Let it write: .*demo/i }));
  await waitFor(() => expect(set.at(-1)).toEqual(["llm.provider", "demo"]));
  expect(asked).toContain("DELETE /settings/llm.model");
});

test("what one provider could not do is no longer said when another is chosen", () => {
  const assistant = new Assistant();
  assistant.problem = "ollama does not answer.";
  assistant.choose("demo");
  expect(assistant.problem).toBe("");
});

/** The view of memory, as a whole. */
import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import { story } from "../src/lib/story.svelte";
import Memory from "../src/views/memory/Memory.svelte";
import { serve } from "./serve";

test("what a prompt would hold is shown, also where one source gives several passages", async () => {
  story.info = { id: "b", language: "en" } as never;
  story.chapters = [{ id: "c", title: "One", number: 1, kind: "chapter", depth: 0, length: 9 }] as never;
  const out = (text: string) => ({ source: "memory:recent", text, sentence: "Too old.", included: false });
  serve({
    "GET /profile": { text: "", version: 0 },
    "POST /projects/b/memories/preview": { injected: [], leftOut: [out("Fog came."), out("Fog went.")], tokens: 0, profile: "" },
  });
  render(Memory);
  expect(await screen.findByText("Fog came.")).toBeTruthy();
  expect(screen.getByText("Fog went.")).toBeTruthy();
});

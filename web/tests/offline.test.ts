/** What the page says and does while the server is gone, and when it is back. */
import { render, screen } from "@testing-library/svelte";
import { flushSync } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import { get, Offline } from "../src/lib/api";
import { connection } from "../src/lib/connection.svelte";
import { live } from "../src/lib/live";
import { saving } from "../src/lib/saving.svelte";
import { story } from "../src/lib/story.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import Talk from "../src/views/talk/Talk.svelte";
import { serve } from "./serve";

afterEach(() => {
  serve({});
  connection.found();
  toasts.list = [];
  saving.state = "";
});

test("only a chapter is said to be kept while the server is gone", () => {
  saving.state = "";
  expect(new Offline().message).toContain("this is not saved");
  saving.state = "unsaved";
  expect(new Offline().message).toContain("What you write in the chapter is kept here");
});

test("what said that the server is gone leaves when it is back; other bad news stay", () => {
  toasts.fail(new Offline());
  toasts.show("Another thing.", { kind: "bad" });
  toasts.reconnect();
  expect(toasts.list.map((one) => one.text)).toEqual(["Another thing."]);
});

test("when the server is back, everything that was shown is loaded again", () => {
  const load = vi.fn();
  const end = live.on(["constraints"], load);
  live.refresh();
  expect(load).toHaveBeenCalledWith(null);
  end();
});

test("without the server nothing is said to be missing", async () => {
  story.info = { id: "b", language: "en" } as never;
  vi.stubGlobal("fetch", vi.fn(() => Promise.reject(new TypeError("gone"))));
  render(Talk);
  await expect(get("/projects")).rejects.toThrow();
  flushSync();
  expect(screen.getByText("The server does not answer.")).toBeTruthy();
  expect(screen.queryByText(/no conversation/i)).toBeNull();
});

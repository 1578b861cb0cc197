/** What is told of changes that were made elsewhere. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { live, type ChangeListener } from "../src/lib/live";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function listen(...kinds: Parameters<typeof live.on>[0]) {
  const told = vi.fn<ChangeListener>();
  return { told, end: live.on(kinds, told) };
}

test("changes that come together are told at once, to those who asked for their kind", () => {
  const chapters = listen("chapters", "revisions");
  const rules = listen("constraints");
  live.receive({ kind: "change", version: 1, changes: [{ kind: "chapters", id: "one" }] });
  live.receive({ kind: "change", version: 2, changes: [{ kind: "revisions", id: "two" }, { kind: "codex", id: "mara" }] });
  vi.runAllTimers();
  expect(chapters.told.mock.calls).toEqual([[new Set(["one", "two"])]]);
  expect(rules.told).not.toHaveBeenCalled();
  for (const one of [chapters, rules]) one.end();
  live.receive({ kind: "change", version: 3, changes: [{ kind: "chapters", id: "one" }] });
  vi.runAllTimers();
  expect(chapters.told).toHaveBeenCalledOnce();
});

test("an id that is not said, and a reset, mean that anything may differ", () => {
  const { told, end } = listen("codex");
  live.receive({ kind: "change", version: 4, changes: [{ kind: "codex", id: "" }] });
  vi.runAllTimers();
  live.receive({ kind: "reset", version: 5 });
  vi.runAllTimers();
  expect(told.mock.calls).toEqual([[null], [null]]);
  end();
});

test("a stream that goes on where the last one ended changes nothing, and one that begins later everything", () => {
  const { told, end } = listen("codex");
  live.receive({ kind: "ready", version: 5 });
  vi.runAllTimers();
  expect(told).not.toHaveBeenCalled();
  live.receive({ kind: "ready", version: 9 });
  vi.runAllTimers();
  expect(told).toHaveBeenCalledWith(null);
  end();
});

test.each([true, false])("at the first event it is looked up whether the project was changed since it was loaded: %s", async (isChanged) => {
  vi.stubGlobal("EventSource", class { addEventListener(): void {} close(): void {} });
  vi.stubGlobal("BroadcastChannel", undefined);
  const { told, end } = listen("codex");
  const leave = live.follow("one", () => Promise.resolve(isChanged));
  live.receive({ kind: "ready", version: 7 });
  await vi.runAllTimersAsync();
  expect(told.mock.calls).toEqual(isChanged ? [[null]] : []);
  leave();
  end();
});

import { fireEvent, render, screen } from "@testing-library/svelte";
import { createRawSnippet, tick } from "svelte";
import { expect, test, vi } from "vitest";
import { LayerBar, List, Tabs } from "../src/lib/ui";

vi.stubGlobal("ResizeObserver", class { observe(): void {} unobserve(): void {} disconnect(): void {} });

const row = createRawSnippet((item: () => { name: string }) => ({ render: () => `<span>${item().name}</span>` })) as never;
const items = Array.from({ length: 5000 }, (_, index) => ({ name: `Row ${index}` }));

test("of a long list only some rows are drawn, and arrows and Enter work", async () => {
  const onopen = vi.fn();
  render(List, { items, keyOf: (one: { name: string }) => one.name, label: "Rows", row, onopen } as never);
  const drawn = screen.getAllByRole("option");
  expect(drawn.length).toBeLessThan(80);
  drawn[0]!.focus();
  await fireEvent.keyDown(drawn[0]!, { key: "ArrowDown" });
  await tick();
  await fireEvent.keyDown(document.activeElement!, { key: "Enter" });
  expect(onopen).toHaveBeenCalledWith(items[1]);
});

test("the bar says its parts to those who cannot see it", async () => {
  const onopen = vi.fn();
  const parts = [{ name: "rules", tokens: 821 }, { name: "immediate", tokens: 1678 }, { name: "identity", tokens: 88 }, { name: "framing", tokens: 19 }] as const;
  render(LayerBar, { parts, total: 6144, onopen });
  const bar = screen.getByRole("button", { name: "Rules 821, Immediate 1,678, Who the model is 88, Framing of the messages 19: 2,606 of 6,144 tokens. Open the inspector." });
  await fireEvent.click(bar);
  expect(onopen).toHaveBeenCalledOnce();
});

test("tabs move with arrows", async () => {
  const onchange = vi.fn();
  render(Tabs, { tabs: [{ name: "a", label: "One" }, { name: "b", label: "Two" }], current: "a", label: "Parts", onchange } as never);
  await fireEvent.keyDown(screen.getByRole("tab", { name: "One" }), { key: "ArrowLeft" });
  expect(onchange).toHaveBeenCalledWith("b");
});

/** Numbers that are typed and read: with their thousands and their unit, and never mistaken for another one. */
import { fireEvent, render, screen } from "@testing-library/svelte";
import { expect, test, vi } from "vitest";
import { language } from "../src/lib/i18n/index.svelte";
import { readNumber } from "../src/lib/numbers";
import { NumberInput } from "../src/lib/ui";
import { nameUnit } from "../src/views/settings/values";

test.each([["64000", 64000], ["64,000", 64000], ["1 234 567.5", 1234567.5], [" 0.15 ", 0.15], ["-3", -3], ["", null], ["0,15", "0,15"], ["12,34", "12,34"], ["many", "many"], ["1e999", "1e999"]])("%j is read as %j", (text, number) => {
  expect(readNumber(text)).toBe(number);
});

test("a number has its thousands and its unit while it is read, and neither while it is typed", async () => {
  const onchange = vi.fn();
  render(NumberInput, { props: { value: 64000, unit: "tokens", onchange } });
  const input = screen.getByRole<HTMLInputElement>("spinbutton");
  expect(input.value).toBe("64,000");
  expect(document.getElementById(input.getAttribute("aria-describedby")!)!.textContent).toBe("tokens");
  await fireEvent.focus(input);
  expect(input.value).toBe("64000");
  await fireEvent.input(input, { target: { value: "65000" } });
  expect(onchange).not.toHaveBeenCalled(); // until the typing ends
  await fireEvent.change(input);
  expect(onchange).toHaveBeenCalledExactlyOnceWith(65000);
  await fireEvent.blur(input);
  expect(input.value).toBe("64,000"); // whoever owns the number has not taken it
  await fireEvent.change(input);
  expect(onchange).toHaveBeenCalledOnce(); // nothing was changed
});

test("a number outside of its limits or no number at all keeps a form from being sent", async () => {
  render(NumberInput, { props: { value: 50, minimum: 0, maximum: 100, isLive: true, onchange: () => undefined } });
  const input = screen.getByRole<HTMLInputElement>("spinbutton");
  expect(input.validationMessage).toBe("");
  for (const text of ["101", "-1", "half"]) {
    await fireEvent.input(input, { target: { value: text } });
    expect(input.validationMessage).toBe("A number from 0 to 100 belongs here.");
  }
  await fireEvent.change(input);
  await fireEvent.blur(input);
  expect(input.value).toBe("half"); // what was typed stays, to be corrected
  await fireEvent.input(input, { target: { value: "99" } });
  expect(input.validationMessage).toBe("");
});

test("arrow keys move a number by its step, within its limits", async () => {
  const onchange = vi.fn();
  render(NumberInput, { props: { value: 0.95, minimum: 0, maximum: 1, step: 0.05, onchange } });
  const input = screen.getByRole("spinbutton");
  await fireEvent.keyDown(input, { key: "ArrowUp" });
  await fireEvent.keyDown(input, { key: "ArrowUp" });
  await fireEvent.keyDown(input, { key: "ArrowDown" });
  expect(onchange.mock.calls).toEqual([[1], [1], [0.95]]);
});

test("settings say what they count", () => {
  const units = ["limits.inputTokens", "budget.rules.minimum", "History.RecapMaxChars", "History.Budget.MaxLatencyMs", "limits.sourceSeconds", "server.uploadMegabytesPerHour", "History.Budget.MonthlyBudgetUSD", "codex.relationDepth"].map((name) => nameUnit(name, 1));
  expect(units).toEqual(["tokens", "tokens", "characters", "ms", "seconds", "MB", "US dollars", ""]);
  expect(nameUnit("budget.rules.share", 0.15)).toBe("= 15%");
  language.set("zh");
  expect(nameUnit("limits.inputTokens", 1)).toBe("个词元");
  language.set("en");
});

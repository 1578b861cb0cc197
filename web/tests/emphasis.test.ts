/** Emphasis in conversations: shown as emphasis, kept as it was typed, and never more than text. */
import { fireEvent, render, screen } from "@testing-library/svelte";
import { createRawSnippet } from "svelte";
import { expect, test } from "vitest";
import { splitEmphasis } from "../src/lib/emphasis";
import { EmphasisText } from "../src/lib/ui";
import Lines from "../src/views/history/Lines.svelte";

const show = (text: string) => splitEmphasis(text).map((one) => (one.kind ? `<${one.kind}>${one.text}` : one.text));

test.each([
  ["*She smiles.* “Stay.”", ["<em>She smiles.", " “Stay.”"]],
  ["It is **hers**, not *yours*.", ["It is ", "<strong>hers", ", not ", "<em>yours", "."]],
  ["***Now***!", ["<strong>Now", "!"]],
  ["*她笑了。*“留下。”", ["<em>她笑了。", "“留下。”"]],
  ["她*轻轻*点头", ["她", "<em>轻轻", "点头"]],
])("%s has emphasis", (text, parts) => {
  expect(show(text)).toEqual(parts);
});

test.each(["2 * 3 * 4", "a*b*c", "* one\n* two", "*never closed", "*over\nlines*", "**", "***", "* *", "\\*kept*", "3*4*5", "f*ck and sh*t"])("%j has none", (text) => {
  expect(show(text)).toEqual([text]);
});

test("marks of HTML within emphasis stay text", () => {
  const { container } = render(EmphasisText, { props: { text: "*<img src=x onerror=alert(1)>* <b>no</b>" } });
  expect(container.querySelector("img, b")).toBeNull();
  expect(container.querySelector("em")!.textContent).toBe("<img src=x onerror=alert(1)>");
  expect(container.textContent).toBe("<img src=x onerror=alert(1)> <b>no</b>");
});

test("whoever edits a line of the history gets its asterisks", async () => {
  const item = { id: "a", text: "*She smiles.* Stay.", version: 1 };
  const head = createRawSnippet(() => ({ render: () => "<span></span>" }));
  const { container } = render(Lines, { props: { items: [item], label: "Lines", head, onedit: () => Promise.resolve(), ondelete: () => Promise.resolve() } });
  expect(container.querySelector("em")!.textContent).toBe("She smiles.");
  await fireEvent.click(screen.getByRole("button", { name: "Edit" }));
  expect(screen.getByRole<HTMLTextAreaElement>("textbox").value).toBe(item.text);
});

/** Values of settings, as they are typed and shown. */
import { expect, test } from "vitest";
import { readValue, showValue } from "../src/views/settings/values";

test("a typed value is read by the kind of its setting", () => {
  expect(readValue({ kind: "int" }, "5")).toBe(5);
  expect(readValue({ kind: "float" }, "0.5")).toBe(0.5);
  expect(readValue({ kind: "int" }, "many")).toBe("many"); // the server says what is wrong with it
  expect(readValue({ kind: "text" }, "5")).toBe("5");
  expect(readValue({ kind: "bool" }, false)).toBe(false);
  expect(readValue({ kind: "table" }, '{"a": 1}')).toEqual({ a: 1 });
  expect(() => readValue({ kind: "table" }, "{")).toThrow(SyntaxError);
});

test("a value that is not there is shown as nothing", () => {
  expect([null, 0, false, { a: 1 }].map(showValue)).toEqual(["", "0", "false", '{"a":1}']);
});

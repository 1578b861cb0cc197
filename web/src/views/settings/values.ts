/** Values of settings, as they are typed and shown. */
import type { Schemas } from "../../lib/api";

/** Return a value as it stands in its field. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Read what was typed, by the kind of the setting; the server judges whether it will do. */
export function readValue(setting: Pick<Schemas["SettingReport"], "kind">, text: string | boolean): unknown {
  if (typeof text === "boolean" || setting.kind === "text" || setting.kind === "choice") return text;
  if (setting.kind === "table") return JSON.parse(text);
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : number;
}

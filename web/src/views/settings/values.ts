/** Values of settings, as they are typed and shown. */
import type { Schemas } from "../../lib/api";
import { formatNumber, t, type Text } from "../../lib/i18n/index.svelte";
import { texts } from "./texts";

/** Return a value as it stands in its field. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return a value as people say it: yes and no, numbers with their thousands, and words for what can be chosen. */
export function nameValue(value: unknown): string {
  if (typeof value === "boolean") return t(value ? texts.yes : texts.no);
  if (typeof value === "number") return formatNumber(value, { maximumFractionDigits: 6 });
  const known = typeof value === "string" ? (texts as Record<string, Text>)[`value_${value}`] : undefined;
  return known ? t(known) : showValue(value);
}

/** Endings of the names of settings, and what their numbers count. */
const UNITS: [RegExp, Text][] = [
  [/tokens$|\.minimum$|^budget\..*\.maximum$/i, texts.unit_tokens],
  [/chars$/i, texts.unit_characters],
  [/messages$|historyPageSize$/i, texts.unit_messages],
  [/rounds$/i, texts.unit_rounds],
  [/recaps$|maxEntries$/i, texts.unit_recaps],
  [/ms$/i, texts.unit_milliseconds],
  [/seconds(perHour)?$/i, texts.unit_seconds],
  [/megabytes(perHour)?$/i, texts.unit_megabytes],
  [/requestsPerSecond$/i, texts.unit_requests],
  [/usd$/i, texts.unit_dollars],
];

/** Return what the number of a setting counts; of a share, how many per cent it is. Nothing where its sentence says all. */
export function nameUnit(name: string, value: unknown): string {
  if (name.endsWith(".share")) return typeof value === "number" ? t(texts.unit_share, { n: formatNumber(value, { style: "percent", maximumFractionDigits: 1 }) }) : "";
  const found = UNITS.find(([ending]) => ending.test(name));
  return found ? t(found[1]) : "";
}

const BRANDS: Record<string, string> = { openai: "OpenAI", anthropic: "Anthropic", deepseek: "DeepSeek", openrouter: "OpenRouter" };
const SERVERS: Record<string, string> = { ollama: "Ollama", "llama.cpp": "llama.cpp", vllm: "vLLM" }; // programs of this machine

/** Return what a provider is called: the names that their makers give them, and words for those of Fabula. */
export function nameProvider(name: string): string {
  if (BRANDS[name]) return BRANDS[name];
  if (SERVERS[name]) return t(texts.onMachine, { name: SERVERS[name] });
  const known = (texts as Record<string, Text>)[`provider_${name}`];
  return known ? t(known) : name;
}

/** Read what was typed, by the kind of the setting; the server judges whether it will do. */
export function readValue(setting: Pick<Schemas["SettingReport"], "kind">, text: string | boolean): unknown {
  if (typeof text === "boolean" || setting.kind === "text" || setting.kind === "choice") return text;
  if (setting.kind === "table") return JSON.parse(text);
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : number;
}

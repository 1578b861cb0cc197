/** What the view of presets works out by itself: where a message stands, as people choose it, and what is sent. */
import type { Schemas } from "../../lib/api";
import { t, type Text } from "../../lib/i18n/index.svelte";
import { texts } from "./texts";

export type Node = Schemas["Node"];
export type Row = Schemas["LayoutRow"];
export type How = "listed" | "anchor" | "depth";
export type Position = "before" | "after";

/** A message or a place of a preset, in the form in which it is edited. */
export interface EditedNode {
  /** Names it on the page alone. */
  key: number;
  type: Node["type"];
  id: string;
  role: string;
  content: string;
  enabled: boolean;
  how: How;
  depth: number;
  anchor: string;
  position: Position;
  order: number;
  /** Keywords, separated by commas. */
  keywords: string;
  logic: "any" | "all" | "none";
  probability: number;
  /** What else the condition says, as it came. */
  otherConditions: Record<string, unknown>;
}

const PARTS: Record<string, Text> = {
  "author-note": texts.authorNote, author_note: texts.authorNote, world_info: texts.worldInfo, "world-info": texts.worldInfo,
  identity: texts.identity, rules: texts.rules, settings: texts.settings, retrieved: texts.retrieved, immediate: texts.immediate,
  chat_history: texts.chat_history, user_profile: texts.user_profile, character: texts.character,
};

/** Return what a part of a prompt is called: words for those that Fabula or other programs know, else its own name. */
export function namePart(name: string): string {
  return PARTS[name] ? t(PARTS[name]) : name;
}

const DEFAULT_ORDER = 100;
let lastKey = 0;

export function makeNode(given: Partial<EditedNode> = {}): EditedNode {
  return {
    key: ++lastKey, type: "message", id: "", role: "", content: "", enabled: true, how: "listed", depth: 1, anchor: "rules", position: "after",
    order: DEFAULT_ORDER, keywords: "", logic: "any", probability: 100, otherConditions: {}, ...given,
  };
}

/** Read a node of the server for editing. */
export function readNode(node: Node): EditedNode {
  const place = node.injectionStrategy;
  const { keywords = [], logic = "any", probability = 100, ...otherConditions } = (node.condition ?? {}) as Record<string, unknown> & {
    keywords?: readonly string[];
    logic?: EditedNode["logic"];
    probability?: number;
  };
  const hasDepth = place?.depth !== null && place?.depth !== undefined;
  return makeNode({
    type: node.type ?? "message",
    id: node.id ?? "",
    role: node.role ?? "",
    content: node.content ?? "",
    enabled: node.enabled ?? true,
    how: hasDepth ? "depth" : place?.anchorTarget ? "anchor" : "listed",
    depth: place?.depth ?? 1,
    anchor: place?.anchorTarget ?? "rules",
    position: (place?.anchorPosition ?? "after") as Position,
    order: place?.order ?? DEFAULT_ORDER,
    keywords: keywords.join(", "),
    logic,
    probability,
    otherConditions: dropDefaults(otherConditions),
  });
}

/** Leave out what a condition says without requiring anything. */
function dropDefaults(condition: Record<string, unknown>): Record<string, unknown> {
  const isNothing = (name: string, value: unknown) =>
    value === null || value === "" || value === false || value === 0 || (Array.isArray(value) && !value.length) || (name === "groupWeight" && value === 100);
  return Object.fromEntries(Object.entries(condition).filter(([name, value]) => !isNothing(name, value)));
}

/** Write a node for the server: only what it says. */
export function writeNode(node: EditedNode): Record<string, unknown> {
  const written: Record<string, unknown> = { type: node.type };
  if (node.id.trim()) written.id = node.id.trim();
  if (node.role) written.role = node.role;
  if (node.content) written.content = node.content;
  if (!node.enabled) written.enabled = false;
  if (node.type !== "message") return written;
  const order = Number(node.order) || 0;
  if (node.how === "depth") written.injectionStrategy = { depth: Math.max(0, Math.round(Number(node.depth) || 0)), order };
  else if (node.how === "anchor") written.injectionStrategy = { anchorTarget: node.anchor, anchorPosition: node.position, order };
  const keywords = splitKeywords(node.keywords);
  const condition = {
    ...node.otherConditions,
    ...(keywords.length ? { keywords, logic: node.logic } : {}),
    ...(Number(node.probability) < 100 ? { probability: Number(node.probability) } : {}),
  };
  if (Object.keys(condition).length) written.condition = condition;
  return written;
}

export function splitKeywords(text: string): string[] {
  return [...new Set(text.split(/[,，、\n]/).map((one) => one.trim()).filter(Boolean))];
}

/** Return the list with one node moved by some places. */
export function moveNode<T>(list: readonly T[], from: number, by: number): T[] {
  const to = Math.max(0, Math.min(list.length - 1, from + by));
  const moved = [...list];
  moved.splice(to, 0, ...moved.splice(from, 1));
  return moved;
}

/** Return what the picture calls a node: its id, else its number in the list. */
export function nameInPicture(nodes: readonly EditedNode[], index: number): string[] {
  const id = nodes[index]?.id.trim();
  return id ? [id] : [String(index + 1), `#${index + 1}`];
}

/** The anchors that a message can name: those that the server knows, and the places that stand in the list now. */
export function listAnchors(known: readonly string[], nodes: readonly EditedNode[]): string[] {
  const own = nodes.filter((one) => one.type === "placeholder" && one.id.trim()).map((one) => one.id.trim());
  return [...new Set([...known, ...own])];
}

/**
 * The views of a project, in the order of the header. To add one: a folder beside this file with its component and its
 * `texts.ts`, and one entry here. A view is loaded when it is first opened.
 */
import type { Component } from "svelte";
import type { Text } from "../lib/i18n/index.svelte";

export interface View {
  /** Its part of the address: `#/PROJECT/NAME`. */
  name: string;
  label: Text;
  load: () => Promise<{ default: Component }>;
  /** Whether it stands behind “More” in the header. */
  isMinor?: boolean;
}

export const views: View[] = [
  { name: "write", label: { en: "Write", zh: "写作" }, load: () => import("./desk/Desk.svelte") },
];

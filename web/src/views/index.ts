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
  { name: "codex", label: { en: "Codex", zh: "设定集" }, load: () => import("./codex/Codex.svelte") },
  { name: "timeline", label: { en: "Timeline", zh: "时间线" }, load: () => import("./timeline/Timeline.svelte") },
  { name: "talk", label: { en: "Talk", zh: "对话" }, load: () => import("./talk/Talk.svelte") },
  { name: "constraints", label: { en: "Constraints", zh: "约束" }, load: () => import("./constraints/Constraints.svelte") },
  { name: "memory", label: { en: "Memory", zh: "记忆" }, load: () => import("./memory/Memory.svelte") },
  { name: "presets", label: { en: "Presets", zh: "预设" }, load: () => import("./presets/Presets.svelte"), isMinor: true },
  { name: "lorebooks", label: { en: "Lorebooks", zh: "世界书" }, load: () => import("./lorebooks/Lorebooks.svelte"), isMinor: true },
  { name: "history", label: { en: "History manager", zh: "历史管理" }, load: () => import("./history/History.svelte"), isMinor: true },
  { name: "runs", label: { en: "Runs and jobs", zh: "任务与记录" }, load: () => import("./runs/Runs.svelte"), isMinor: true },
  { name: "files", label: { en: "Files", zh: "文件" }, load: () => import("./files/Files.svelte"), isMinor: true },
  { name: "people", label: { en: "People and keys", zh: "成员与密钥" }, load: () => import("./people/People.svelte"), isMinor: true },
  { name: "settings", label: { en: "Settings", zh: "设置" }, load: () => import("./settings/Settings.svelte"), isMinor: true },
];

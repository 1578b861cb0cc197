/**
 * The views of a project, in the order of the header. To add one: a folder beside this file with its component and its
 * `texts.ts`, and one entry here. A view is loaded when it is first opened.
 */
import type { Component } from "svelte";
import type { Text } from "../lib/i18n/index.svelte";
import { texts } from "../lib/texts";

/** Something that is begun in a view: where it stands behind the view in the address. */
export interface Verb {
  id: string;
  label: Text;
  words?: Text;
  rest?: readonly string[];
  query?: Record<string, string>;
}

export interface View {
  /** Its part of the address: `#/PROJECT/NAME`. */
  name: string;
  label: Text;
  /** Other words by which the palette finds it. */
  words?: Text;
  load: () => Promise<{ default: Component }>;
  /** What can be begun there, for the palette: it knows every verb, also of views that are not open. */
  verbs?: readonly Verb[];
  /** Whether it stands behind “More” in the header. */
  isMinor?: boolean;
}

export const views: View[] = [
  { name: "write", label: { en: "Write", zh: "写作" }, load: () => import("./desk/Desk.svelte") },
  { name: "codex", label: { en: "Codex", zh: "设定集" }, words: { en: "characters people places entries world names", zh: "人物 地点 条目 世界 名字" }, load: () => import("./codex/Codex.svelte"), verbs: [
    { id: "codex.new", label: { en: "New entry of the codex", zh: "新建设定条目" }, words: { en: "add character person place item", zh: "新增 人物 地点 物品" }, rest: ["new"] },
    { id: "codex.proposals", label: { en: "Look at the names that the codex lacks", zh: "查看设定集建议" }, words: { en: "proposals accept", zh: "建议 采纳" }, rest: ["proposals"] },
  ] },
  { name: "timeline", label: { en: "Timeline", zh: "时间线" }, words: { en: "when order of events secrets", zh: "时间 顺序 秘密" }, load: () => import("./timeline/Timeline.svelte") },
  { name: "talk", label: { en: "Talk", zh: "对话" }, words: { en: "chat conversation interview role play", zh: "聊天 采访 角色扮演" }, load: () => import("./talk/Talk.svelte"), verbs: [
    { id: "talk.new", label: { en: "New conversation", zh: "新对话" }, words: { en: "talk chat start interview", zh: "聊天 采访" }, query: { new: "1" } },
  ] },
  { name: "constraints", label: { en: "Constraints", zh: "约束" }, words: { en: "rules check the book forbidden words", zh: "规则 检查 禁用词" }, load: () => import("./constraints/Constraints.svelte"), verbs: [
    { id: "constraints.new", label: { en: "New constraint", zh: "新建约束" }, words: { en: "add rule forbid", zh: "新增 规则 禁止" }, rest: ["new"] },
  ] },
  { name: "memory", label: { en: "Memory", zh: "记忆" }, words: { en: "remember profile style preferences", zh: "记住 偏好 风格 资料" }, load: () => import("./memory/Memory.svelte") },
  { name: "search", label: { en: "Search the story", zh: "搜索故事" }, words: { en: "find scene passage remember where", zh: "查找 场景 段落 记得 哪里" }, load: () => import("./search/Search.svelte"), isMinor: true },
  { name: "presets", label: { en: "Presets", zh: "预设" }, words: { en: "prompt messages author note", zh: "提示词 作者注" }, load: () => import("./presets/Presets.svelte"), isMinor: true },
  { name: "lorebooks", label: { en: "Lorebooks", zh: "世界书" }, words: { en: "world info", zh: "世界设定" }, load: () => import("./lorebooks/Lorebooks.svelte"), isMinor: true },
  { name: "outline", label: { en: "Outline", zh: "大纲" }, words: { en: "plan beats synopsis synopses summary chapters structure", zh: "计划 节拍 梗概 概要 章节 结构" }, load: () => import("./outline/Outline.svelte"), isMinor: true },
  { name: "history", label: { en: "History manager", zh: "历史管理" }, words: { en: "recap biography fixed prompts messages", zh: "回顾 传记 固定提示" }, load: () => import("./history/History.svelte"), isMinor: true },
  { name: "runs", label: { en: "Runs and jobs", zh: "任务与记录" }, words: { en: "cost money spent answers generations progress synopses", zh: "费用 花费 回答 进度 梗概" }, load: () => import("./runs/Runs.svelte"), isMinor: true },
  { name: "files", label: { en: "Files", zh: "文件" }, words: { en: "export import download save backup docx epub rename series", zh: "导出 导入 下载 存档 备份 改名 系列" }, load: () => import("./files/Files.svelte"), isMinor: true, verbs: [
    { id: "files.export", label: { en: "Export the manuscript or the whole book", zh: "导出书稿或整部作品" }, words: { en: "take out download save backup docx epub markdown", zh: "下载 存档 备份" }, rest: ["files"] },
    { id: "files.import", label: { en: "Import a file into the book", zh: "把文件导入作品" }, words: { en: "bring in upload load", zh: "带来 上传 载入" }, rest: ["files"] },
    { id: "files.rename", label: { en: "Rename somebody or something across the book", zh: "全书改名" }, words: { en: "change name character place replace", zh: "更名 人物 地点" }, rest: ["rename"] },
  ] },
  { name: "people", label: { en: "People and keys", zh: "成员与密钥" }, words: { en: "accounts passwords share invite token", zh: "账户 密码 分享 邀请" }, load: () => import("./people/People.svelte"), isMinor: true },
  { name: "settings", label: { en: "Settings", zh: "设置" }, words: { en: "model provider key language options", zh: "模型 服务商 密钥 语言 选项" }, load: () => import("./settings/Settings.svelte"), isMinor: true, verbs: [
    { id: "book.change", label: texts.changeBook, words: { en: "rename retitle name", zh: "改名 书名 语言" } },
  ] },
];

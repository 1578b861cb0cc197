/** What the sources of a prompt are called. */
import { defineTexts } from "../../i18n/index.svelte";

export const texts = defineTexts({
  codex: { en: "Codex", zh: "设定集" },
  constraint: { en: "Rules", zh: "规则" },
  memory: { en: "Memories", zh: "记忆" },
  passages: { en: "Passages of the book", zh: "书中段落" },
  history: { en: "Messages", zh: "消息" },
  talk: { en: "Messages of other conversations", zh: "其他对话的消息" },
  project: { en: "About the book", zh: "作品说明" },
  around: { en: "Text around the cursor", zh: "光标附近的正文" },
  lorebook: { en: "Lorebooks", zh: "世界书" },
  fixed: { en: "Fixed prompts", zh: "固定提示" },
  biography: { en: "Biographies", zh: "传记" },
  attachment: { en: "Files", zh: "附件" },
  persona: { en: "Who takes part", zh: "参与者" },
  turn: { en: "Who speaks next", zh: "轮到谁说话" },
  input: { en: "What you asked for", zh: "您的要求" },
  preset: { en: "Preset", zh: "预设" },
  profile: { en: "About you", zh: "关于您" },
  style: { en: "Style", zh: "文风" },
  outline: { en: "Beats", zh: "节拍" },
  working: { en: "Earlier work together", zh: "之前的合作" },
  other: { en: "Other texts", zh: "其他内容" },
  synopses: { en: "Synopses", zh: "梗概" },
  recaps: { en: "Recaps", zh: "回顾" },
});

import { defineTexts } from "../../lib/i18n/index.svelte";

export const texts = defineTexts({
  title: { en: "Search the story", zh: "搜索故事" },
  words: { en: "What do you remember of it?", zh: "您还记得什么？" },
  placeholder: { en: "A few words, a name, a question", zh: "几个词、一个名字、一个问题" },
  search: { en: "Search", zh: "搜索" },
  searching: { en: "Searching. A long book takes some seconds the first time.", zh: "正在搜索。长篇第一次需要几秒钟。" },
  scope: { en: "How far", zh: "范围" },
  everything: { en: "everything, also what comes later and what only some know", zh: "全部，包括后文和只有部分人知道的事" },
  upTo: { en: "up to the end of {chapter}, as a reader knows it", zh: "到{chapter}末尾为止读者所知" },
  meaning: { en: "Also by meaning", zh: "也按意思找" },
  meaningHint: { en: "Needs vectors, which are made on this machine or by the server in your settings.", zh: "需要向量：由本机或设置里的服务生成。" },
  byWords: { en: { one: "{n} passage, by words", other: "{n} passages, by words" }, zh: "{n} 段，按词语" },
  byBoth: { en: { one: "{n} passage, by words and meaning", other: "{n} passages, by words and meaning" }, zh: "{n} 段，按词语和意思" },
  noVectors: { en: "The search by meaning is not ready yet, so only words were compared. Search again in a few minutes.", zh: "按意思搜索尚未就绪，这次只比较了词语。请稍后再搜。" },
  nothing: { en: "Nothing was found", zh: "没有找到" },
  nothingText: { en: "Try other words that the text may have used, or search further.", zh: "换一些原文可能用过的词，或扩大范围。" },
  emptyTitle: { en: "Find a scene that you half remember", zh: "找回记不清的场景" },
  emptyText: { en: "Say what happened, who was there or what was said. For the exact words, use “Find and replace in the book” at the desk.", zh: "写下发生了什么、谁在场或说了什么。要找原词原句，请用写作页的“在全书中查找替换”。" },
  more: { en: "Show more", zh: "显示更多" },
});

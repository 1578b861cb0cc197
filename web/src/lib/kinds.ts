/** The kinds of entries, as people call them; a kind of another program keeps its own name. */
import { defineTexts, t, type Text } from "./i18n/index.svelte";

export const kinds = defineTexts({
  character: { en: "character", zh: "人物" },
  location: { en: "place", zh: "地点" },
  event: { en: "event", zh: "事件" },
  item: { en: "thing", zh: "物品" },
  faction: { en: "group", zh: "团体" },
  lore: { en: "lore", zh: "世界观" },
  other: { en: "other", zh: "其他" },
});

export function nameKind(type: string): string {
  const known = (kinds as Record<string, Text>)[type];
  return known ? t(known) : type;
}

/** The kinds of constraints, as people call them. */
import { defineTexts, t, type Text } from "../../lib/i18n/index.svelte";

export const ruleKinds = defineTexts({
  world: { en: "world", zh: "世界" },
  character: { en: "character", zh: "人物" },
  plot: { en: "plot", zh: "情节" },
  style: { en: "style", zh: "文风" },
  narrative: { en: "telling", zh: "叙述" },
});

export function nameRuleKind(kind: string): string {
  const known = (ruleKinds as Record<string, Text>)[kind];
  return known ? t(known) : kind;
}

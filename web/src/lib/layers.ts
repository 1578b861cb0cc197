/** The four layers of a prompt, in their order; each has a colour of its own wherever it appears. */
export const LAYERS = ["rules", "settings", "retrieved", "immediate"] as const;
export type LayerName = (typeof LAYERS)[number];

/** What else a prompt is made of: who the model is, messages of the preset, files, and what frames its messages. */
export type PartName = LayerName | "identity" | "preset" | "attachments" | "framing";

export function isLayer(name: string): name is LayerName {
  return (LAYERS as readonly string[]).includes(name);
}

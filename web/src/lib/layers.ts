/** The four layers of a prompt, in their order; each has a colour of its own wherever it appears. */
export const LAYERS = ["rules", "settings", "retrieved", "immediate"] as const;
export type LayerName = (typeof LAYERS)[number];

export function isLayer(name: string): name is LayerName {
  return (LAYERS as readonly string[]).includes(name);
}

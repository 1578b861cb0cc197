/** Finds cards of the inspector by words of their name, text, reason or source. */
import type { Schemas } from "../api";
import { describeSource } from "./sources";

type Fragment = Schemas["FragmentVerdict"];

export function findFragments(fragments: readonly Fragment[], words: string): readonly Fragment[] {
  const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return fragments;
  return fragments.filter((one) => {
    const text = `${one.title} ${one.text} ${one.why} ${describeSource(one.source)}`.toLocaleLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

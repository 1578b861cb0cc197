/** What a synopsis is, in words: who wrote it, and whether it still says what its chapter says. */
import type { Schemas } from "../../lib/api";
import { t } from "../../lib/i18n/index.svelte";
import { texts } from "./texts";

type Synopsis = Schemas["SynopsisInfo"];

/** Say who wrote a synopsis, and that the chapter was changed since where it was. */
export function describeSynopsis(one: Pick<Synopsis, "state" | "origin" | "text">): string {
  if (one.state === "missing") return one.text ? t(texts.derived) : "";
  const written = t(one.origin === "hand" ? texts.byHand : one.origin === "model" ? texts.byModel : texts.byExtract);
  return one.state === "stale" ? t(texts.both, { one: written, other: t(texts.stale) }) : written;
}

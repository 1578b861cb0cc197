/** What a conversation is called in lists: by its title, else by who takes part and its first words. */
import type { Schemas } from "./api";
import { t } from "./i18n/index.svelte";
import { texts } from "./texts";

type Named = Pick<Schemas["ConversationInfo"], "title" | "opening" | "presence">;

/** What a player is called who was given no name, now and in projects of an older version. */
const UNNAMED = new Set(["Writer", "作者", "Player", "玩家"]);

const isPlayer = (id: string) => id.startsWith("player:");

/** Return the name of whoever speaks; a player without a name is the person at the page. */
export const nameSpeaker = (id: string, name: string): string => (isPlayer(id) && UNNAMED.has(name) ? t(texts.yourself) : name);

/** A name within a sentence: the person at the page is “you” there. */
export const nameWithin = (name: string): string => (name === t(texts.yourself) ? t(texts.you) : name);

/** Return the names of those who take part, each once; the person at the page is meant where nobody else does. */
export function namePresent(one: Pick<Named, "presence">): string {
  const others = one.presence.filter((person) => !isPlayer(person.participantId));
  const still = others.filter((person) => person.until === null);
  const names = (still.length ? still : others).map((person) => person.name);
  return [...new Set(names)].join(t(texts.comma)) || (one.presence.length ? t(texts.yourself) : "");
}

/** Whether a mode told it, as the roles of a game: nobody said it. */
export function isAnnounced(one: Pick<Schemas["MessageInfo"], "kind" | "speaker">): boolean {
  return one.kind === "knowledge" && !one.speaker;
}

/** Whether a mode told it to others in secret: it stays covered until somebody asks for it. */
export function isSecret(one: Pick<Schemas["MessageInfo"], "kind" | "speaker" | "audience">): boolean {
  return isAnnounced(one) && one.audience !== null && !one.audience.some(isPlayer);
}

export function nameConversation(one: Named): string {
  if (one.title) return one.title;
  const names = namePresent(one) || t(texts.withAssistant);
  return one.opening ? t(texts.conversationOf, { names, words: one.opening }) : t(texts.conversationSilent, { names });
}

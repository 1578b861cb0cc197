/** How the card of a participant can begin a conversation. */
import type { Schemas } from "../../lib/api";

/** One way to begin: whose it is, which of theirs, and its words. */
export interface Greeting {
  participant: string;
  name: string;
  index: number;
  text: string;
}

/** List the greetings of those who take part, in the order in which the server records them as alternatives. */
export function listGreetings(people: readonly Schemas["ParticipantInfo"][], isGroup: boolean, reader: string): Greeting[] {
  return people.flatMap((one) => {
    const card = one.card;
    if (!card) return [];
    const texts = [...(isGroup ? card.groupGreetings : []), card.firstMessage, ...card.alternateGreetings].filter((text) => text.trim());
    return [...new Set(texts)].map((text, index) => ({ participant: one.id, name: one.name, index, text: fillNames(text, card.nickname.trim() || one.name, reader) }));
  });
}

/** Put names into the two macros that cards use most; the server expands all of them. */
function fillNames(text: string, character: string, reader: string): string {
  return text.replace(/\{\{char\}\}|<BOT>/gi, () => character).replace(/\{\{user\}\}|<USER>/gi, () => reader).trim();
}

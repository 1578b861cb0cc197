/** What conversations are called where they have no title. */
import { expect, test } from "vitest";
import { nameConversation, nameSpeaker, nameWithin } from "../src/lib/conversations";

const be = (id: string, name: string, until: number | null = null) => ({ participantId: id, name, since: 0, until }) as never;
const present = [be("player:1", "Player"), be("character:m", "Mara Venn"), be("character:g", "Grace Odell"), be("character:w", "Will Tarn", 4)];

test("a conversation goes by its title, else by who takes part and its first words", () => {
  expect(nameConversation({ title: "Pier", opening: "", presence: present })).toBe("Pier");
  expect(nameConversation({ title: "", opening: "Good evening.", presence: present })).toBe("Mara Venn, Grace Odell: “Good evening.”");
  expect(nameConversation({ title: "", opening: "", presence: present })).toBe("Mara Venn, Grace Odell: nothing said yet");
  expect(nameConversation({ title: "", opening: "Note to me.", presence: present.slice(0, 1) })).toBe("You: “Note to me.”");
  expect(nameConversation({ title: "", opening: "What now?", presence: [] })).toBe("The assistant: “What now?”");
});

test("a player without a name is the person at the page, and nobody else is", () => {
  expect(["Writer", "作者", "Player", "玩家", "Ann"].map((name) => nameSpeaker("player:1", name))).toEqual(["You", "You", "You", "You", "Ann"]);
  expect(nameSpeaker("character:w", "Writer")).toBe("Writer");
  expect(["You", "Ann"].map(nameWithin)).toEqual(["you", "Ann"]);
});

/** A conversation as a player has it: messages that the own character heard, and no branches, modes or models. */
import { get } from "../../lib/api";
import { Chat } from "../talk/chat.svelte";

const PAGE = 60;

export class PlayedChat extends Chat {
  override async refresh(): Promise<void> {
    const { id, path } = this;
    if (!id) return;
    const page = await get("/projects/{project}/chats/{conversation}/messages", { path, query: { limit: Math.max(PAGE, this.messages.length) } });
    if (id !== this.id) return; // another one was opened meanwhile
    this.messages = [...page.messages];
    this.before = page.before;
  }

  override async loadEarlier(limit = PAGE): Promise<void> {
    const page = await get("/projects/{project}/chats/{conversation}/messages", { path: this.path, query: { limit, before: this.before! } });
    this.messages = [...page.messages, ...this.messages];
    this.before = page.before;
  }
}

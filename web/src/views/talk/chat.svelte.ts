/** One conversation that is talked in: its messages, its branches, and the replies that are being written. */
import { get, getAll, post, put, type Schemas } from "../../lib/api";
import { EventStream } from "../../lib/events";
import { readProvider, writeProvider } from "../../lib/providers";
import { story, type Entry } from "../../lib/story.svelte";
import { readUnsaved, writeUnsaved } from "../../lib/unsaved.svelte";

export type Message = Schemas["MessageInfo"];
export type Participant = Schemas["ParticipantInfo"];
type ChatEvent =
  | Schemas["StoredMessageEvent"]
  | Schemas["AnnouncementEvent"]
  | Schemas["StartEvent"]
  | Schemas["DeltaEvent"]
  | Schemas["RetryEvent"]
  | Schemas["ReplyEvent"]
  | Schemas["FailureEvent"]
  | Schemas["PromptEvent"]
  | Schemas["EndEvent"];

/** A reply that is being written, or that could not be. */
export interface Writing {
  id: string;
  name: string;
  text: string;
  problem: string;
  /** What is handed over where no model answers, and what a person has typed as the answer so far. */
  prompt: string;
  answer: string;
  /** The reply that the answer stands beside, or that it goes on from. */
  insteadOf?: string;
  goesOnFrom?: string;
}

/** Prompts that wait for an answer from elsewhere, and the message they stand behind. */
interface HandedPrompts {
  after: string;
  prompts: Writing[];
}

const PAGE = 60;
const FAR = 500; // messages that are loaded at once on the way to an early one

/** Return the alternatives of each message, by its id. */
export function groupAlternatives(branches: readonly Message[]): Map<string, Message[]> {
  const byParent = new Map<string, Message[]>();
  for (const one of branches) byParent.set(one.parentId ?? "", [...(byParent.get(one.parentId ?? "") ?? []), one]);
  return new Map([...byParent.values()].flatMap((group) => group.map((one) => [one.id, group] as const)));
}

/** Return the characters of the codex who are not here: by the id of their entry, and by a name that nobody else has. */
export function listAbsent(entries: readonly Entry[], present: readonly Participant[]): Entry[] {
  const people = entries.filter((one) => one.type === "character");
  const ids = new Set(present.map((one) => one.id.slice(one.id.indexOf(":") + 1)));
  const names = new Set(present.map((one) => one.name));
  const isOnly = (name: string) => people.filter((one) => one.name === name).length === 1;
  return people.filter((one) => !ids.has(one.id) && !(names.has(one.name) && isOnly(one.name)));
}

/** Return what is being typed behind an @ at the cursor, or nothing. */
export function findMention(text: string, cursor: number): { start: number; word: string } | null {
  const found = /(^|[\s，。、（(“"])@([^\s@，。、]*)$/u.exec(text.slice(0, cursor));
  return found ? { start: found.index + found[1]!.length, word: found[2]! } : null;
}

const nameHanded = (conversation: string) => `talk.${conversation}.handed`;

export class Chat {
  id = $state("");
  info = $state.raw<Schemas["ChatStateInfo"] | null>(null);
  messages = $state.raw<Message[]>([]);
  before = $state.raw<string | null>(null);
  branches = $state.raw<Message[]>([]);
  writing = $state<Writing[]>([]);
  isBusy = $state(false);
  /** The provider that answers in this conversation in place of the settings. */
  provider = $state("");
  private stream: EventStream | undefined;
  private given: Pick<Writing, "insteadOf" | "goesOnFrom"> = {}; // of the turn that is followed
  readonly alternatives = $derived(groupAlternatives(this.branches));

  protected get path() {
    return { project: story.project, conversation: this.id };
  }

  async load(id: string): Promise<void> {
    this.id = id;
    this.provider = readProvider(id) ?? "";
    this.writing = [];
    this.messages = this.branches = [];
    this.before = null;
    await this.refresh();
    if (id === this.id) this.restoreHanded();
  }

  /** Show nothing any more. */
  close(): void {
    this.id = "";
    this.info = null;
    this.writing = [];
    this.messages = this.branches = [];
    this.before = null;
  }

  async refresh(): Promise<void> {
    const { id, path } = this;
    const [info, page, branches] = await Promise.all([
      get("/projects/{project}/chats/{conversation}", { path }),
      get("/projects/{project}/conversations/{conversation}/messages", { path, query: { limit: Math.max(PAGE, this.messages.length) } }),
      getAll("/projects/{project}/conversations/{conversation}/branches", { path }),
    ]);
    if (id !== this.id) return; // another one was opened meanwhile
    this.info = info;
    this.messages = [...page.messages];
    this.before = page.before;
    this.branches = branches;
  }

  async loadEarlier(limit = PAGE): Promise<void> {
    const page = await get("/projects/{project}/conversations/{conversation}/messages", { path: this.path, query: { limit, before: this.before! } });
    this.messages = [...page.messages, ...this.messages];
    this.before = page.before;
  }

  /** Load messages until one of them is there; returns whether it is. */
  async find(message: string): Promise<boolean> {
    const { id } = this;
    while (this.before && id === this.id && !this.messages.some((one) => one.id === message)) await this.loadEarlier(FAR);
    return this.messages.some((one) => one.id === message);
  }

  send(text: string, audience: string[] | null, documentId: string | null): Promise<void> {
    return this.follow("send", { text, audience, documentId });
  }

  ask(participants: string[], documentId: string | null): Promise<void> {
    return this.follow("ask", { participants, documentId });
  }

  again(message: Message): Promise<void> {
    this.messages = this.messages.filter((one) => one.id !== message.id);
    return this.follow("regenerate", { messageName: message.id }, { insteadOf: message.id });
  }

  more(message: Message): Promise<void> {
    return this.follow("continue", { messageName: message.id }, { goesOnFrom: message.id });
  }

  /** Take what a person brought as the answer to a prompt that was handed over. */
  paste({ id, answer, insteadOf = "", goesOnFrom = "" }: Writing, documentId: string | null): Promise<void> {
    return this.follow("paste", { participant: id, text: answer, insteadOf, goesOnFrom, documentId });
  }

  /** Keep prompts that wait for an answer in this browser, with what was typed; where none waits, forget them. */
  keepHanded(): void {
    const prompts = this.writing.filter((one) => one.prompt);
    const handed: HandedPrompts = { after: this.messages.at(-1)?.id ?? "", prompts };
    writeUnsaved(nameHanded(this.id), prompts.length ? handed : null);
  }

  /** Show prompts again that wait for an answer, unless somebody has spoken since. */
  private restoreHanded(): void {
    const kept = readUnsaved<HandedPrompts>(nameHanded(this.id))?.value;
    if (kept?.after === (this.messages.at(-1)?.id ?? "") && !this.isBusy) this.writing = kept.prompts;
    else if (kept) writeUnsaved(nameHanded(this.id), null);
  }

  async select(message: Message): Promise<void> {
    await post("/projects/{project}/conversations/{conversation}/messages/{message}/select", { path: { ...this.path, message: message.id } });
    await this.refresh();
  }

  async goBack(message: Message): Promise<void> {
    await post("/projects/{project}/conversations/{conversation}/messages/{message}/go-back", { path: { ...this.path, message: message.id } });
    await this.refresh();
  }

  async takeBack(): Promise<void> {
    await post("/projects/{project}/chats/{conversation}/take-back", { path: this.path });
    await this.refresh();
  }

  async setMode(mode: string, roles: Record<string, string> | null): Promise<void> {
    this.info = await put("/projects/{project}/chats/{conversation}/mode", { path: this.path, body: { mode, roles } });
  }

  /** Begin the mode anew: new roles, no scores. What it told some alone is gone, so the messages are read again. */
  async restartMode(): Promise<void> {
    await put("/projects/{project}/chats/{conversation}/mode", { path: this.path, body: { mode: this.info!.mode, restart: true } });
    await this.refresh();
  }

  async stop(): Promise<void> {
    await this.stream?.stop();
  }

  /** Let another provider answer here from now on, in this browser. */
  choose(provider: string): void {
    this.provider = provider;
    writeProvider(this.id, provider || null);
  }

  /** `again` names the reply that is given again or goes on, for an answer from elsewhere. */
  private async follow(verb: string, body: object, again: Pick<Writing, "insteadOf" | "goesOnFrom"> = {}): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.given = again;
    const { id } = this;
    const handed = this.writing.filter((one) => one.prompt);
    this.writing = [];
    const stream = new EventStream(`/projects/{project}/chats/{conversation}/${verb}`, this.path, { ...body, provider: this.provider });
    this.stream = stream;
    try {
      for await (const event of stream.read()) if (id === this.id) this.apply(event.data as ChatEvent);
    } catch (error) {
      if (id === this.id) this.writing = [...handed, ...this.writing]; // nobody has answered them
      throw error;
    } finally {
      this.isBusy = false;
      this.stream = undefined;
      if (id === this.id) this.writing = this.writing.filter((one) => one.problem || one.prompt);
      await this.refresh();
      if (id === this.id) this.keepHanded();
    }
  }

  /** Take an event of a turn; several speakers may write at once. */
  apply(event: ChatEvent): void {
    const of = (id: string) => this.writing.find((one) => one.id === id);
    if (event.event === "message" || event.event === "announcement") this.add(event.message);
    else if (event.event === "start") this.writing = [...this.writing.filter((one) => one.id !== event.participantId), { id: event.participantId, name: event.name, text: "", problem: "", prompt: "", answer: "" }];
    else if (event.event === "delta") {
      const one = of(event.participantId);
      if (one) one.text += event.text;
    } else if (event.event === "retry") {
      const one = of(event.participantId);
      if (one) one.text = "";
    } else if (event.event === "reply") {
      this.writing = this.writing.filter((one) => one.id !== event.participantId);
      this.add(event.message);
    } else if (event.event === "failure") {
      const one = of(event.participantId);
      if (one) Object.assign(one, { problem: event.error.message, text: event.text });
    } else if (event.event === "prompt") {
      const rest = this.writing.filter((one) => one.id !== event.participantId);
      this.writing = [...rest, { id: event.participantId, name: event.name, text: "", problem: "", prompt: event.prompt, answer: "", ...this.given }];
    } else if (event.event === "end" && this.info) this.info = { ...this.info, mode: event.mode, state: event.modeState };
  }

  private add(message: Message): void {
    this.messages = [...this.messages.filter((one) => one.id !== message.id), message];
  }
}

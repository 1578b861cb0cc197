/**
 * The assistant: asks a skill at a place of the text, takes its answers as they stream in, and accepts, rejects or
 * retries them. It is a conversation: the server keeps what was asked and answered with the chapter.
 */
import { get, Offline, post, Problem, type Schemas } from "../../lib/api";
import { context } from "../../lib/context.svelte";
import { EventStream } from "../../lib/events";
import { language } from "../../lib/i18n/index.svelte";
import { DEMO, readProvider, writeProvider } from "../../lib/providers";
import { story } from "../../lib/story.svelte";
import { readFindings, type Finding } from "./findings";
import { splitSentences } from "./sentences";

export type Skill = Schemas["SkillInfo"];

export interface Variant {
  text: string;
  runId: string;
  isDone: boolean;
  note: "" | "judging" | "retried";
  findings: Finding[];
  problem: string;
  /** Whether a person brought it from elsewhere: the server knows it once it is accepted. */
  isPasted?: boolean;
  usage?: Schemas["UsageInfo"];
  cost?: Schemas["CostInfo"];
}

/** One turn of the talk beside the text, for skills whose answer is only read. */
export interface Turn {
  asked: string;
  answer: string;
  runId: string;
}

const HIDDEN_SKILLS = ["judge", "chat"];
const CLIPBOARD = "clipboard"; // hands the prompt over in place of an answer

export class Assistant {
  skills = $state.raw<Skill[]>([]);
  skillId = $state("continue");
  instruction = $state("");
  variantCount = $state(1);
  model = $state.raw<Schemas["ChosenModelInfo"] | null>(null);
  /** The provider that was chosen here in place of the settings. */
  provider = $state("");
  /** What is going on; `handed` is a prompt that waits for an answer from elsewhere. */
  state = $state<"idle" | "writing" | "handed" | "done">("idle");
  variants = $state<Variant[]>([]);
  chosen = $state(0);
  /** How many sentences of the chosen variant were taken already. */
  taken = $state(0);
  /** The text of the writer in place of the answer, while or after it is edited. */
  edited = $state<string | null>(null);
  isEditing = $state(false);
  problem = $state("");
  /** What parts the suggestion from the text before it. */
  lead = $state("");
  talk = $state<Turn[]>([]);
  /** Whether an answer for the open chapter is still being written, which was asked for before. */
  isUnseen = $state(false);
  private project = ""; // whose skills, instruction and talk these are
  /** The skill of the last request: what becomes of its answer does not depend on what is chosen meanwhile. */
  private askedSkillId = $state("");
  /** The instruction of the last request. */
  askedInstruction = "";
  isOffline = false; // what the problem says of the server ends by itself
  private stream: EventStream | undefined;
  private rejected: KeptAnswer | null = null;
  private turn = 0; // goes up with every request, and when one is left

  /** The skill that is chosen for the next request. */
  get skill(): Skill | undefined {
    return this.skills.find((one) => one.id === this.skillId);
  }

  /** The skill of the answer that is being written or waits; where there is none, the chosen one. */
  get askedSkill(): Skill | undefined {
    return this.state === "idle" ? this.skill : this.skills.find((one) => one.id === this.askedSkillId);
  }

  get variant(): Variant | undefined {
    return this.variants[this.chosen];
  }

  get text(): string {
    return this.edited ?? this.variant?.text ?? "";
  }

  get sentences(): string[] {
    return splitSentences(this.text, story.lang);
  }

  /** Whether the answer goes into the text. */
  get isProse(): boolean {
    return isProse(this.askedSkill);
  }

  get isDemo(): boolean {
    return this.provider === DEMO || (!this.provider && this.model?.provider === DEMO);
  }

  /** Whether no model answers: the prompt is handed over, and a person brings the answer. */
  get isHandOver(): boolean {
    return (this.provider || this.model?.provider) === CLIPBOARD;
  }

  /** The prompt that waits for an answer from elsewhere. */
  get prompt(): string {
    return this.state === "handed" ? (this.variant?.text ?? "") : "";
  }

  /** The sources that a suggestion has in the next prompt while nobody has decided it. */
  get sources(): string[] {
    const isPending = this.state === "done" && this.isProse;
    return isPending ? this.variants.map((one) => one.runId).filter(Boolean).map((run) => `history:${run}`) : [];
  }

  titleOf(skill: Skill): string {
    const titles = skill.title as Record<string, string>;
    return titles[language.current] ?? titles.en ?? skill.id;
  }

  async load(): Promise<void> {
    const path = { project: story.id };
    if (this.project !== story.id) {
      this.project = story.id;
      this.leave();
      this.instruction = this.askedInstruction = "";
      this.talk = [];
      this.provider = readProvider(`desk.${story.id}`) ?? "";
    }
    const [list, model] = await Promise.all([get("/projects/{project}/skills", { path }), get("/projects/{project}/model", { path })]);
    this.skills = list.skills.filter((one) => one.recipe === "novel" && !HIDDEN_SKILLS.includes(one.id));
    this.model = model;
    if (model.kind === "none" && readProvider(`desk.${story.id}`) === null) this.provider = DEMO;
  }

  /** Let another provider write in this book from now on, in this browser. */
  choose(provider: string): void {
    this.provider = provider;
    this.problem = ""; // it was of the one before
    writeProvider(`desk.${story.id}`, provider);
  }

  /** Skills that can work on what is there: a selection, or a place. */
  listSkills(hasSelection: boolean): Skill[] {
    return this.skills.filter((one) => (hasSelection ? true : one.worksOn.some((where) => where !== "selection")));
  }

  /** Ask; the place is where the writer is. `again` is a run that is written anew. Of an answer that is only read, one is asked for. */
  async ask(place: { documentId: string; cursorPosition: number; selection?: [number, number] }, { again = "", skillId = this.skillId, instruction = this.instruction } = {}): Promise<void> {
    if (this.state === "writing") return;
    this.problem = "";
    this.isOffline = false;
    const { isHandOver } = this;
    const count = isHandOver || !isProse(this.skills.find((one) => one.id === skillId)) ? 1 : this.variantCount;
    this.variants = Array.from({ length: count }, makeVariant);
    this.chosen = this.taken = 0;
    this.edited = null;
    this.isEditing = false;
    this.state = "writing";
    this.isUnseen = false;
    const turn = ++this.turn;
    this.askedSkillId = skillId;
    this.askedInstruction = instruction;
    const request: Partial<Schemas["WriteRequest"]> = {
      ...context.request,
      ...place,
      unsavedText: undefined,
      skillId,
      additionalInput: instruction,
      variants: count,
      again,
      provider: this.provider || undefined,
    };
    this.stream = new EventStream("/projects/{project}/write", { project: story.id }, request);
    const sent = context.otherPlace ? null : context.settle(); // another place is only looked at
    try {
      for await (const event of this.stream.read()) if (turn === this.turn) this.take(event.data as WritingEvent);
      void sent?.then((prompt) => (context.sent = prompt));
    } catch (error) {
      if (turn === this.turn) this.problem = error instanceof Problem ? error.message : String(error);
      this.isOffline = error instanceof Offline;
    }
    if (turn !== this.turn) return; // it was left; whoever comes back takes the answer up again
    this.stream = undefined;
    for (const one of this.variants) one.isDone = true;
    if (!this.variants.some((one) => one.text)) {
      this.problem ||= this.variants.find((one) => one.problem)?.problem ?? "";
      this.clear();
      return;
    }
    if (isHandOver && !this.problem) this.state = "handed";
    else this.finish();
  }

  /** Show a prompt again that was handed over before and waits for its answer. */
  hand({ prompt, runId, skillId, instruction }: HandedPrompt): void {
    this.turn++;
    this.askedSkillId = skillId;
    this.askedInstruction = instruction;
    this.variants = [{ ...makeVariant(), text: prompt, runId, isDone: true }];
    this.chosen = this.taken = 0;
    this.edited = null;
    this.state = "handed";
  }

  /** The prompt that waits for an answer, with what it was made for. */
  get handed(): HandedPrompt | null {
    return this.state === "handed" ? { prompt: this.prompt, runId: this.variant?.runId ?? "", skillId: this.askedSkillId, instruction: this.askedInstruction } : null;
  }

  /** Take what a person brought from elsewhere as the answer to the prompt that was handed over. */
  paste(text: string): void {
    const { variant } = this;
    if (this.state !== "handed" || !variant || !text.trim()) return;
    this.variants = [{ ...makeVariant(), text: text.trim(), runId: variant.runId, isDone: true, isPasted: true }];
    this.finish();
  }

  /** The answer is there: it stands in the text until it is decided, or beside it. */
  private finish(): void {
    this.state = "done";
    if (this.isProse) return;
    this.talk.push({ asked: this.askedInstruction || this.titleOf(this.askedSkill!), answer: this.text, runId: this.variant?.runId ?? "" });
    this.forgetInstruction();
    if (this.askedSkill?.answer === "show") this.clear();
  }

  /** The instruction has been followed; another one that was begun meanwhile stays. */
  forgetInstruction(): void {
    if (this.instruction === this.askedInstruction) this.instruction = "";
  }

  /** Leave the place: another chapter or book is opened. */
  leave(): void {
    this.clear();
    this.problem = "";
  }

  /** The server is back: take away what said that it was gone. */
  reconnect(): void {
    if (this.isOffline) this.problem = "";
    this.isOffline = false;
  }

  private take(event: WritingEvent): void {
    const variant = this.variants[event.variant];
    if (!variant) return;
    if (event.event === "delta") {
      variant.text += event.text;
      variant.note = variant.note === "retried" ? "" : variant.note;
    } else if (event.event === "judge") variant.note = "judging";
    else if (event.event === "retry") {
      variant.text = "";
      variant.note = "retried";
    } else {
      variant.text = event.text;
      variant.runId = event.runId;
      variant.isDone = true;
      variant.note = "";
      if (event.event === "completed") {
        variant.findings = readFindings(event.verdict);
        variant.usage = event.usage;
        context.cacheShare = readCacheShare(event.usage);
        variant.cost = event.cost;
      } else variant.problem = event.error.message;
    }
  }

  /** Stop at once; what has come so far stays as a suggestion. */
  async stop(): Promise<void> {
    await this.stream?.stop();
  }

  /** Take up answers that were not decided; returns where they stand, if there are any. */
  async resume(documentId: string, runId = ""): Promise<PlaceOfAnswer | null> {
    const { turn } = this;
    if (!this.skills.length) await this.load();
    const path = { project: story.id };
    const { items } = await get("/projects/{project}/runs", { path, query: { limit: RESUMED_RUNS } });
    const named = runId && !items.some((one) => one.id === runId) ? [await get("/projects/{project}/runs/{run}", { path: { ...path, run: runId } })] : items;
    const found = findUndecided(named, documentId, runId);
    if (turn !== this.turn || this.state !== "idle") return null;
    this.isUnseen = found.isWriting;
    const { place } = found;
    if (!place || !this.skills.some((one) => one.id === found.runs[0]!.skillId)) return null;
    this.turn++;
    this.askedSkillId = found.runs[0]!.skillId;
    this.askedInstruction = place.instruction ?? "";
    this.variants = found.runs.map(({ id, answer, verdicts, usage, cost }) => ({ ...makeVariant(), text: answer, runId: id, isDone: true, findings: readFindings(verdicts.at(-1) ?? {}), usage, cost }));
    this.chosen = this.taken = 0;
    this.edited = null;
    this.state = "done";
    return place;
  }

  clear(): void {
    this.turn++;
    this.isUnseen = false;
    this.state = "idle";
    this.variants = [];
    this.edited = null;
    this.isEditing = false;
    this.taken = 0;
  }

  /** Tell the server that the answer goes into the text, and where it stands there now; returns what became of it. */
  accept(text: string, where: { target?: [number, number]; expectedRevision?: number } = {}): Promise<Schemas["AcceptedAnswerInfo"]> {
    const run = this.variant?.runId ?? "";
    const isOwn = this.variant?.isPasted || text !== this.variant?.text;
    const body = { text: isOwn ? text : null, ...where };
    return post("/projects/{project}/runs/{run}/accept", { path: { project: story.id, run }, body });
  }

  /** The answer that waits, as it is shown; nothing where there is none. */
  get answer(): KeptAnswer | null {
    if (this.state !== "done") return null;
    const { askedSkillId: skillId, chosen, edited, askedInstruction: instruction } = this;
    return { skillId, variants: $state.snapshot(this.variants) as Variant[], chosen, edited, instruction };
  }

  /** Show an answer again, or the one that was rejected last; it can still be accepted. Returns whether there was something. */
  restore(answer = this.rejected): boolean {
    if (!answer || this.state !== "idle") return false;
    const { skillId, variants, chosen, edited, instruction } = answer;
    Object.assign(this, { askedSkillId: skillId, variants, chosen, edited, taken: 0, state: "done", rejected: null, askedInstruction: instruction, instruction: this.instruction || instruction });
    this.turn++;
    return true;
  }

  /** Show what was left out of an accepted answer as an answer of its own, for a place in characters; returns whether it is shown. */
  async offer(chapter: string, text: string, place: number): Promise<boolean> {
    const run = await post("/projects/{project}/runs", { path: { project: story.id }, body: { chapter, text, place: String(place) } });
    if (this.state !== "idle") return false; // it waits in the chapter
    this.turn++;
    this.askedSkillId = run.skillId;
    this.askedInstruction = "";
    this.variants = [{ ...makeVariant(), text, runId: run.id, isDone: true, findings: readFindings(run.verdicts.at(-1) ?? {}) }];
    this.chosen = this.taken = 0;
    this.edited = null;
    this.state = "done";
    return true;
  }

  async reject(): Promise<void> {
    const { answer, variants } = this;
    await this.stop();
    this.clear();
    this.forgetInstruction();
    this.rejected = answer;
    await this.rejectRuns(variants).catch(() => undefined);
  }

  /** Tell the server that these answers do not go into the text. */
  async rejectRuns(variants = this.variants): Promise<void> {
    const runs = variants.map((one) => one.runId).filter(Boolean);
    await Promise.all(runs.map((run) => post("/projects/{project}/runs/{run}/reject", { path: { project: story.id, run } })));
  }
}

/** A prompt that was handed over: of which run and skill, and with which instruction. */
export interface HandedPrompt {
  prompt: string;
  runId: string;
  skillId: string;
  instruction: string;
}

/** An answer as it was shown. */
export interface KeptAnswer {
  skillId: string;
  variants: Variant[];
  chosen: number;
  edited: string | null;
  instruction: string;
}

/** Where an answer was asked for, as its run records it: in characters, not in units of the editor. */
export interface PlaceOfAnswer {
  answer: string;
  cursor: number;
  selection?: [number, number] | null;
  text: string;
  instruction?: string;
}

const RESUMED_RUNS = 30; // among which answers that were not decided are sought
const STILL_WRITING = 10 * 60 * 1000; // milliseconds; a run that began earlier was killed
const OPEN = ["open", "stopped"];

/** Find the answers of a chapter that nobody decided, and which no later one of the chapter replaced; or those of one run. */
export function findUndecided(runs: readonly Schemas["RunInfo"][], documentId: string, runId = ""): { runs: Schemas["RunInfo"][]; place: PlaceOfAnswer | null; isWriting: boolean } {
  const placeOf = (run: Schemas["RunInfo"] | undefined) => (run?.saw as { place?: PlaceOfAnswer } | undefined)?.place;
  const isProse = (run: Schemas["RunInfo"]) => ["insert", "replace"].includes(placeOf(run)?.answer ?? "insert");
  const own = runs.filter((run) => run.documentId === documentId && isProse(run));
  const start = runId ? own.findIndex((run) => run.id === runId) : 0;
  const [first, ...others] = start < 0 ? [] : own.slice(start);
  const place = placeOf(first) ?? null;
  if (!first || !place || !OPEN.includes(first.outcome) || !first.answer.trim()) {
    const isWriting = first?.outcome === "begun" && Date.now() - Date.parse(/[Zz]|[+-]\d\d:?\d\d$/.test(first.at) ? first.at : `${first.at}Z`) < STILL_WRITING;
    return { runs: [], place: null, isWriting };
  }
  const isBeside = (run: Schemas["RunInfo"]) => run.skillId === first.skillId && OPEN.includes(run.outcome) && JSON.stringify(placeOf(run)) === JSON.stringify(place);
  const end = others.findIndex((run) => !isBeside(run));
  return { runs: [first, ...(end < 0 ? others : others.slice(0, end))].slice(0, 4).reverse(), place, isWriting: false };
}

type WritingEvent =
  | ({ event: "delta" } & Schemas["WritingDelta"])
  | ({ event: "judge" } & Schemas["WritingJudged"])
  | ({ event: "retry" } & Schemas["WritingRetry"])
  | ({ event: "completed" } & Schemas["WritingCompleted"])
  | ({ event: "failed" } & Schemas["WritingFailed"]);

/** Return how much of what a model read came from the cache, in percent; null where it read nothing. */
export function readCacheShare({ inputTokens, cachedTokens }: Schemas["UsageInfo"]): number | null {
  return inputTokens ? Math.round((cachedTokens / inputTokens) * 100) : null;
}

/** Whether the answer of a skill goes into the text. */
const isProse = (skill: Skill | undefined) => skill?.answer === "insert" || skill?.answer === "replace";

function makeVariant(): Variant {
  return { text: "", runId: "", isDone: false, note: "", findings: [], problem: "" };
}

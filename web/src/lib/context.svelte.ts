/**
 * What the model would see now: the prompt that the server would assemble, asked for whenever the place or the text
 * changes. The bar, the cards beside the text and the inspector all show this one answer.
 */
import { get, post, Problem, type Schemas } from "./api";
import { t } from "./i18n/index.svelte";
import { LAYERS, type LayerName, type PartName } from "./layers";
import { readHandChoices, writeHandChoices } from "./hand-choices";
import { DEMO, readProvider } from "./providers";
import { story } from "./story.svelte";
import { texts } from "./texts";
import { toasts } from "./toasts.svelte";

export type Prompt = Schemas["AssembledPrompt"] & { fragments?: readonly Schemas["FragmentVerdict"][] };
export type Fragment = Schemas["FragmentVerdict"];
export type ContextRequest = Partial<Omit<Schemas["AssembleRequest"], "projectId">>;

/** What is tried in the inspector in place of the settings, and what was pinned and left out. */
export interface ContextChoices {
  model?: string;
  window?: number;
  replyTokens?: number;
  eyes?: Schemas["AssembleRequest"]["eyes"];
  character?: string;
  include: string[];
  exclude: string[];
}

const PAUSE = 120; // milliseconds after the last change
const NOT_READY_PAUSE = 2000; // milliseconds, while a large book is being prepared for search
const NOT_READY = /^RETRIEVAL_NOT_READY: /;
const RULES_TOO_LARGE = "CONTEXT_RULES_TOO_LARGE";
const NO_ROOM = ["TOO_LARGE", "PASSED_OVER", "NO_ROOM", "LOWER_RANK", "HEADROOM", "RULES_OVERBUDGET"]; // why something is out

const IN_PROMPT_ALREADY = ["DUPLICATE", "SAME_SOURCE"]; // the model reads it, from another source
const NAME_UNKNOWN = "STORE_NOT_FOUND";

/** Whether a request can name a source to have it in the prompt: entries of the codex and of lorebooks. */
export function canPin(source: string): boolean {
  return /^(codex|lorebook):/.test(source);
}

/** The source of the entry that a progression is of, which stands behind a #; of anything else its own. */
const nameWhole = (source: string) => (source.startsWith("codex:") ? source.replace(/#.*$/, "") : source);

/** One thing for an entry and its progressions. */
function joinEntries(list: readonly Fragment[]): Fragment[] {
  const joined = new Map<string, Fragment>();
  for (const one of list) {
    const source = nameWhole(one.source);
    const known = joined.get(`${source} ${one.why}`);
    joined.set(`${source} ${one.why}`, known ? { ...known, tokenCount: known.tokenCount + one.tokenCount } : { ...one, source });
  }
  return [...joined.values()];
}

/** The model that would answer, and what it reads at once. */
interface CountedModel {
  model?: string;
  window?: number;
  encoding?: string;
}

/** Another place that is looked at in the inspector: answers are written where the cursor is all the same. */
export interface OtherPlace {
  documentId: string;
  cursorPosition: number;
}

/** What has a value. */
function findGiven<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== "")) as Partial<T>;
}

class ContextState {
  place = $state.raw<ContextRequest | null>(null);
  otherPlace = $state.raw<OtherPlace | null>(null);
  /** The model that answers as long as no other one is tried. */
  answering = $state.raw<CountedModel>({});
  choices = $state<ContextChoices>({ include: [], exclude: [] });
  prompt = $state.raw<Prompt | null>(null);
  /** The place that the prompt is of, which the next one may not be. */
  promptPlace = $state.raw<ContextRequest | null>(null);
  /** The prompt of the last request that was sent to a model, to compare with. */
  sent = $state.raw<Prompt | null>(null);
  /** How much of the prompt of the last answer at the desk came from the cache, in percent; null where nothing is known of it. */
  cacheShare = $state<number | null>(null);
  problem = $state("");
  private problemCode = $state("");
  isLoading = $state(false);
  isOpen = $state(false);
  /** Whether the inspector shows the rules that are left out, and nothing else. */
  isOnRulesOut = $state(false);
  /** Sources that are not told of here, though the next request would have them: a suggestion that nobody decided yet. */
  private aside: readonly string[] = [];
  private readUnsaved: (() => string) | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isDue = false; // whether what is shown is of an earlier place or text
  private running = Promise.resolve();
  private abort: AbortController | undefined;
  private mayInspect = true;
  /** Whose model is counted for; null until it was asked for. */
  private provider: string | null = null;
  private isWithoutModel = false;
  private handPlace = ""; // the chapter or conversation that pins and exclusions are of

  get tokens(): Record<LayerName, number> {
    const layers = this.prompt?.layers as Record<string, { tokens: number }> | undefined;
    const of = (name: LayerName) => layers?.[name]?.tokens ?? 0;
    return { rules: of("rules"), settings: of("settings"), retrieved: of("retrieved"), immediate: of("immediate") };
  }

  /** What each part of the prompt takes; together they are its tokens. */
  get parts(): { name: PartName; tokens: number }[] {
    const { prompt, tokens } = this;
    const others = { identity: prompt?.identity?.tokens, preset: prompt?.preset?.tokens, attachments: prompt?.attachments?.tokens };
    const named: { name: PartName; tokens: number }[] = [
      ...LAYERS.map((name) => ({ name, tokens: tokens[name] })),
      ...(["identity", "preset", "attachments"] as const).map((name) => ({ name, tokens: others[name] ?? 0 })),
    ];
    const rest = (prompt?.tokenCount ?? 0) - named.reduce((sum, one) => sum + one.tokens, 0);
    return [...named, { name: "framing" as const, tokens: Math.max(0, rest) }].filter((one) => one.tokens > 0);
  }

  /**
   * What the model is told, and what it is not; an entry and its changes are one thing. What is left out because the
   * prompt has the same text already is not listed: the model is told it.
   */
  get told(): { within: Fragment[]; out: Fragment[] } {
    const fragments = (this.prompt?.fragments ?? []).filter((one) => one.included || !IN_PROMPT_ALREADY.includes(one.reason));
    const isExcluded = (one: Fragment) => this.choices.exclude.includes(nameWhole(one.source));
    const within = (layer: LayerName) => joinEntries(fragments.filter((one) => one.layer === layer && one.included));
    const out = (layer: LayerName) => joinEntries(fragments.filter((one) => one.layer === layer && !one.included && !isExcluded(one)));
    return {
      within: [...within("retrieved"), ...within("settings"), ...within("rules"), ...within("immediate")],
      out: [...joinEntries(fragments.filter((one) => !one.included && isExcluded(one)).map((one) => ({ ...one, why: "" }))), ...out("retrieved"), ...out("settings")],
    };
  }

  /**
   * The messages of the conversation that were weighed and are not in the prompt, the oldest first; the first one that
   * is in it, and the oldest that was weighed: those before it were not even looked at.
   */
  get conversation(): { out: Fragment[]; first: string; oldest: string } {
    const messages = (this.prompt?.fragments ?? []).filter((one) => one.layer === "immediate" && one.source.startsWith("history:"));
    const nameOf = (one: Fragment | undefined) => one?.source.slice("history:".length) ?? "";
    return { out: messages.filter((one) => !one.included), first: nameOf(messages.find((one) => one.included)), oldest: nameOf(messages[0]) };
  }

  /** The rules that have no room in the prompt, none of them written by the user; facts of the codex may stand among rules, and are none. */
  get rulesOut(): Fragment[] {
    return (this.prompt?.fragments ?? []).filter((one) => one.layer === "rules" && !one.source.startsWith("codex:") && !one.included && NO_ROOM.includes(one.reason));
  }

  /** What of a large book is still being prepared, as sentences: until then prompts do without it. */
  get unready(): string[] {
    return (this.prompt?.warnings ?? []).filter((one) => NOT_READY.test(one)).map((one) => one.replace(NOT_READY, ""));
  }

  /** What the window of the model has no room for: all rules that a person wrote, or anything beside rules and text. */
  get shortage(): "" | "rules" | "story" {
    if (this.problem) return this.problemCode === RULES_TOO_LARGE ? "rules" : "";
    const told = (this.prompt?.fragments ?? []).filter((one) => one.layer === "settings" || one.layer === "retrieved");
    return told.some((one) => NO_ROOM.includes(one.reason)) && !told.some((one) => one.included) ? "story" : "";
  }

  /** The whole request for the present place and choices. */
  get request(): Schemas["AssembleRequest"] {
    const { include, exclude, ...overrides } = this.choices;
    const chosen = { ...(overrides.model ? {} : this.answering), ...findGiven(overrides) }; // another model has a window of its own
    const place = this.otherPlace ? { ...this.place, ...this.otherPlace, selection: undefined } : this.place;
    const isHere = place?.documentId === this.place?.documentId;
    const unsaved = this.readUnsaved && isHere ? { unsavedText: this.readUnsaved() } : {};
    return { projectId: story.id, ...place, ...unsaved, ...chosen, include, exclude } as Schemas["AssembleRequest"];
  }

  /** Say where the writer is; the answer follows by itself. A text that is not saved yet is read when it is sent. */
  follow(place: ContextRequest | null, readUnsaved?: () => string): void {
    const { documentId, cursorPosition } = this.place ?? {};
    if (place?.documentId !== documentId || place?.cursorPosition !== cursorPosition) this.otherPlace = null; // the writer goes on
    this.place = place;
    this.readUnsaved = readUnsaved;
    if (place) this.takeHandChoices(place);
    if (!place) {
      this.abort?.abort(); // what was asked of a place that was left is no news any more
      this.problem = "";
    }
    this.refresh();
  }

  choose(choices: Partial<ContextChoices>): void {
    this.choices = { ...this.choices, ...choices };
    if (choices.include || choices.exclude) writeHandChoices(this.handPlace, this.choices);
    this.refresh(0);
  }

  /** What is tried in the inspector in place of the settings: the next answers are written with it. */
  get overrides(): Omit<ContextChoices, "include" | "exclude"> {
    const { model, window, replyTokens, eyes, character } = this.choices;
    return findGiven({ model, window, replyTokens, eyes, character });
  }

  /** Go back to the settings, and to the place of the cursor; what was pinned or left out by hand stays. */
  resetOverrides(): void {
    this.otherPlace = null;
    this.choose({ model: undefined, window: undefined, replyTokens: undefined, eyes: undefined, character: undefined });
  }

  /** Look at what the model would be told at another place. */
  lookAt(place: OtherPlace): void {
    this.otherPlace = place;
    this.refresh(0);
  }

  /** Take what was pinned or left out by hand in this chapter or conversation before. */
  private takeHandChoices(place: ContextRequest): void {
    const name = `${story.id}.${place.conversationId || place.documentId || ""}`;
    if (name === this.handPlace) return;
    this.handPlace = name;
    this.choices = { ...this.choices, ...readHandChoices(name) };
  }

  /** Take back everything that was pinned or left out by hand here. */
  forgetHandChoices(): void {
    const { include, exclude } = this.choices;
    const place = this.handPlace;
    this.choose({ include: [], exclude: [] });
    toasts.done(t(texts.engineDecides), () => {
      if (place === this.handPlace) this.choose({ include, exclude });
      else writeHandChoices(place, { include, exclude });
    });
  }

  /** Take back what was pinned or left out by hand and the server does not know; returns whether there was any. */
  private takeBackUnknown(problem: Problem): boolean {
    const { include, exclude } = this.choices;
    if (problem.code !== NAME_UNKNOWN || !(include.length + exclude.length)) return false;
    const named = [...include, ...exclude].filter((one) => problem.message.includes(one));
    const isKept = (one: string) => named.length > 0 && !named.includes(one);
    this.choose({ include: include.filter(isKept), exclude: exclude.filter(isKept) });
    toasts.show(t(texts.takenBack, { why: problem.message }));
    return true;
  }

  /** Look at the context without some sources. */
  setAside(sources: readonly string[]): void {
    if (sources.join(" ") === this.aside.join(" ")) return;
    this.aside = sources;
    this.refresh();
  }

  /** Count for the model that would answer: the one in use, or that of a provider. */
  async useModel(provider = ""): Promise<void> {
    const project = story.id;
    if (provider === this.provider) return;
    this.provider = provider;
    const { kind, model, window, encoding } = await get("/projects/{project}/model", { path: { project }, query: provider ? { provider } : {} });
    if (provider !== this.provider || project !== story.id) return; // another one was chosen meanwhile
    this.isWithoutModel = kind === "none";
    this.answering = kind === "none" ? {} : findGiven({ model, window: window ?? undefined, encoding: encoding ?? undefined });
    this.choose({ model: undefined, window: undefined }); // they were tried in place of another one
  }

  /** Count for the model that would write at the desk; where none is connected and none was chosen, that is the demo. */
  async useDeskModel(): Promise<void> {
    const chosen = readProvider(`desk.${story.id}`);
    await this.useModel(chosen ?? "");
    if (chosen === null && this.provider === "" && this.isWithoutModel) await this.useModel(DEMO);
  }

  /** Open the inspector at the rules that are left out, or at everything. */
  inspect(isOnRulesOut = false): void {
    this.isOnRulesOut = isOnRulesOut;
    this.isOpen = true;
  }

  /** Pin something into the prompt, leave it out, or take either back. */
  set(source: string, how: "include" | "exclude" | "auto"): void {
    const without = (list: string[]) => list.filter((one) => one !== source);
    this.choose({
      include: how === "include" ? [...without(this.choices.include), source] : without(this.choices.include),
      exclude: how === "exclude" ? [...without(this.choices.exclude), source] : without(this.choices.exclude),
    });
  }

  refresh(pause = PAUSE): void {
    clearTimeout(this.timer);
    this.isDue = this.place !== null;
    if (this.place) this.timer = setTimeout(() => void this.load(), pause);
  }

  /** Return the prompt of the present place, once it is there. */
  async settle(): Promise<Prompt | null> {
    await (this.isDue ? this.load() : this.running);
    return this.prompt;
  }

  clear(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.provider = null;
    this.place = this.prompt = this.promptPlace = this.sent = null;
    this.cacheShare = null;
    this.readUnsaved = undefined;
    this.aside = [];
    this.handPlace = "";
    this.choices = { include: [], exclude: [] };
    this.answering = {};
    this.otherPlace = null;
    this.isOpen = false;
    this.problem = "";
  }

  load(): Promise<void> {
    clearTimeout(this.timer);
    this.isDue = false;
    return (this.running = this.read());
  }

  private async read(): Promise<void> {
    if (!this.place || !story.id) return;
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.isLoading = true;
    const { aside, place, request } = this;
    const body = { ...request, exclude: [...(request.exclude ?? []), ...aside] };
    const given = { path: { project: story.id }, body, signal: abort.signal };
    try {
      let prompt: Prompt;
      try {
        prompt = this.mayInspect ? await post("/projects/{project}/inspect", given) : await post("/projects/{project}/assemble", given);
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 403 || !this.mayInspect) throw error;
        this.mayInspect = false; // whoever may not look inside still sees the sums
        prompt = await post("/projects/{project}/assemble", given);
      }
      this.prompt = aside.length && prompt.fragments ? { ...prompt, fragments: prompt.fragments.filter((one) => !aside.includes(one.source)) } : prompt;
      this.promptPlace = place;
      this.problem = "";
      if (this.unready.length) this.refresh(NOT_READY_PAUSE);
    } catch (error) {
      const isForbidden = error instanceof Problem && error.status === 403; // whoever reads along sees no prompt
      if (abort.signal.aborted || isForbidden) return;
      if (error instanceof Problem && this.takeBackUnknown(error)) return; // the answer without it follows
      this.problem = error instanceof Problem ? error.message : String(error);
      this.problemCode = error instanceof Problem ? error.code : "";
    } finally {
      if (this.abort === abort) this.isLoading = false;
    }
  }
}

export const context = new ContextState();

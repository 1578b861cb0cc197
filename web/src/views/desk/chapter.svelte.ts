/**
 * The chapter on the desk: loaded, saved by itself, kept in the browser while the server is gone, and merged with what
 * was written elsewhere. The editor holds the text; this holds what the server has of it.
 */
import { get, Offline, Problem, put } from "../../lib/api";
import { connection } from "../../lib/connection.svelte";
import { saving } from "../../lib/saving.svelte";
import { story } from "../../lib/story.svelte";
import { attempt } from "../../lib/toasts.svelte";
import { deleteDraft, keyOf, takeDraft, writeDraft } from "./drafts";
import { merge } from "./merge";

const SAVE_PAUSE = 900; // milliseconds after the last change
const SAVE_LATEST = 5000; // milliseconds after the first one
const DRAFT_PAUSE = 250;

export interface Conflict {
  /** What both were changed from. */
  base: string;
  mine: string;
  theirs: string;
  revision: number;
}

export class ChapterSession {
  /** Whether the editor shows it; what is not saved when it is left is saved afterwards all the same. */
  private isOpen = $state(false);
  private document = $state("");
  /** The chapter that is open, or nothing. */
  readonly id = $derived(this.isOpen ? this.document : "");
  revision = $state(0);
  /** The text that the server has, and from which the editor's text was changed. */
  base = "";
  conflict = $state.raw<Conflict | null>(null);
  isLoaded = $state(false);
  private project = ""; // of the chapter
  private title = "";
  private known = "";
  /** Whether the editor's text was changed since it was read. */
  private isStale = false;
  private firstChange = 0;
  private saveTimer: ReturnType<typeof setTimeout> | undefined;
  private draftTimer: ReturnType<typeof setTimeout> | undefined;
  private running: Promise<void> | undefined;
  private loading = 0; // goes up with every chapter that is asked for

  /** `show` puts a text into the editor that came from elsewhere; `read` returns what stands there. */
  constructor(
    private readonly show: (text: string) => void,
    private readonly read: () => string,
  ) {}

  /** The text of the editor: put together when it is needed, which is not at every key. */
  private get text(): string {
    if (this.isStale) this.text = this.read();
    return this.known;
  }

  private set text(text: string) {
    this.known = text;
    this.isStale = false;
  }

  private get key(): string {
    return keyOf(this.project, this.document);
  }

  get isChanged(): boolean {
    return this.isStale || this.known !== this.base;
  }

  /**
   * Load a chapter and return its text; a draft that the server never got goes on from there. Where it cannot be loaded,
   * the chapter before stays, and is saved as ever.
   */
  async load(id: string): Promise<string> {
    const turn = ++this.loading;
    const project = story.id;
    const draft = await takeDraft(project, id);
    let found: { text: string; revision: number };
    try {
      found = await get("/projects/{project}/chapters/{chapter}", { path: { project, chapter: id } });
    } catch (error) {
      if (!(error instanceof Offline) || !draft) throw error;
      found = { text: draft.base, revision: draft.revision };
    }
    if (turn !== this.loading) throw new DOMException("Another chapter was asked for meanwhile.", "AbortError");
    this.conflict = null;
    this.project = project;
    this.document = id;
    this.title = story.chapters.find((one) => one.id === id)?.title ?? draft?.title ?? "";
    this.isOpen = true;
    this.revision = found.revision;
    this.base = this.text = found.text;
    this.isLoaded = true;
    saving.state = "saved";
    if (draft && draft.text !== found.text) {
      const merged = draft.revision === found.revision ? draft.text : merge(draft.base, draft.text, found.text);
      if (merged === null) {
        // The editor goes on with what was typed here, as before the chapter was left.
        this.base = draft.base;
        this.revision = draft.revision;
        this.text = draft.text;
        this.conflict = { base: draft.base, mine: draft.text, theirs: found.text, revision: found.revision };
        saving.state = "conflict";
      } else {
        this.text = merged;
        this.schedule();
      }
    } else if (draft) {
      void deleteDraft(draft.key);
    }
    return this.text;
  }

  /** Load no other chapter: the open one is wanted after all. */
  stay(): void {
    this.loading++;
  }

  /** Note that the editor's text was changed. */
  change(): void {
    this.isStale = true;
    if (this.conflict) this.conflict = { ...this.conflict, mine: this.text };
    this.schedule();
  }

  /** Save and keep the text after a pause. */
  private schedule(): void {
    if (!this.conflict) {
      saving.state = connection.isOnline ? "unsaved" : "kept";
      this.firstChange ||= Date.now();
      clearTimeout(this.saveTimer);
      const latest = this.firstChange + SAVE_LATEST - Date.now();
      this.saveTimer = setTimeout(() => void attempt(() => this.save()), Math.max(0, Math.min(SAVE_PAUSE, latest)));
    }
    clearTimeout(this.draftTimer);
    this.draftTimer = setTimeout(() => void this.keep(), DRAFT_PAUSE);
  }

  /** Keep what is not saved in the browser. */
  keep(): Promise<unknown> {
    clearTimeout(this.draftTimer);
    if (!this.isLoaded) return Promise.resolve();
    if (this.text === this.base) return this.conflict ? Promise.resolve() : deleteDraft(this.key);
    return writeDraft({ key: this.key, text: this.text, revision: this.revision, base: this.base, at: Date.now(), title: this.title });
  }

  /** Save now, after what is being saved. */
  async save(): Promise<void> {
    clearTimeout(this.saveTimer);
    const { document } = this;
    while (this.running) await this.running;
    if (!this.isLoaded || this.conflict || this.document !== document) return;
    if (this.text === this.base) {
      saving.state = "saved"; // what was typed was taken back
      return;
    }
    this.running = this.send();
    try {
      await this.running;
    } finally {
      this.running = undefined;
    }
  }

  private async send(): Promise<void> {
    const { document, key, project, text } = this;
    saving.state = "saving";
    this.firstChange = 0;
    try {
      const path = { project, chapter: document };
      const saved = await put("/projects/{project}/chapters/{chapter}", { path, body: { text, expectedRevision: this.revision }, isByItself: true });
      if (this.document !== document) return void deleteDraft(key);
      this.revision = saved.revision;
      this.base = text;
      if (project === story.id) story.replaceChapter({ ...saved, words: countWords(text) });
      if (this.isChanged) this.schedule();
      else {
        saving.state = "saved";
        clearTimeout(this.draftTimer);
        await deleteDraft(key);
      }
    } catch (error) {
      await this.keep();
      if (error instanceof Problem && error.code === "CONTEXT_DOCUMENT_STALE") await this.reconcile();
      else if (error instanceof Offline) saving.state = "kept";
      else {
        saving.state = "kept";
        if (!(error instanceof Problem && error.status === 401)) throw error;
      }
    }
  }

  /** Bring in what was written elsewhere: by itself where the changes do not touch, else by asking. */
  private async reconcile(): Promise<void> {
    const theirs = await get("/projects/{project}/chapters/{chapter}", { path: { project: this.project, chapter: this.document } });
    const merged = merge(this.base, this.text, theirs.text);
    if (merged === null) {
      this.conflict = { base: this.base, mine: this.text, theirs: theirs.text, revision: theirs.revision };
      saving.state = "conflict";
      return;
    }
    this.adopt(theirs.text, theirs.revision, merged);
  }

  private adopt(base: string, revision: number, text: string): void {
    this.base = base;
    this.revision = revision;
    this.text = text;
    this.show(text);
    if (this.isChanged) this.schedule();
    else {
      saving.state = "saved";
      void deleteDraft(this.key);
    }
  }

  /** Decide a conflict: with this text from now on. */
  settle(text: string): void {
    if (!this.conflict) return;
    const { theirs, revision } = this.conflict;
    this.conflict = null;
    this.adopt(theirs, revision, text);
  }

  /** Take over what the server has now: after a return to the window, or a change made elsewhere. Returns whether it was put together with something unsaved. */
  async refresh(): Promise<boolean> {
    if (!this.isLoaded || this.conflict) return false;
    const { id, project } = this;
    if (!id) return false;
    const read = () => get("/projects/{project}/chapters/{chapter}", { path: { project, chapter: id } });
    let found: Awaited<ReturnType<typeof read>>;
    do {
      while (this.running) await this.running;
      found = await read();
    } while (this.running); // saved meanwhile: what was read may be that
    if (id !== this.id || found.revision === this.revision) return false;
    const isOwn = this.isChanged;
    if (isOwn) await this.reconcile();
    else this.adopt(found.text, found.revision, found.text);
    story.replaceChapter({ ...found, words: countWords(found.text) });
    return isOwn && !this.conflict;
  }

  /** Have no chapter any more: it was deleted here. */
  close(): void {
    this.isLoaded = false;
    this.conflict = null;
    clearTimeout(this.saveTimer);
    clearTimeout(this.draftTimer);
    void deleteDraft(this.key);
    this.isOpen = false;
    this.document = "";
    saving.state = "";
  }

  /** Save, or at least keep, since the editor goes away. */
  async part(): Promise<void> {
    const left = this.leave(); // reads the editor before it is gone
    this.isOpen = false;
    saving.state = "";
    await left;
    if (!this.isOpen) saving.state = "";
  }

  /** Save, or at least keep, before the chapter is left. */
  async leave(): Promise<void> {
    const kept = this.keep(); // both begin at once: the editor may be gone afterwards
    await this.save().catch(() => undefined);
    await kept;
    clearTimeout(this.saveTimer);
    clearTimeout(this.draftTimer);
  }
}

const HAN = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[\ud840-\udbff][\udc00-\udfff]/g;

/** Count words as writers do, and as the server counts them: words between spaces, and every Chinese or Japanese character. */
export function countWords(text: string): number {
  let singles = 0;
  const rest = text.replace(HAN, () => (singles++, " "));
  const words = rest.split(/\s+/).filter(Boolean);
  return singles + (rest === text && /^[\x00-\x7f]*$/.test(text) ? words.length : words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length);
}

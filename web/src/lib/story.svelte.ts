/** The open project and what all views need of it: its title, its chapters, and the names in its codex. */
import { get, getAll, Problem, type Schemas } from "./api";
import { langOf } from "./i18n/index.svelte";

export type Chapter = Schemas["ChapterInfo"];
export type Entry = Schemas["EntryInfo"];

const SINGLES = 12; // changed things that are loaded one by one; where more changed, all are

class Story {
  info = $state.raw<Schemas["ProjectContents"] | null>(null);
  chapters = $state.raw<Chapter[]>([]);
  entries = $state.raw<Entry[]>([]);
  /** Whether the entries are all here. */
  areEntriesLoaded = $state(false);
  /** The last names of entries that were removed, by the ids that chapters and facts may still hold. */
  private removedNames = $state.raw<ReadonlyMap<string, string>>(new Map());
  /** Goes up whenever the story changed, so that views can load again. */
  version = $state(0);
  private opening = 0;
  /** What the person is in a book of which players see only their own part; null where the book is open. */
  played = $state.raw<Schemas["RoleInfo"] | null>(null);
  readonly id = $derived(this.info?.id ?? "");
  /** The id of the book, also for a player. */
  readonly project = $derived(this.id || (this.played?.project ?? ""));
  /** The `lang` of the story's own text. */
  readonly lang = $derived(langOf(this.info?.language));
  /** What has text of its own, unlike parts and folders. */
  readonly written = $derived(this.chapters.filter((one) => one.number !== null || one.kind === "chapter" || one.kind === "scene"));

  async open(name: string): Promise<void> {
    const turn = ++this.opening;
    const path = { project: name };
    const loaded = await Promise.all([get("/projects/{project}", { path }), getAll("/projects/{project}/chapters", { path })]).catch(async (error: unknown) => {
      const played = error instanceof Problem && error.status === 403 ? await findPlayed(name) : null;
      if (!played) throw error;
      return played;
    });
    if (turn !== this.opening) return; // another one was opened meanwhile
    this.played = Array.isArray(loaded) ? null : loaded;
    if (!Array.isArray(loaded)) {
      this.info = null;
      this.chapters = [];
      this.forgetEntries();
      return;
    }
    const [info, chapters] = loaded;
    this.info = info;
    this.chapters = chapters;
    this.forgetEntries();
    void this.loadEntries();
  }

  close(): void {
    this.opening++;
    this.info = this.played = null;
    this.chapters = [];
    this.forgetEntries();
  }

  private forgetEntries(): void {
    this.entries = [];
    this.areEntriesLoaded = false;
    this.removedNames = new Map();
  }

  async loadChapters(): Promise<void> {
    this.chapters = await getAll("/projects/{project}/chapters", { path: { project: this.id } });
    this.version++;
  }

  async loadEntries(): Promise<void> {
    const id = this.id;
    const path = { project: id };
    const [entries, removed] = await Promise.all([
      getAll("/projects/{project}/codex", { path }).catch(() => null),
      getAll("/projects/{project}/removed-entries", { path }).catch(() => null),
    ]);
    if (id === this.id) {
      if (removed) this.removedNames = new Map(removed.map((one) => [one.id, one.name]));
      if (entries) this.entries = entries;
      this.areEntriesLoaded ||= entries !== null;
    }
    this.version++;
  }

  /** Take over chapters that were changed elsewhere, or all where any may differ. */
  async takeChapters(ids: ReadonlySet<string> | null): Promise<void> {
    if (!ids || ids.size > SINGLES) return this.loadChapters();
    const known = new Map(this.chapters.map((one) => [one.id, one]));
    const path = { project: this.id };
    for (const chapter of ids) {
      const before = known.get(chapter);
      const found = before && (await findAgain(() => get("/projects/{project}/chapters/{chapter}", { path: { ...path, chapter } })));
      const isInPlace = before && found && (["number", "title", "kind", "depth", "pov"] as const).every((name) => before[name] === found[name]);
      if (!isInPlace || found.revision !== this.chapters.find((one) => one.id === chapter)?.revision) return this.loadChapters();
    }
  }

  /** Take over entries that were changed elsewhere, or all where any may differ. */
  async takeEntries(ids: ReadonlySet<string> | null): Promise<void> {
    const known = new Set(this.entries.map((one) => one.id));
    if (!ids || ids.size > SINGLES || [...ids].some((id) => !known.has(id))) return this.loadEntries();
    const path = { project: this.id };
    for (const id of ids) {
      const found = await findAgain(() => get("/projects/{project}/codex/{entry}", { path: { ...path, entry: id } }));
      if (path.project !== this.id) return;
      if (!found) this.removedNames = new Map([...this.removedNames, [id, this.nameOf(id)]]);
      this.entries = this.entries.flatMap((one) => (one.id !== id ? [one] : found ? [found] : []));
    }
    this.version++;
  }

  /** Read the numbers of the project again; returns whether anything was changed since they were read last. */
  async loadInfo(): Promise<boolean> {
    const before = this.info;
    const info = await get("/projects/{project}", { path: { project: this.id } });
    if (info.id !== this.id) return false;
    this.info = info;
    return info.changed !== before?.changed;
  }

  /** Put in a chapter that the server has just answered with. */
  replaceChapter(chapter: Chapter): void {
    this.chapters = this.chapters.map((one) => (one.id === chapter.id ? { ...one, ...chapter } : one));
  }

  /** The chapter that was opened last in this browser, or the last one of the book. */
  findLastOpened(): string {
    let kept: string | null = null;
    try {
      kept = localStorage.getItem(`fabula.chapter.${this.id}`);
    } catch {
      // a browser may keep nothing
    }
    return (this.chapters.find((one) => one.id === kept) ?? this.written.at(-1))?.id ?? "";
  }

  /** The name of an entry, also of a removed one; nothing where none is known. */
  nameOf(entryId: string): string {
    return this.entries.find((one) => one.id === entryId)?.name ?? this.removedNames.get(entryId) ?? "";
  }

  /** Whether an id belongs to no entry of the codex any more. */
  isRemoved(entryId: string): boolean {
    return this.areEntriesLoaded && !this.entries.some((one) => one.id === entryId);
  }
}

/** Return the part of the person in a book where they are a player. */
async function findPlayed(project: string): Promise<Schemas["RoleInfo"] | null> {
  const { roles } = await get("/account");
  return roles.find((one) => one.project === project && one.role === "player") ?? null;
}

/** Read something again that may have been deleted meanwhile. */
async function findAgain<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

export const story = new Story();

/** The open project and what all views need of it: its title, its chapters, and the names in its codex. */
import { get, getAll, type Schemas } from "./api";
import { langOf } from "./i18n/index.svelte";

export type Chapter = Schemas["ChapterInfo"];
export type Entry = Schemas["EntryInfo"];

class Story {
  info = $state.raw<Schemas["ProjectContents"] | null>(null);
  chapters = $state.raw<Chapter[]>([]);
  entries = $state.raw<Entry[]>([]);
  /** Goes up whenever the story changed, so that views can load again. */
  version = $state(0);
  private opening = 0;

  get id(): string {
    return this.info?.id ?? "";
  }

  /** The `lang` of the story's own text. */
  get lang(): string {
    return langOf(this.info?.language);
  }

  async open(name: string): Promise<void> {
    const turn = ++this.opening;
    const path = { project: name };
    const [info, chapters] = await Promise.all([
      get("/projects/{project}", { path }),
      getAll("/projects/{project}/chapters", { path }),
    ]);
    if (turn !== this.opening) return; // another one was opened meanwhile
    this.info = info;
    this.chapters = chapters;
    this.entries = [];
    void this.loadEntries();
  }

  close(): void {
    this.opening++;
    this.info = null;
    this.chapters = [];
    this.entries = [];
  }

  async loadChapters(): Promise<void> {
    this.chapters = await getAll("/projects/{project}/chapters", { path: { project: this.id } });
    this.version++;
  }

  async loadEntries(): Promise<void> {
    const id = this.id;
    const entries = await getAll("/projects/{project}/codex", { path: { project: id } }).catch(() => []);
    if (id === this.id) this.entries = entries;
    this.version++;
  }

  /** Put in a chapter that the server has just answered with. */
  replaceChapter(chapter: Chapter): void {
    this.chapters = this.chapters.map((one) => (one.id === chapter.id ? { ...one, ...chapter } : one));
  }

  nameOf(entryId: string): string {
    return this.entries.find((one) => one.id === entryId)?.name ?? "";
  }
}

export const story = new Story();

/**
 * Drafts in the browser: what was typed and is not on the server yet. A draft is written while somebody types and
 * deleted when the server has the text, so a server that is gone, a closed window or a crash loses nothing. Every window
 * has drafts of its own; the next window that opens the chapter takes over the draft of one that is gone.
 */
export interface Draft {
  /** `PROJECT/CHAPTER/WINDOW`. */
  key: string;
  text: string;
  /** The revision that the text was changed from, and its text, to merge with what others wrote. */
  revision: number;
  base: string;
  at: number;
  /** The title of the chapter. */
  title?: string;
}

const STORE = "drafts";
let opened: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("fabula", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "key" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  try {
    const database = await open();
    return await new Promise((resolve, reject) => {
      const request = work(database.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } catch {
    opened = undefined; // a private window may keep nothing; the text is still in the editor
    return undefined;
  }
}

const WINDOW = crypto.getRandomValues(new Uint32Array(2)).join("-");
const lockOf = (window: string) => `fabula.window.${window}`;
// Held as long as the window is there: others see by it that its drafts have an owner.
navigator.locks?.request(lockOf(WINDOW), () => new Promise(() => undefined)).catch(() => undefined);

/** Return the windows of this browser that are open. */
async function listWindows(): Promise<Set<string>> {
  const { held = [] } = (await navigator.locks?.query().catch(() => undefined)) ?? {};
  return new Set(held.map((lock) => lock.name ?? ""));
}

/** The key of this window's draft of a chapter. */
export const keyOf = (project: string, chapter: string) => `${project}/${chapter}/${WINDOW}`;

const windowOf = (draft: Draft) => draft.key.split("/")[2] ?? "";

/** Return what this window or one that is gone left behind of chapters of a project that are not there any more. */
export async function findOrphans(project: string, chapters: ReadonlySet<string>): Promise<Draft[]> {
  const all = (await run<Draft[]>("readonly", (store) => store.getAll(IDBKeyRange.bound(`${project}/`, `${project}/\uffff`)))) ?? [];
  const found = all.filter((one) => !chapters.has(one.key.split("/")[1]!) && one.text !== one.base);
  const windows = found.length ? await listWindows() : new Set();
  return found.filter((one) => windowOf(one) === WINDOW || !windows.has(lockOf(windowOf(one))));
}

/** Return this window's draft of a chapter, or take over the newest one that a window left behind. */
export async function takeDraft(project: string, chapter: string): Promise<Draft | undefined> {
  const key = keyOf(project, chapter);
  const start = `${project}/${chapter}`;
  const all = (await run<Draft[]>("readonly", (store) => store.getAll(IDBKeyRange.bound(start, `${start}/\uffff`)))) ?? [];
  const windows = all.length ? await listWindows() : new Set();
  const isFree = (one: Draft) => one.key === start || (one.key.startsWith(`${start}/`) && !windows.has(lockOf(windowOf(one))));
  const found = all.find((one) => one.key === key) ?? all.filter(isFree).sort((a, b) => b.at - a.at)[0];
  if (!found || found.key === key) return found;
  await writeDraft({ ...found, key });
  await deleteDraft(found.key);
  return { ...found, key };
}

export const writeDraft = (draft: Draft) => run("readwrite", (store) => store.put(draft));
export const deleteDraft = (key: string) => run("readwrite", (store) => store.delete(key));

/**
 * Drafts in the browser: what was typed and is not on the server yet. A draft is written while somebody types and
 * deleted when the server has the text, so a server that is gone, a closed window or a crash loses nothing.
 */
export interface Draft {
  /** `PROJECT/CHAPTER`. */
  key: string;
  text: string;
  /** The revision that the text was changed from, and its text, to merge with what others wrote. */
  revision: number;
  base: string;
  at: number;
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

export const readDraft = (key: string) => run<Draft | undefined>("readonly", (store) => store.get(key));
export const writeDraft = (draft: Draft) => run("readwrite", (store) => store.put(draft));
export const deleteDraft = (key: string) => run("readwrite", (store) => store.delete(key));

/**
 * What changes in the open project, whoever changes it: another window, another person or a background job. Views say
 * of what they want to be told. The windows of one browser share one stream, because a browser has few connections to
 * one server.
 */
export type ChangeKind =
  | "project"
  | "chapters"
  | "revisions"
  | "codex"
  | "constraints"
  | "memories"
  | "presets"
  | "lorebooks"
  | "settings"
  | "conversations"
  | "participants"
  | "recaps"
  | "runs"
  | "needs";
/** Is called with the ids of what changed; null where any of it may differ. */
export type ChangeListener = (ids: ReadonlySet<string> | null) => unknown;

interface Message {
  kind: "ready" | "change" | "reset" | "hello";
  version?: number;
  changes?: { kind: ChangeKind; id: string }[];
}

const PAUSE = 100; // milliseconds in which changes are collected
const OPEN_AGAIN = 3000; // milliseconds after a stream that the server refused

class Live {
  private version = 0; // of the project, as far as it was told; 0 before anything was
  private hasChanged: () => Promise<boolean> = () => Promise.resolve(false);
  private readonly listeners = new Map<ChangeListener, readonly ChangeKind[]>();
  private pending = new Map<ChangeKind, Set<string>>();
  private isAllPending = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Tell a listener of changes of some kinds; returns what ends this. Use it in an `$effect`. */
  on(kinds: readonly ChangeKind[], listener: ChangeListener): () => void {
    this.listeners.set(listener, kinds);
    return () => this.listeners.delete(listener);
  }

  /** Follow a project; `hasChanged` says whether it was changed between loading it and the first event. Returns what ends this. */
  follow(project: string, hasChanged: () => Promise<boolean>): () => void {
    this.version = 0;
    this.hasChanged = hasChanged;
    const url = `/api/projects/${encodeURIComponent(project)}/events`;
    const end = new AbortController();
    const channel = globalThis.BroadcastChannel ? new BroadcastChannel(url) : undefined;
    const lead = () => this.lead(url, channel, end.signal);
    if (channel && navigator.locks) {
      channel.onmessage = ({ data }: MessageEvent<Message>) => this.receive(data);
      navigator.locks.request(url, { signal: end.signal }, lead).catch(() => undefined); // left while it waited
      channel.postMessage({ kind: "hello" } satisfies Message);
    } else void lead();
    return () => {
      end.abort();
      channel?.close();
      clearTimeout(this.timer);
      this.pending.clear();
      this.isAllPending = false;
    };
  }

  /** Hold the stream for all windows of this browser until the project is left. */
  private lead(url: string, channel: BroadcastChannel | undefined, end: AbortSignal): Promise<void> {
    let source: EventSource;
    const tell = (message: Message) => {
      if (end.aborted) return;
      channel?.postMessage(message);
      this.receive(message);
    };
    const open = () => {
      if (end.aborted) return;
      source = new EventSource(url);
      for (const kind of ["ready", "change", "reset"] as const)
        source.addEventListener(kind, ({ data }: MessageEvent<string>) => tell({ kind, ...(JSON.parse(data) as object) }));
      source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) setTimeout(open, OPEN_AGAIN); // refused; a break is mended by itself
      };
    };
    channel?.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (data.kind === "hello" && this.version) channel.postMessage({ kind: "ready", version: this.version } satisfies Message);
    });
    open();
    return new Promise((resolve) => end.addEventListener("abort", () => (source.close(), resolve())));
  }

  receive({ kind, version = 0, changes = [] }: Message): void {
    if (kind === "hello" || (kind === "ready" && version <= this.version)) return;
    const isFirst = kind === "ready" && !this.version;
    this.version = version;
    if (isFirst) return void this.hasChanged().then((isChanged) => isChanged && this.receive({ kind: "reset", version: this.version }), () => undefined);
    if (kind !== "change") this.isAllPending = true;
    for (const one of changes) this.pending.set(one.kind, (this.pending.get(one.kind) ?? new Set()).add(one.id));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), PAUSE);
  }

  /** Let everybody load again: the server was gone, and what was asked of it meanwhile never came. */
  refresh(): void {
    this.isAllPending = true;
    this.tell();
  }

  private tell(): void {
    const { pending, isAllPending } = this;
    this.pending = new Map();
    this.isAllPending = false;
    for (const [listener, kinds] of this.listeners) {
      const ids = new Set(kinds.flatMap((kind) => [...(pending.get(kind) ?? [])]));
      if (!ids.size && !isAllPending) continue;
      void Promise.resolve(listener(isAllPending || ids.has("") ? null : ids)).catch(() => undefined); // a server that is gone says so elsewhere
    }
  }
}

export const live = new Live();

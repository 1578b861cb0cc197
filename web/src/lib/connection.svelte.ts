/** Whether the server answers. While it does not, the page asks for it now and then. */
import { t } from "./i18n/index.svelte";
import { saving } from "./saving.svelte";
import { texts } from "./texts";

const PROBE_PAUSE = 2000; // milliseconds

class Connection {
  isOnline = $state(true);
  /** Whether the server is of another version than the page. */
  isOutdated = $state(false);
  private version = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly waiting = new Set<() => void>();

  /** What a server that is gone means here: only a chapter that is open is kept in the browser. */
  get sentence(): string {
    return t(saving.state ? texts.offline : texts.offlineElsewhere);
  }

  /** Call something whenever the server is back; returns what ends this. */
  onBack(callback: () => void): () => void {
    this.waiting.add(callback);
    return () => this.waiting.delete(callback);
  }

  lost(): void {
    if (!this.isOnline) return;
    this.isOnline = false;
    this.probe();
  }

  found(): void {
    if (this.isOnline) return;
    clearTimeout(this.timer);
    this.isOnline = true;
    void this.checkVersion();
    for (const callback of this.waiting) callback();
  }

  /** Look at the version of the server: the one that the page came with, and later the present one. */
  async checkVersion(): Promise<void> {
    try {
      const { version } = (await (await fetch("/healthz", { cache: "no-store" })).json()) as { version: string };
      this.version ||= version;
      this.isOutdated = version !== this.version;
    } catch {
      // a server that is gone is noticed by whatever is asked of it next
    }
  }

  private probe(): void {
    this.timer = setTimeout(async () => {
      try {
        const response = await fetch("/healthz", { cache: "no-store" });
        if (response.ok) this.found();
        else this.probe();
      } catch {
        this.probe();
      }
    }, PROBE_PAUSE);
  }
}

export const connection = new Connection();

/**
 * Streams of server-sent events over `fetch`, because `EventSource` can neither POST nor send a language. A stream that
 * breaks is followed from its last event on; stopping it tells the server.
 */
import { makeUrl, Offline, Problem, send } from "./api";

export interface StreamEvent {
  id: string;
  kind: string;
  data: unknown;
}

const LAST_KINDS = ["done", "stopped", "problem"];
const PAUSES = [250, 500, 1000, 2000, 4000]; // milliseconds before a broken stream is followed again

/** Cut a text of events into those that are complete, and the rest. */
export function cutEvents(text: string): { events: StreamEvent[]; rest: string } {
  const parts = text.replace(/\r\n/g, "\n").split("\n\n");
  const rest = parts.pop() ?? "";
  const events: StreamEvent[] = [];
  for (const part of parts) {
    const event: StreamEvent = { id: "", kind: "message", data: undefined };
    const lines: string[] = [];
    for (const line of part.split("\n")) {
      if (line.startsWith("id: ")) event.id = line.slice(4);
      else if (line.startsWith("event: ")) event.kind = line.slice(7);
      else if (line.startsWith("data: ")) lines.push(line.slice(6));
    }
    if (!lines.length) continue;
    event.data = JSON.parse(lines.join("\n"));
    events.push(event);
  }
  return { events, rest };
}

export class EventStream {
  private location = "";
  private lastId = "";
  private readonly abort = new AbortController();
  private isStopped = false;

  constructor(
    private readonly path: string,
    private readonly values: Record<string, unknown>,
    private readonly body: unknown,
  ) {}

  /** Read all events; the last one is `done`, `stopped` or `problem`, which is thrown. */
  async *read(): AsyncGenerator<StreamEvent> {
    for (let tries = 0; ; ) {
      try {
        const response = this.location ? await this.follow() : await this.begin();
        for await (const event of this.readBody(response)) {
          tries = 0;
          if (event.kind === "problem") throw readProblem(event.data);
          if (LAST_KINDS.includes(event.kind)) return;
          yield event;
        }
      } catch (error) {
        if (this.isStopped) return;
        if (error instanceof Problem && !(error instanceof Offline)) throw error;
        if (!this.location || tries >= PAUSES.length) throw error instanceof Problem ? error : new Offline();
      }
      if (this.isStopped) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSES[tries++]));
    }
  }

  /** Stop at once, here and on the server. */
  async stop(): Promise<void> {
    if (this.isStopped) return;
    this.isStopped = true;
    this.abort.abort();
    if (this.location) await send("DELETE", this.location).catch(() => undefined);
  }

  private async begin(): Promise<Response> {
    const response = await send("POST", makeUrl(this.path, this.values), { body: this.body, signal: this.abort.signal });
    this.location = response.headers.get("Location") ?? "";
    return response;
  }

  private follow(): Promise<Response> {
    return send("GET", this.location, { headers: { "Last-Event-ID": this.lastId }, signal: this.abort.signal });
  }

  private async *readBody(response: Response): AsyncGenerator<StreamEvent> {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const { events, rest } = cutEvents(text + value);
      text = rest;
      for (const event of events) {
        if (event.id) this.lastId = event.id;
        yield event;
      }
    }
  }
}

function readProblem(data: unknown): Problem {
  const found = data as { detail?: string; code?: string; status?: number };
  return new Problem(found.detail ?? "", found.code ?? "", found.status ?? 0);
}

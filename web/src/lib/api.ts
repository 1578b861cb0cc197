/**
 * The one way to the server: typed by our own OpenAPI document, so that a call which the server does not know fails in
 * `npm run check`. A refusal becomes a `Problem` with a sentence for people; a server that is gone becomes `Offline`.
 */
import type { components, paths } from "./schema";
import { language } from "./i18n/index.svelte";
import { connection } from "./connection.svelte";

export type Schemas = components["schemas"];
type Method = "get" | "post" | "put" | "patch" | "delete";
type ShortPath<P> = P extends `/api${infer Rest}` ? Rest : never;
type Address<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? ShortPath<P> : never;
}[keyof paths];
type Operation<P extends string, M extends Method> = `/api${P}` extends keyof paths ? paths[`/api${P}`][M] : never;
type Parameters<O, K extends string> = O extends { parameters: { [key in K]?: infer T } } ? NonNullable<T> : never;
type Body<O> = O extends { requestBody?: { content: infer C } }
  ? C extends { "application/json": infer B }
    ? B
    : C extends { "application/octet-stream": unknown }
      ? Blob
      : never
  : never;
type Success<R> = 200 extends keyof R ? R[200] : 201 extends keyof R ? R[201] : never;
export type Answer<O> = O extends { responses: infer R }
  ? Success<R> extends { content: { "application/json": infer T } }
    ? T
    : undefined
  : never;

interface Optional {
  /** The version that is changed: refused with 412 if there is another one by now. */
  ifMatch?: string;
  /** A name of this request: sent again with it, it is not done again. */
  key?: string;
  signal?: AbortSignal;
  /** The page does this by itself, so no notice offers to take it back. */
  isByItself?: boolean;
}
type Given<O> = Optional &
  ([Parameters<O, "path">] extends [never] ? unknown : { path: Parameters<O, "path"> }) &
  ([Parameters<O, "query">] extends [never] ? unknown : { query?: Parameters<O, "query"> }) &
  ([Body<O>] extends [never] ? unknown : { body?: Body<O> });

/** A refusal of the server, or of the page itself: `message` is a sentence for people. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly fields: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** The server did not answer: what was being done can be tried again later. */
export class Offline extends Problem {
  constructor() {
    super(connection.sentence, "OFFLINE", 0);
  }
}

/** An answer with its version. */
export interface Versioned<T> {
  data: T;
  etag: string;
}

/** Whom to tell when the session has ended; set by the shell. */
export const onSignedOut: { call: () => void } = { call: () => undefined };

/** Return an address with its parameters put in and its query behind it. */
export function makeUrl(path: string, values: Record<string, unknown> = {}, query: Record<string, unknown> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return `/api${filled}${text ? `?${text}` : ""}`;
}

/** Send a request and return the response; a refusal is thrown as a `Problem`. */
export async function send(method: string, url: string, given: Optional & { body?: unknown; headers?: HeadersInit } = {}): Promise<Response> {
  const headers = new Headers(given.headers);
  headers.set("Accept-Language", language.current);
  if (given.ifMatch) headers.set("If-Match", given.ifMatch);
  if (given.key) headers.set("Idempotency-Key", given.key);
  let body: BodyInit | undefined;
  if (given.body instanceof Blob) {
    body = given.body;
    headers.set("Content-Type", "application/octet-stream");
  } else if (given.body !== undefined) {
    body = JSON.stringify(given.body);
    headers.set("Content-Type", "application/json");
  }
  let response: Response;
  try {
    response = await fetch(url, { method, headers, body, signal: given.signal, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connection.lost();
    throw new Offline();
  }
  connection.found();
  if (!given.isByItself) lastStep = readStep(response.headers.get("Undo-Step"), lastStep);
  if (response.ok) return response;
  throw await readProblem(response);
}

/** A change that can be taken back: of which project, and its number there. */
export interface Step {
  project: string;
  number: number;
}

let lastStep: Step | null = null;

/** The step of what was done last in this window; none where that left nothing to take back. */
export const findLastStep = () => lastStep;

function readStep(header: string | null, before: Step | null): Step | null {
  if (header === null) return before; // nothing that can be taken back
  const at = header.lastIndexOf("/");
  return at < 0 ? null : { project: header.slice(0, at), number: Number(header.slice(at + 1)) };
}

async function readProblem(response: Response): Promise<Problem> {
  if (response.status === 401) onSignedOut.call();
  try {
    const found = (await response.json()) as { detail?: string; title?: string; code?: string };
    return new Problem(found.detail ?? found.title ?? response.statusText, found.code ?? "", response.status, { ...found });
  } catch {
    return new Problem(`${response.status} ${response.statusText}`, "", response.status);
  }
}

type Sent = Record<string, unknown> & Optional;

async function call<T>(method: string, path: string, given: Sent = {}): Promise<Versioned<T>> {
  const url = makeUrl(path, given.path as Record<string, unknown>, given.query as Record<string, unknown>);
  const response = await send(method, url, given);
  const text = response.status === 204 ? "" : await response.text();
  return { data: (text ? JSON.parse(text) : undefined) as T, etag: response.headers.get("ETag") ?? "" };
}

type Caller<M extends Method> = <P extends Address<M> & string>(
  path: P,
  given?: Given<Operation<P, M>>,
) => Promise<Answer<Operation<P, M>>>;

function makeCaller<M extends Method>(method: M): Caller<M> {
  const send = async (path: string, given?: Sent) => (await call(method.toUpperCase(), path, given)).data;
  return send as unknown as Caller<M>;
}

export const get = makeCaller("get");
export const post = makeCaller("post");
export const put = makeCaller("put");
export const patch = makeCaller("patch");
export const del = makeCaller("delete");

/** Like `get`, with the version for a later `ifMatch`. */
export function getVersioned<P extends Address<"get"> & string>(
  path: P,
  given?: Given<Operation<P, "get">>,
): Promise<Versioned<Answer<Operation<P, "get">>>> {
  return call("GET", path, given as Record<string, unknown>);
}

/** Like `put`, with the version after the change. */
export function putVersioned<P extends Address<"put"> & string>(
  path: P,
  given?: Given<Operation<P, "put">>,
): Promise<Versioned<Answer<Operation<P, "put">>>> {
  return call("PUT", path, given as Record<string, unknown>);
}

/** Read a list to its end, page after page. */
export async function getAll<P extends Address<"get"> & string>(
  path: P,
  given?: Given<Operation<P, "get">>,
): Promise<Answer<Operation<P, "get">> extends { items: readonly (infer T)[] } ? T[] : never> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  const plain = (given ?? {}) as Record<string, unknown> & { query?: Record<string, unknown> };
  do {
    const query = { ...plain.query, pageSize: 1000, cursor };
    const { data } = await call<{ items: unknown[]; next?: string | null }>("GET", path, { ...plain, query });
    items.push(...data.items);
    cursor = data.next ?? undefined;
  } while (cursor);
  return items as never;
}

/** Send a file as the plain body; its name goes into the address. */
export async function upload<T>(path: string, file: File, values: Record<string, unknown> = {}, query: Record<string, unknown> = {}): Promise<T> {
  const url = makeUrl(path, values, { ...query, fileName: file.name });
  const response = await send("POST", url, { body: new Blob([file]) });
  return (await response.json()) as T;
}

/** Fetch a file and hand it to the browser, which keeps it under the server's name; returns that name. */
export async function download(path: string, values: Record<string, unknown>, query: Record<string, unknown> = {}): Promise<string> {
  const response = await send("GET", makeUrl(path, values, query));
  const name = readFileName(response.headers.get("Content-Disposition") ?? "");
  const url = URL.createObjectURL(await response.blob());
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return name;
}

/** Return the name of a file that an answer says in its header. */
export function readFileName(disposition: string): string {
  const found = /filename\*=UTF-8''([^;]+)/i.exec(disposition);
  return found ? decodeURIComponent(found[1]!) : "file";
}

/** Return a name for a request that must be done once. */
export function makeKey(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
}

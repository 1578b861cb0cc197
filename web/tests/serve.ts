/** A server for tests of whole views: answers by method and address, and what was asked of it. */
import { vi } from "vitest";

vi.stubGlobal("ResizeObserver", class { observe(): void {} unobserve(): void {} disconnect(): void {} });
vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined, removeEventListener: () => undefined }));
// jsdom draws no dialogs; one that is open is one that is shown
HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
  this.open = true;
};
HTMLDialogElement.prototype.close = function (this: HTMLDialogElement) {
  this.open = false;
};
Element.prototype.scrollIntoView = () => undefined;
// nothing is laid out, so that nothing has a place
Range.prototype.getClientRects = () => [] as never;
Range.prototype.getBoundingClientRect = () => new DOMRect();

/** Answer requests such as `GET /projects`; whatever is not named is an empty list. A function gets the body, or the query where there is none. Returns what was asked. */
export function serve(answers: Record<string, unknown>): string[] {
  const asked: string[] = [];
  const answer = (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const [address = "", query = ""] = String(input).replace(/^\/api/, "").split("?");
    const name = `${init.method ?? "GET"} ${address}`;
    asked.push(name);
    const found = name in answers ? answers[name] : { items: [], next: null };
    const given = typeof found === "function" ? (found as (sent: unknown) => unknown)(typeof init.body === "string" ? JSON.parse(init.body) : (init.body ?? new URLSearchParams(query))) : found;
    return Promise.resolve(given instanceof Response ? given : new Response(JSON.stringify(given), { headers: { "Content-Type": "application/json" } }));
  };
  vi.stubGlobal("fetch", vi.fn(answer));
  return asked;
}

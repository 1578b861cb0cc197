/**
 * Addresses behind the `#`, so that the server has to know one page alone: `#/PROJECT/VIEW/REST…?name=value`. Without a
 * project it is the list of books.
 */
class Router {
  parts = $state<string[]>([]);
  query = $state<URLSearchParams>(new URLSearchParams());

  get project(): string {
    return this.parts[0] ?? "";
  }

  get view(): string {
    return this.parts[1] ?? "write";
  }

  /** What stands behind the view: the chapter, the entry, the conversation. */
  get rest(): string[] {
    return this.parts.slice(2);
  }

  start(): () => void {
    const read = () => this.read(location.hash);
    read();
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }

  read(hash: string): void {
    const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
    this.parts = path.split("/").filter(Boolean).map(decodeSafely);
    this.query = new URLSearchParams(query);
  }

  /** Go to an address; `replace` leaves no step back. */
  go(parts: (string | number)[], options: { query?: Record<string, string>; replace?: boolean } = {}): void {
    const hash = makeHash(parts, options.query);
    if (options.replace) history.replaceState(null, "", hash);
    else location.hash = hash;
    this.read(hash);
  }
}

function decodeSafely(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return an address for `href`. */
export function makeHash(parts: (string | number)[], query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${search ? `?${search}` : ""}`;
}

export const router = new Router();

/** Where the keyboard is: what opens takes the focus, keeps it if it is modal, and gives it back. */

const FOCUSABLE = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex="0"], [contenteditable="true"]';

/** Focus something that was opened; the answer gives the focus back to where it was, unless it went elsewhere by itself. */
export function takeFocus(element: HTMLElement): () => void {
  const before = document.activeElement;
  element.focus();
  return () => {
    const now = document.activeElement;
    const isLost = !now || now === document.body || element.contains(now);
    if (isLost && before instanceof HTMLElement && before.isConnected) before.focus();
  };
}

/**
 * Focus a view that a command has opened: the text that is written there, else what one searches with, else its heading,
 * else its first field. Where it has none of them the view itself takes the focus.
 */
export function focusView(view: HTMLElement): void {
  const isShown = (one: HTMLElement) => one.getClientRects().length > 0;
  const find = (selector: string, box: ParentNode = view) => [...box.querySelectorAll<HTMLElement>(selector)].find(isShown);
  const main = view.querySelector<HTMLElement>("main") ?? view;
  const target = find('[contenteditable="true"]', main) ?? find('input[type="search"]', main) ?? find("h1, h2", main) ?? find("input, select, textarea") ?? main;
  if (!target.matches("input, select, textarea, [tabindex], [contenteditable]")) target.tabIndex = -1;
  target.focus();
}

/** Keep Tab within a box, for `onkeydown`. */
export function keepFocus(event: KeyboardEvent, box: HTMLElement): void {
  if (event.key !== "Tab") return;
  const all = [...box.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((one) => one.getClientRects().length);
  const [first, last] = [all[0], all.at(-1)];
  const now = document.activeElement;
  if (event.shiftKey ? now !== first && now !== box : now !== last) return;
  event.preventDefault();
  (event.shiftKey ? last : first)?.focus();
}

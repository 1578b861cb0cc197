/**
 * Names of the codex in the text. The server finds them, since it knows all names and where Chinese words end; here they
 * are marked, moved along while somebody types, and searched again only in the lines that were changed.
 */
import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { closeHoverTooltips, Decoration, EditorView, hoverTooltip, showTooltip, tooltips, ViewPlugin, type DecorationSet, type Tooltip, type ViewUpdate } from "@codemirror/view";
import { get, post, type Schemas } from "../../lib/api";
import { t } from "../../lib/i18n/index.svelte";
import { nameKind } from "../../lib/kinds";
import { makeHash, router } from "../../lib/router.svelte";
import { story } from "../../lib/story.svelte";
import { reasonAt } from "./broken";
import { texts } from "./texts";

type Found = Schemas["MentionInfo"];

const HEADER = 48; // pixels at the top of the page that a card leaves free
const PAUSE = 200; // milliseconds after the last change
const setMentions = StateEffect.define<{ from: number; to: number; found: Found[] }>();

function makeMark(entries: readonly string[]): Decoration {
  return Decoration.mark({ class: entries.length > 1 ? "cm-name cm-name-unsure" : "cm-name", entries });
}

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let set = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMentions)) continue;
      const { from, to, found } = effect.value;
      const add = found.map((one) => makeMark(one.entries).range(from + one.start, from + one.end));
      set = set.update({ filterFrom: from, filterTo: to, filter: () => false, add });
    }
    return set;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Asks the server for the names in lines that changed. */
class Finder {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private dirty: { from: number; to: number } | null;
  private isGone = false;

  constructor(private readonly view: EditorView) {
    this.dirty = { from: 0, to: view.state.doc.length };
    this.schedule(0);
  }

  update(update: ViewUpdate): void {
    if (!update.docChanged) return;
    let { from, to } = this.dirty ?? { from: Infinity, to: -Infinity };
    if (this.dirty) [from, to] = [update.changes.mapPos(from, -1), update.changes.mapPos(to, 1)];
    update.changes.iterChangedRanges((_a, _b, start, end) => {
      from = Math.min(from, start);
      to = Math.max(to, end);
    });
    this.dirty = { from, to };
    this.schedule(PAUSE);
  }

  /** Search everything again: the codex was changed. */
  restart(): void {
    this.dirty = { from: 0, to: this.view.state.doc.length };
    this.schedule(0);
  }

  destroy(): void {
    this.isGone = true;
    clearTimeout(this.timer);
  }

  private schedule(pause: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.search(), pause);
  }

  private async search(): Promise<void> {
    const { doc } = this.view.state;
    if (!this.dirty || this.view.composing) return this.view.composing ? this.schedule(PAUSE) : undefined;
    const from = doc.lineAt(Math.min(this.dirty.from, doc.length)).from;
    const to = doc.lineAt(Math.min(this.dirty.to, doc.length)).to;
    this.dirty = null;
    try {
      const path = { project: story.id };
      const { mentions } = await post("/projects/{project}/mentions", { path, body: { text: doc.sliceString(from, to) } });
      if (this.isGone) return;
      if (this.view.state.doc !== doc) {
        // Something was typed meanwhile: what was asked for is asked again together with it.
        const known: { from: number; to: number } = this.dirty ?? { from, to };
        this.dirty = { from: Math.min(known.from, from), to: Math.max(known.to, Math.min(to, this.view.state.doc.length)) };
        return this.schedule(PAUSE);
      }
      this.view.dispatch({ effects: setMentions.of({ from, to, found: mentions as Found[] }) });
    } catch {
      // Names are marked again when the server is back and the text is changed.
    }
  }
}

const finder = ViewPlugin.fromClass(Finder);

/** Search all names again. */
export function refreshMentions(view: EditorView): void {
  view.plugin(finder)?.restart();
}

/** Return the entries that a name at a position may mean. */
export function entriesAt(view: EditorView, position: number): { from: number; to: number; entries: readonly string[] } | null {
  let found: { from: number; to: number; entries: readonly string[] } | null = null;
  view.state.field(marks).between(position, position, (from, to, mark) => {
    found = { from, to, entries: (mark.spec as { entries: readonly string[] }).entries };
    return false;
  });
  return found;
}

/** How many names are marked. */
export function countMentions(view: EditorView): number {
  return view.state.field(marks).size;
}

const cards = new Map<string, Promise<Schemas["EntryCardInfo"]>>();

function readCard(entry: string, chapter: string, offset: number): Promise<Schemas["EntryCardInfo"]> {
  const place = Math.floor(offset / 200) * 200; // near places have the same card
  const key = `${story.id} ${story.version} ${entry} ${chapter} ${place}`;
  let card = cards.get(key);
  if (!card) {
    if (cards.size > 300) cards.clear();
    card = get("/projects/{project}/mentions/{entry}", { path: { project: story.id, entry }, query: { chapter, offset: place } });
    card.catch(() => cards.delete(key));
    cards.set(key, card);
  }
  return card;
}

/** Make the card of an entry; names and texts are set as text, whatever stands in them. */
function drawCard(card: Schemas["EntryCardInfo"]): HTMLElement {
  const make = (tag: string, className: string, text: string) => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const box = make("div", "cm-card", "");
  const link = make("a", "cm-card-name", card.name) as HTMLAnchorElement;
  link.href = makeHash([story.id, "codex", card.id]);
  link.title = t(texts.openCard);
  const body = make("p", "cm-card-text", card.text.replace(/^#+\s.*\n?/, ""));
  body.lang = story.lang;
  box.append(link, make("span", "cm-card-type", nameKind(card.type)), body);
  if (card.later) box.append(make("p", "cm-card-later", t(texts.laterFacts, { n: card.later })));
  return box;
}

/** Make the card of a place: what breaks a rule there, and the entries that a name there may mean. */
export function makeTooltip(view: EditorView, position: number, chapter: string): Promise<Tooltip | null> | null {
  const name = entriesAt(view, position);
  const broken = reasonAt(view, position);
  const found = name ?? broken;
  if (!found) return null;
  return Promise.all((name?.entries ?? []).slice(0, 3).map((entry) => readCard(entry, chapter, found.from)))
    .catch(() => [])
    .then((read) => {
      const parts = [...(broken ? [drawReason(broken.reason)] : []), ...read.map(drawCard)];
      if (!parts.length) return null;
      const create = () => {
        const dom = document.createElement("div");
        dom.className = "cm-cards";
        dom.append(...parts);
        return { dom };
      };
      return { pos: found.from, end: found.to, above: true, create };
    });
}

/** Say why words are underlined. */
function drawReason(reason: string): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-card cm-card-broken";
  box.textContent = reason;
  return box;
}

/** A click with Ctrl or ⌘ on a name opens its entry. */
function openEntry(event: MouseEvent, view: EditorView): boolean {
  if (event.button !== 0 || !(event.ctrlKey || event.metaKey)) return false;
  const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
  const entry = position === null ? undefined : entriesAt(view, position)?.entries[0];
  if (entry) router.go([story.id, "codex", entry]);
  return entry !== undefined;
}

const showClicked = StateEffect.define<Tooltip | null>();

/** The card of the name that was clicked: it takes no focus, and leaves with the next key or click. */
const clicked = StateField.define<Tooltip | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(showClicked)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : value;
  },
  provide: (field) => showTooltip.from(field),
});

/** Show a card until the cursor or the text changes. */
function keepCard(view: EditorView, found: Promise<Tooltip | null> | null): void {
  const { doc, selection } = view.state;
  void found?.then((card) => {
    const isSame = view.dom.isConnected && view.state.doc === doc && view.state.selection.eq(selection);
    if (card && isSame) view.dispatch({ effects: [showClicked.of(card), closeHoverTooltips] });
  });
}

/** Show the card of the words at the cursor. */
export function showCard(view: EditorView, chapter: string): void {
  view.focus();
  keepCard(view, makeTooltip(view, view.state.selection.main.head, chapter));
}

/** Cards on hover and on a click, which still places the cursor; `make` makes that of a place. */
function showCards(make: (view: EditorView, position: number) => Promise<Tooltip | null> | null): Extension {
  const hide = (view: EditorView) => view.state.field(clicked) !== null && (view.dispatch({ effects: showClicked.of(null) }), true);
  return [
    clicked,
    hoverTooltip((view, position) => make(view, position)?.then((card) => (view.state.field(clicked) ? null : card)) ?? null, { hoverTime: 250 }),
    EditorView.domEventHandlers({
      click: (event, view) => {
        const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && view.state.selection.main.empty;
        const position = isPlain ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
        if (position !== null) keepCard(view, make(view, position));
      },
      keydown: (event, view) => event.key === "Escape" && hide(view),
      blur: (_, view) => {
        // a link in the card may be what takes the focus
        setTimeout(() => view.dom.isConnected && !view.dom.contains(document.activeElement) && hide(view), 200);
      },
    }),
  ];
}

/** Mark names, and show the card of one as it stands at its place, with what breaks a rule there. */
export function mentions(chapter: () => string): Extension {
  return [
    marks,
    finder,
    showCards((view, position) => makeTooltip(view, position, chapter())),
    tooltips({ tooltipSpace: () => ({ left: 0, top: HEADER, right: innerWidth, bottom: innerHeight }) }),
    EditorView.domEventHandlers({ mousedown: openEntry }),
  ];
}

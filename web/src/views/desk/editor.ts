/** The editor of a chapter: CodeMirror on plain text, so an offset here is an offset for the server. */
import { defaultKeymap, history, historyField, historyKeymap, redo, undo } from "@codemirror/commands";
import { highlightSelectionMatches, searchKeymap, searchPanelOpen } from "@codemirror/search";
import { Compartment, EditorSelection, EditorState, Prec, RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, placeholder, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { commands } from "../../lib/commands.svelte";
import { findChanges } from "./merge";

const MARGINS = { top: 72, bottom: 84 }; // pixels in which notices may lie, so the cursor stays out of them

const theme = EditorView.theme({
  "&": { fontSize: "18px", color: "var(--ink)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--serif)", lineHeight: "1.75", overflow: "visible", padding: `${MARGINS.top}px 0 ${MARGINS.bottom}px`, margin: `-${MARGINS.top}px 0 -${MARGINS.bottom}px`, pointerEvents: "none" }, // a card of a name is shown within these margins too
  ".cm-content": { padding: "0", pointerEvents: "auto", caretColor: "var(--ink)", overflowWrap: "anywhere", textAutospace: "normal" },
  ".cm-line": { padding: "0", textIndent: "1.5em" },
  ".cm-line.cm-first": { textIndent: "0" },
  ".cm-content:lang(zh) .cm-line": { textIndent: "2em" },
  ".cm-content .cm-line.cm-flush": { textIndent: "0" },
  ".cm-line.cm-blank": { lineHeight: "0.3" },
  ".cm-placeholder": { textIndent: "0" },
  ".cm-emphasis": { fontStyle: "italic" },
  ".cm-broken": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "4px" },
  ".cm-line::selection, .cm-line ::selection, .cm-kept": { backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)" },
  ".cm-name": { background: "linear-gradient(transparent 62%, var(--mark) 62%)" },
  ".cm-name-unsure": { background: "none", borderBottom: "2px dotted var(--settings)" },
  ".cm-suggestion": { color: "var(--immediate)", whiteSpace: "pre-wrap" },
  ".cm-replaced": { textDecoration: "line-through", color: "var(--soft)" },
  ".cm-take": { fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.5", textIndent: "0", padding: "10px 0 14px" },
  ".cm-take:not(:has(.variants))": { position: "sticky", bottom: "0", zIndex: "2", background: "var(--paper)" }, // below a long answer too
  "&.cm-focus-mode .cm-line": { opacity: "0.35", transition: "opacity 120ms" },
  "&.cm-focus-mode .cm-line.cm-here": { opacity: "1" },
  ".cm-tooltip": { border: "1px solid var(--line)", borderRadius: "8px", background: "var(--paper)", color: "var(--ink)", boxShadow: "var(--lifted)" },
  ".cm-cards": { fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.5", maxWidth: "24rem", maxHeight: "18rem", overflow: "auto" },
  ".cm-card": { padding: "10px 14px" },
  ".cm-card + .cm-card": { borderTop: "1px solid var(--line)" },
  ".cm-card-name": { fontWeight: "600", textDecoration: "none", color: "var(--ink)" },
  ".cm-card-type": { color: "var(--soft)", marginLeft: "8px" },
  ".cm-card-text": { margin: "4px 0 0", whiteSpace: "pre-line" },
  ".cm-card-later": { margin: "6px 0 0", color: "var(--soft)" },
  ".cm-card-broken": { borderLeft: "3px solid var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)", borderColor: "var(--line)", fontFamily: "var(--sans)", zIndex: "3" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)", outline: "1px solid var(--settings)" },
  ".cm-selectionMatch": { backgroundColor: "var(--mark)" },
});

const blank = Decoration.line({ class: "cm-blank" });
const first = Decoration.line({ class: "cm-first" });
const flush = Decoration.line({ class: "cm-flush" });
const emphasis = Decoration.mark({ class: "cm-emphasis" });
const FLUSH = /^(\s|#{1,6} |\* ?\* ?\*|-{3}|~{3})/; // indented by its own spaces, or no paragraph: a heading, a break
const EMPHASIS = /(?<![*\p{L}\p{N}])\*(?![\s*])[^*]+(?<!\s)\*(?![*\p{L}\p{N}])/gu;
const here = Decoration.line({ class: "cm-here" });
const leftwards = Decoration.line({ attributes: { dir: "auto" } }); // begins at the side where its first letter does
const LEFTWARD = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/**
 * How lines are drawn: paragraphs are indented, and the empty line between two of them is narrow; further empty lines part
 * scenes and keep their height, and so does the one with the cursor. Emphasis is italic, and every line has its direction.
 */
const lines = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = drawLines(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged || update.selectionSet) this.decorations = drawLines(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function drawLines(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const cursor = view.state.doc.lineAt(view.state.selection.main.head).number;
  for (const { from, to } of view.visibleRanges) {
    for (let position = from; position <= to; ) {
      const line = view.state.doc.lineAt(position);
      if (line.number === cursor) builder.add(line.from, line.from, here);
      else if (!line.length && (line.number === 1 || view.state.doc.line(line.number - 1).length)) builder.add(line.from, line.from, blank);
      if (line.number === 1) builder.add(line.from, line.from, first);
      if (FLUSH.test(line.text)) builder.add(line.from, line.from, flush);
      if (LEFTWARD.test(line.text)) builder.add(line.from, line.from, leftwards);
      if (line.length < LONG_LINE) for (const found of line.text.matchAll(EMPHASIS)) builder.add(line.from + found.index, line.from + found.index + found[0].length, emphasis);
      position = line.to + 1;
    }
  }
  return builder.finish();
}

const LONG_LINE = 20_000; // characters; a longer line is no paragraph, and searching it costs every key

const kept = Decoration.mark({ class: "cm-kept" });

/**
 * What is selected stays visible while the writer is elsewhere, in the instruction for example. In the text itself the
 * browser draws cursor and selection: a cursor of our own would cost every key a second frame.
 */
const keptSelection = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet = Decoration.none;
    update({ view, state, focusChanged, selectionSet, docChanged }: ViewUpdate): void {
      if (!focusChanged && !selectionSet && !docChanged) return;
      const { from, to } = state.selection.main;
      this.decorations = from < to && !view.hasFocus ? Decoration.set(kept.range(from, to)) : Decoration.none;
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** What the editor says of itself, in the language of the page. */
export interface EditorLabels {
  text: string;
  /** Stands in a chapter without text. */
  placeholder: string;
  /** The language of the story. */
  lang: string;
}

/** What is kept of chapters that were open before: their cursor, and what can be undone. The last ones are kept. */
const keptStates = new Map<string, unknown>();
const MOST_KEPT = 20;
const KEPT_FIELDS = { history: historyField };

export interface EditorOptions {
  parent: HTMLElement;
  labels: EditorLabels;
  extensions: Extension;
  onchange: () => void;
  onmove: (view: EditorView) => void;
}

export class ChapterEditor {
  readonly view: EditorView;
  private readonly mode = new Compartment();
  private readonly access = new Compartment();
  private readonly wording = new Compartment();
  private isShowing = false;
  private key = ""; // of the chapter that is shown
  /** Where the cursor goes in a text that is on its way: behind an accepted answer. */
  findCursor: ((text: string) => number) | undefined;

  /** It shows no chapter at first, and nothing can be typed until one is opened. */
  constructor(private readonly options: EditorOptions) {
    this.view = new EditorView({ parent: options.parent, state: EditorState.create(this.configure("")) });
    this.setReadOnly(true);
  }

  private configure(text: string) {
    const { labels, extensions, onchange, onmove } = this.options;
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content;
    return {
      doc: text,
      selection: { anchor: text.trimEnd().length }, // a writer goes on at the end, until the cursor is put elsewhere
      extensions: [
        nonce ? EditorView.cspNonce.of(nonce) : [],
        history({ minDepth: 1000 }),
        EditorView.lineWrapping,
        EditorView.scrollMargins.of(() => MARGINS),
        highlightSelectionMatches({ minSelectionLength: 3, maxMatches: 200 }),
        extensions,
        Prec.highest(EditorView.domEventHandlers({ keydown: (event) => commands.press(event) })), // before any key of the editor
        keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        this.wording.of(this.word(labels)),
        this.mode.of([]),
        this.access.of([]),
        theme,
        lines,
        keptSelection,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !this.isShowing) onchange();
          if (update.docChanged || update.selectionSet || searchPanelOpen(update.state) !== searchPanelOpen(update.startState)) onmove(update.view);
        }),
      ],
    };
  }

  private word({ text, placeholder: hint, lang }: EditorLabels): Extension {
    const attributes = { "aria-label": text, lang, spellcheck: "true", autocapitalize: "sentences" };
    return [EditorView.contentAttributes.of(attributes), this.key ? placeholder(hint) : []];
  }

  /** Say the same in another language; the chapter stays open. */
  relabel(labels: EditorLabels): void {
    this.options.labels = labels;
    this.view.dispatch({ effects: this.wording.reconfigure(this.word(labels)) });
  }

  /** Whether a chapter is shown. */
  get hasChapter(): boolean {
    return this.key !== "";
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Show another chapter, whose key is its own in all books. What was done in it before can be undone. */
  open(key: string, text: string): void {
    this.keep();
    this.key = key;
    const before = keptStates.get(key);
    this.view.setState(before ? EditorState.fromJSON(before, this.configure(""), KEPT_FIELDS) : EditorState.create(this.configure(text)));
    if (before) this.show(text);
  }

  /** Keep what can be undone in the chapter, and the cursor, until it is opened again. */
  private keep(): void {
    if (!this.key) return;
    keptStates.delete(this.key);
    const { state } = this.view;
    keptStates.set(this.key, state.update({ selection: { anchor: state.selection.main.head } }).state.toJSON(KEPT_FIELDS));
    if (keptStates.size > MOST_KEPT) keptStates.delete(keptStates.keys().next().value!);
  }

  /**
   * Show a text that came from elsewhere as one change that can be undone. The cursor stays with its words; selected words
   * that were changed are not selected any more, or a key would delete others than the writer chose.
   */
  show(text: string): void {
    const { state } = this.view;
    const changes = state.changes(findChanges(this.text, text));
    if (changes.empty) return;
    const { from, to, head } = state.selection.main;
    const found = this.findCursor?.(text) ?? -1;
    const cursor = found >= 0 ? found : from < to && changes.touchesRange(from, to) ? changes.mapPos(head) : undefined;
    this.isShowing = true;
    this.view.dispatch({ changes, selection: cursor === undefined ? undefined : { anchor: cursor }, userEvent: "input.elsewhere" });
    this.isShowing = false;
  }

  /** Whether words are being searched for in the chapter. */
  get isSearching(): boolean {
    return searchPanelOpen(this.view.state);
  }

  /** Bring the cursor into sight. */
  showCursor(): void {
    this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.selection.main.head, { y: "center" }) });
  }

  /** Put words in at the cursor, or in place of the selection. */
  insert(text: string): void {
    this.view.dispatch(this.view.state.replaceSelection(text), { scrollIntoView: true, userEvent: "input" });
    this.view.focus();
  }

  /** Go to a stretch of the text. */
  reveal(from: number, to = from): void {
    const length = this.view.state.doc.length;
    const selection = EditorSelection.single(Math.min(from, length), Math.min(to, length));
    this.view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.main, { y: "center" }) });
    this.view.focus();
  }

  setFocusMode(isOn: boolean): void {
    this.view.dispatch({ effects: this.mode.reconfigure(isOn ? EditorView.editorAttributes.of({ class: "cm-focus-mode" }) : []) });
  }

  setReadOnly(isReadOnly: boolean): void {
    this.view.dispatch({ effects: this.access.reconfigure(isReadOnly ? EditorState.readOnly.of(true) : []) });
  }

  undo = () => undo(this.view);
  redo = () => redo(this.view);

  destroy(): void {
    this.keep();
    this.view.destroy();
  }
}

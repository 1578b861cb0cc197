/** Searching in the open chapter: the panel above the text, in the words and the look of the page. */
import { closeSearchPanel, findNext, findPrevious, getSearchQuery, replaceAll, replaceNext, search, SearchQuery, setSearchQuery } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { EditorView, runScopeHandlers, type Panel, type ViewUpdate } from "@codemirror/view";
import { mount, unmount, type Component } from "svelte";

const MOST_COUNTED = 1000; // places; counting more would cost every key

/** What is searched for in a chapter, where it was found, and what can be done with it. */
export class ChapterSearch {
  query = $state.raw(new SearchQuery({ search: "" }));
  /** How many places there are, at most one more than are counted, and which of them is selected. */
  count = $state(0);
  current = $state(0);
  readonly most = MOST_COUNTED;

  constructor(private readonly view: EditorView) {
    this.read();
  }

  /** Search for something else, or in another way. */
  change(part: Partial<ConstructorParameters<typeof SearchQuery>[0]>): void {
    const { search: words, caseSensitive, regexp, wholeWord, replace } = this.query;
    const query = new SearchQuery({ search: words, caseSensitive, regexp, wholeWord, replace, ...part });
    if (!query.eq(this.query)) this.view.dispatch({ effects: setSearchQuery.of(query) });
  }

  /** Take over what the editor searches for, and count it. */
  read(): void {
    const { state } = this.view;
    const { from, to } = state.selection.main;
    this.query = getSearchQuery(state);
    let [count, current] = [0, 0];
    if (this.query.valid) {
      const places = this.query.getCursor(state);
      for (let next = places.next(); !next.done && count <= MOST_COUNTED; next = places.next()) {
        count++;
        if (next.value.from === from && next.value.to === to) current = count;
      }
    }
    [this.count, this.current] = [count, current];
  }

  next = () => findNext(this.view);
  previous = () => findPrevious(this.view);
  replace = () => replaceNext(this.view);
  replaceAll = () => replaceAll(this.view);
  close = () => closeSearchPanel(this.view);
  /** Do what a key does in the panel; returns whether it does something. */
  press = (event: KeyboardEvent) => runScopeHandlers(this.view, event, "search-panel");
}

/** `part` draws the panel. */
export function searching(part: Component<{ search: ChapterSearch }>): Extension {
  const createPanel = (view: EditorView): Panel => {
    const dom = document.createElement("div");
    dom.className = "cm-search";
    const found = new ChapterSearch(view);
    const mounted = mount(part, { target: dom, props: { search: found } });
    const isOther = (update: ViewUpdate) => update.transactions.some((one) => one.effects.some((effect) => effect.is(setSearchQuery)));
    return {
      dom,
      top: true,
      mount: () => {
        const field = dom.querySelector<HTMLInputElement>("[main-field]");
        field?.focus({ preventScroll: true }); // the chapter stays where it is
        field?.select();
      },
      update: (update) => {
        if (update.docChanged || update.selectionSet || isOther(update)) found.read();
      },
      destroy: () => void unmount(mounted),
    };
  };
  return search({ top: true, createPanel });
}

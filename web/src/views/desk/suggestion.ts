/**
 * A suggestion in the text: it stands where it will stand, in the colour of the immediate layer, with its actions below.
 * The document does not hold it; only accepting puts it in.
 */
import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { mount, unmount, type Component } from "svelte";

/** Where a suggestion stands: behind a place, or in place of a stretch. */
export interface SuggestionPlace {
  from: number;
  to: number;
}

export const showSuggestion = StateEffect.define<SuggestionPlace | null>();

class SuggestionWidget extends WidgetType {
  constructor(
    private readonly part: Component,
    private readonly isBlock: boolean,
  ) {
    super();
  }

  override eq(other: SuggestionWidget): boolean {
    return other.part === this.part;
  }

  override toDOM(view: EditorView): HTMLElement {
    const dom = document.createElement(this.isBlock ? "div" : "span");
    dom.className = this.isBlock ? "cm-take" : "cm-suggestion";
    const mounted = mount(this.part, { target: dom });
    const observer = new ResizeObserver(() => view.requestMeasure());
    observer.observe(dom);
    widgets.set(dom, () => {
      observer.disconnect();
      void unmount(mounted);
    });
    return dom;
  }

  override destroy(dom: HTMLElement): void {
    widgets.get(dom)?.();
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const widgets = new WeakMap<HTMLElement, () => void>();
const replaced = Decoration.mark({ class: "cm-replaced" });

/** The place moves with its words: what is typed right there stands before what is inserted, and stays out of what is replaced. */
const field = StateField.define<SuggestionPlace | null>({
  create: () => null,
  update(value, transaction) {
    let place = value;
    if (value && transaction.docChanged) {
      const from = transaction.changes.mapPos(value.from, 1);
      place = { from, to: Math.max(from, transaction.changes.mapPos(value.to, value.to > value.from ? -1 : 1)) };
    }
    for (const effect of transaction.effects) if (effect.is(showSuggestion)) place = effect.value;
    return place;
  },
});

/** Return where the suggestion stands now, if there is one. */
export const placeOf = (view: EditorView): SuggestionPlace | null => view.state.field(field);

/** `text` draws the suggested words, `actions` what can be done with them. */
export function suggestions(text: Component, actions: Component): Extension {
  const words = Decoration.widget({ widget: new SuggestionWidget(text, false), side: 1 });
  const buttons = Decoration.widget({ widget: new SuggestionWidget(actions, true), side: 2, block: true });
  const decorations = EditorView.decorations.compute([field], (state): DecorationSet => {
    const place = state.field(field);
    if (!place) return Decoration.none;
    const ranges = [words.range(place.to), buttons.range(state.doc.lineAt(place.to).to)];
    return Decoration.set(place.to > place.from ? [replaced.range(place.from, place.to), ...ranges] : ranges, true);
  });
  return [field, decorations];
}

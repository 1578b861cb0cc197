/** What a writer does with the assistant: ask, accept, accept by sentence, write again, reject. */
import type { Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { Problem, type Schemas } from "../../lib/api";
import { countCharacters } from "../../lib/characters";
import { context } from "../../lib/context.svelte";
import { t } from "../../lib/i18n/index.svelte";
import { story } from "../../lib/story.svelte";
import { attempt, toasts } from "../../lib/toasts.svelte";
import { readUnsaved, writeUnsaved } from "../../lib/unsaved.svelte";
import type { HandedPrompt } from "./assistant.svelte";
import { desk } from "./desk.svelte";
import { findChanges } from "./merge";
import { placeOf, showSuggestion } from "./suggestion";
import { texts } from "./texts";

/** Where the answer stood that was rejected last, and in which text; `rest` is what was left out where sentences of it were taken. */
let rejected: { doc: Text; requestedDocument: Text | null; place: typeof place; lead: string; rest?: string } | null = null;
let place = { documentId: "", cursorPosition: 0, selection: undefined as [number, number] | undefined };
/** The text that the answer was asked for, if it was asked for here. */
let requestedDocument: Text | null = null;
/** The text for which the prompt was made that was handed over. */
let handed: Text | null = null;

/** A prompt that was handed over, as this browser keeps it: its place, the hash of its text, and the answer so far. */
interface KeptPrompt extends HandedPrompt {
  place: typeof place;
  text: string;
  answer: string;
}
const nameKept = (chapter: string) => `desk.${chapter}.handed`;
const readKept = (chapter: string) => readUnsaved<KeptPrompt>(nameKept(chapter))?.value;
const forgetKept = () => writeUnsaved(nameKept(place.documentId), null);

/** Ask the chosen skill at the cursor. The chapter is saved first, so that the answer fits the text it was written for. */
export async function ask(skillId = desk.assistant.skillId): Promise<void> {
  const { assistant, chapter, editor } = desk;
  if (!editor || !assistant.skill || assistant.state === "writing") return;
  await chapter.save();
  if (chapter.conflict || isWriting()) return;
  const { from, to } = editor.view.state.selection.main;
  place = { documentId: chapter.id, cursorPosition: to, selection: to > from ? [from, to] : undefined };
  await request({ skillId });
}

/** Whether an answer is being written: it may have begun while something else was waited for. */
const isWriting = () => desk.assistant.state === "writing";

/** Ask at the place; `again` is a run that is written anew. */
async function request(wish: { skillId: string; instruction?: string; again?: string }): Promise<void> {
  const { assistant, editor } = desk;
  if (!editor || isWriting()) return;
  requestedDocument = editor.view.state.doc;
  const writing = assistant.ask(place, wish);
  if (assistant.isHandOver) {
    hide();
    handed = requestedDocument;
    desk.hasSide = true;
  } else {
    if (assistant.isProse) suggest();
    else hide();
    desk.up = "";
  }
  forgetKept();
  await writing;
  if (assistant.state !== "done") hide();
  await keepHanded();
  if (assistant.problem) toasts.show(assistant.problem, { kind: "bad", isOffline: assistant.isOffline });
}

/** Where the answer stands now: its place moves with the text. */
function readPlace(): typeof place {
  const at = desk.editor && placeOf(desk.editor.view);
  if (!at || desk.editor?.view.state.doc === requestedDocument) return place;
  return { ...place, cursorPosition: at.to, selection: at.to > at.from ? [at.from, at.to] : undefined };
}

/** What the answer takes the place of, or twice where it is put in. */
function rangeOf({ cursorPosition, selection }: typeof place): [number, number] {
  const isReplaced = selection !== undefined && desk.assistant.askedSkill?.answer === "replace";
  return isReplaced ? selection : [cursorPosition, cursorPosition];
}

/** Keep the prompt that was handed over, until it has its answer or is put away. */
async function keepHanded(): Promise<void> {
  const { assistant, editor } = desk;
  const prompt = assistant.handed;
  if (prompt && editor) writeUnsaved(nameKept(place.documentId), { ...prompt, place, text: await hash(editor.text), answer: "" } satisfies KeptPrompt);
}

/** Return what was typed as the answer to the prompt that was handed over. */
export function readPasted(): string {
  return readKept(place.documentId)?.answer ?? "";
}

/** Keep what is typed as the answer to the prompt that was handed over. */
export function keepPasted(answer: string): void {
  const kept = readKept(place.documentId);
  if (kept) writeUnsaved(nameKept(place.documentId), { ...kept, answer });
}

/** Show the prompt again that was handed over in the chapter and still waits for an answer; returns whether there is one. */
async function takeUpHanded(): Promise<boolean> {
  const { assistant, chapter, editor } = desk;
  const { id } = chapter;
  const kept = readKept(id);
  if (!kept || !editor) return false;
  if (!assistant.skills.length) await assistant.load();
  if (chapter.id !== id || assistant.state !== "idle" || !assistant.skills.some((one) => one.id === kept.skillId)) return false;
  const isSame = kept.text !== "" && kept.text === (await hash(editor.text));
  handed = isSame ? editor.view.state.doc : null;
  ({ place } = kept);
  assistant.hand(kept);
  desk.hasSide = true;
  return true;
}

/** Show the answer where it will stand. */
function suggest(): void {
  const { assistant, editor } = desk;
  if (!editor) return;
  const [from, to] = rangeOf(place);
  assistant.lead = from < to ? "" : findLead(editor.text, from);
  editor.view.dispatch({ effects: [showSuggestion.of({ from, to }), EditorView.scrollIntoView(to, { y: "center" })] });
  if (innerWidth >= 900) editor.view.focus(); // the keys on the buttons below the suggestion are keys of the text
}

/** Take an answer that a person brought from elsewhere; one that belongs into the text stands there until it is decided. */
export function paste(text: string): void {
  const { assistant, editor } = desk;
  if (!editor || !text.trim()) return;
  const { doc } = editor.view.state;
  if (doc !== handed) {
    // The text was changed since: behind the paragraph, and in place of nothing.
    const at = doc.lineAt(Math.min(place.cursorPosition, doc.length)).to;
    place = { ...place, cursorPosition: at, selection: undefined };
  }
  requestedDocument = doc === handed ? doc : null;
  assistant.paste(text);
  if (assistant.state === "idle") forgetKept(); // an answer that is only read needs no decision
  if (!assistant.isProse) return;
  desk.up = "";
  suggest();
}

/** Leave a prompt that was handed over without an answer. */
export async function putAway(): Promise<void> {
  forgetKept();
  await desk.assistant.reject();
}

/** Take up an answer again that was left undecided: the last one of the chapter, or that of a run; `isShown` brings it into sight. */
export async function takeUp(runId = "", isShown = Boolean(runId)): Promise<void> {
  const { assistant, chapter, editor } = desk;
  const { id } = chapter;
  if (!editor || !id || assistant.state !== "idle" || (!runId && (await takeUpHanded()))) return;
  const found = await assistant.resume(id, runId);
  if (!found || chapter.id !== id) return;
  const { doc } = editor.view.state;
  const isSame = found.text === (await hash(editor.text));
  const unitsOf = (characters: number) => Array.from(editor.text).slice(0, characters).join("").length;
  const selection = found.answer === "replace" && found.selection && isSame ? (found.selection.map(unitsOf) as [number, number]) : undefined;
  const isReplaced = selection !== undefined;
  const cursor = unitsOf(found.cursor);
  const at = isSame ? cursor : doc.lineAt(Math.min(cursor, doc.length)).to; // in a text that was changed since, behind a paragraph
  place = { documentId: id, cursorPosition: at, selection };
  requestedDocument = isSame ? doc : null;
  const [start, end] = selection ?? [at, at];
  assistant.lead = isReplaced ? "" : findLead(editor.text, start);
  editor.view.dispatch({ effects: [showSuggestion.of({ from: start, to: end }), ...(isShown ? [EditorView.scrollIntoView(end, { y: "center" })] : [])] });
}

/** The SHA-256 of a text, as the server names the text that an answer was written for; none where the browser has no such thing. */
async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle?.digest("SHA-256", new TextEncoder().encode(text));
  return digest ? [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("") : "";
}

/** Return what will stand between the text before and the suggestion, as the server will put it in. */
export function findLead(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - 200), at);
  if (!before || before.endsWith("\n")) return "";
  const isAtEnd = at >= text.length || text[at] === "\n";
  if (isAtEnd && /[.!?。！？…][”’"'」』）)]*\s*$/.test(before)) return text.includes("\n") && !text.includes("\n\n") ? "\n" : "\n\n";
  return /[^\s\p{Script=Han}。，！？；：、“‘（—…]$/u.test(before) ? " " : "";
}

/**
 * Write anew what was not taken; sentences that were taken go into the text first. Where the text was changed since, it
 * is asked for where the answer stands now. The answer stays where another one does not come.
 */
export async function askAgain(): Promise<void> {
  const { assistant, chapter, editor } = desk;
  const instruction = assistant.instruction || assistant.askedInstruction;
  const [from, to] = rangeOf(readPlace());
  const skillId = assistant.askedSkill?.id;
  if (assistant.state !== "done" || !editor || !skillId) return;
  if (assistant.taken > 0) {
    await accept(readTaken());
    if (from < to) return; // what was to be replaced is replaced
    assistant.instruction = instruction;
    return ask(skillId);
  }
  await chapter.save();
  if (chapter.conflict || isWriting()) return;
  const { answer } = assistant;
  const isSame = requestedDocument !== null && editor.view.state.doc.eq(requestedDocument);
  const again = isSame ? (assistant.variant?.runId ?? "") : "";
  if (!again) await assistant.rejectRuns();
  if (isWriting()) return;
  place = readPlace();
  await request({ skillId, instruction, again });
  if (chapter.id === place.documentId && assistant.restore(answer)) showAgain();
}

/** Accept the answer as it stands, also where sentences were taken before. */
export async function acceptAll(): Promise<void> {
  await accept(desk.assistant.text);
}

/** Let another variant stand in the text. */
export function chooseVariant(index: number): void {
  const { assistant, editor } = desk;
  if (index !== assistant.chosen) assistant.edited = null;
  assistant.chosen = index;
  editor?.view.focus(); // the keys on the buttons are keys of the text
}

/** Take the next sentence; the last one accepts what was taken. */
export async function acceptSentence(): Promise<void> {
  const { assistant } = desk;
  if (assistant.state !== "done") return;
  assistant.taken++;
  if (assistant.taken >= assistant.sentences.length) await acceptAll();
}

/** Leave out what was not taken: nothing, or all but the taken sentences. */
export async function rejectAll(): Promise<void> {
  const { assistant, editor } = desk;
  if (assistant.taken > 0) return rejectRest();
  rejected = editor ? { doc: editor.view.state.doc, requestedDocument, place: readPlace(), lead: assistant.lead } : null;
  hide();
  forgetKept();
  const went = assistant.reject();
  editor?.view.focus();
  toasts.done(t(texts.rejected), () => void bringBack());
  await went;
}

/** Accept the sentences that were taken; what was left out can be brought back behind them. */
async function rejectRest(): Promise<void> {
  const { assistant, chapter, editor } = desk;
  const taken = readTaken();
  const rest = assistant.text.slice(taken.length).trimEnd();
  const end = await accept(taken);
  if (!editor || end < 0 || !rest.trim()) return;
  const lead = /^\s/.test(rest) ? "" : findLead(editor.text, end);
  const { doc } = editor.view.state;
  rejected = { doc, requestedDocument: doc, place: { documentId: chapter.id, cursorPosition: end, selection: undefined }, lead, rest };
  toasts.done(t(texts.rejectedRest), () => void bringBack());
}

/** Show again what was rejected last, as long as the text is the same; returns whether there was something. */
export function bringBack(): boolean {
  const { assistant, editor } = desk;
  if (!rejected || !editor || editor.view.state.doc !== rejected.doc || assistant.state !== "idle") return false;
  const { rest, lead } = rejected;
  if (rest === undefined && !assistant.restore()) return false;
  ({ place, requestedDocument } = rejected);
  rejected = null;
  assistant.lead = lead;
  if (rest === undefined) showAgain();
  else void attempt(async () => (await assistant.offer(place.documentId, rest, countCharacters(editor.text, place.cursorPosition))) && showAgain());
  return true;
}

/** Show an answer that was brought back where it stood, and bring it into sight. */
function showAgain(): void {
  const { editor } = desk;
  if (!editor) return;
  const [from, to] = rangeOf(place);
  editor.view.dispatch({ effects: [showSuggestion.of({ from, to }), EditorView.scrollIntoView(to, { y: "center" })] });
  editor.view.focus();
}

function readTaken(): string {
  const { assistant } = desk;
  return assistant.sentences.slice(0, assistant.taken).join("").trimEnd();
}

/** Accept a text; returns where it ends in the chapter, or -1 where it did not go into it as an answer. */
async function accept(text: string): Promise<number> {
  const { assistant, chapter, editor } = desk;
  if (assistant.state !== "done" || !editor) return -1;
  let end = -1;
  const skill = assistant.askedSkill?.answer;
  let [start] = rangeOf(readPlace());
  const findEnd = (whole: string) => {
    const at = whole.indexOf(text, start);
    return at < 0 ? -1 : at + text.length;
  };
  try {
    await chapter.save();
    [start] = rangeOf(readPlace());
    editor.findCursor = findEnd; // in the same step as the text, so that the cursor comes with it when it is redone
    const accepted = await send(text);
    forgetKept();
    if (skill === "entries") {
      await story.loadEntries();
      toasts.done(t(texts.acceptedEntries, { n: accepted.entries.length }));
    }
    [start] = rangeOf(readPlace());
    hide();
    assistant.clear();
    assistant.forgetInstruction();
    await chapter.refresh();
    end = findEnd(editor.text);
    if (end >= 0) editor.reveal(end);
  } catch (error) {
    if (!isStale(error) || !assistant.isProse) throw error;
    keepAsText(text);
  } finally {
    editor.findCursor = undefined;
  }
  context.refresh();
  return end;
}

const isStale = (error: unknown) => error instanceof Problem && error.code === "CONTEXT_DOCUMENT_STALE";

/** Tell the server that a text goes into the chapter where the answer stands now; once more where the chapter was changed elsewhere. */
async function send(text: string): Promise<Schemas["AcceptedAnswerInfo"]> {
  const { assistant } = desk;
  if (!assistant.isProse) return assistant.accept(text);
  try {
    return await assistant.accept(text, findTarget());
  } catch (error) {
    if (!isStale(error)) throw error;
    await desk.chapter.refresh();
    return assistant.accept(text, findTarget());
  }
}

/** Where the answer stands in the text that the server has, which what is typed right now is not part of. */
function findTarget(): { target: [number, number]; expectedRevision: number } {
  const { base, revision } = desk.chapter;
  const saved = desk.editor!.view.state.changes(findChanges(desk.editor!.text, base));
  const [from, to] = rangeOf(readPlace()).map((at) => countCharacters(base, saved.mapPos(at, 1)));
  return { target: [from!, to!], expectedRevision: revision };
}

/** The words that were to be replaced were changed, or the chapter is in conflict: the answer goes in as the writer's own words. */
function keepAsText(text: string): void {
  const { assistant, editor } = desk;
  const [from, to] = rangeOf(readPlace());
  const insert = (from < to ? "" : findLead(editor!.text, from)) + text;
  forgetKept();
  hide();
  assistant.clear();
  assistant.forgetInstruction();
  editor!.view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, scrollIntoView: true, userEvent: "input" });
  editor!.view.focus();
  toasts.show(t(texts.keptAsText));
}

function hide(): void {
  desk.editor?.view.dispatch({ effects: showSuggestion.of(null) });
}

// Measures @vscode/prompt-tsx: N prioritised fragments pruned to a token budget.
//
//   node prompt_tsx.mjs < input.json
//
// Input, one JSON object on stdin:
//   {"items": [{"text": str, "priority": number}], "budget": int, "repeat": int,
//    "tokenizer": "o200k_base" (default) or "free", "shape": "chunks" (default) or "messages"}
// Output, one JSON line:
//   {"ms": [one per repeat], "used": tokens in the result, "kept": items in the result}
//
// Each repeat gets a new tokenizer with an empty cache. The clock covers building
// the elements, counting and pruning; it leaves out loading the tokenizer's ranks.
// "free" counts characters / 4, so that what is left is the library's own time.
// "chunks" puts every item in one user message; "messages" makes each item a user
// message of its own, which the library joins and prunes much faster when N is large.
import { OutputMode, PromptElement, TextChunk, UserMessage, renderPrompt } from '@vscode/prompt-tsx';
import { GptEncoding } from 'gpt-tokenizer/GptEncoding';
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';
import { text as readAll } from 'node:stream/consumers';

// The globals that prompt-tsx sets as its JSX factory and fragment.
const { vscpp, vscppf } = globalThis;

/** `<UserMessage>` around one `<TextChunk priority={p}>` for each item. */
class Chunks extends PromptElement {
  render() {
    const chunks = this.props.items.map(({ text, priority }) => vscpp(TextChunk, { priority }, text));
    return vscpp(UserMessage, {}, chunks);
  }
}

/** One `<UserMessage priority={p}>` for each item. */
class Messages extends PromptElement {
  render() {
    const messages = this.props.items.map(({ text, priority }) => vscpp(UserMessage, { priority }, text));
    return vscpp(vscppf, {}, messages);
  }
}

/** A new function from text to its number of tokens. */
function newCounter(kind) {
  if (kind === 'free') {
    return text => Math.ceil(text.length / 4);
  }
  if (kind !== 'o200k_base') {
    throw new Error(`unknown tokenizer: ${kind}`);
  }
  const encoding = GptEncoding.getEncodingApi('o200k_base', () => ranks);
  const ordinary = { disallowedSpecial: new Set() }; // a special token in the text is plain text
  return text => encoding.countTokens(text, ordinary);
}

/** The tokenizer interface that prompt-tsx asks for; a message costs what its text costs. */
function asTokenizer(count) {
  return {
    mode: OutputMode.OpenAI,
    tokenLength: part => count(part.text ?? ''),
    countMessageTokens: message => count(message.content),
  };
}

/** How many items stand in the one message: in order, each ended by a line break or by the message. */
function countKept(items, message) {
  let kept = 0;
  let at = 0;
  for (const { text } of items) {
    const line = text.endsWith('\n') || at + text.length === message.length ? text : `${text}\n`;
    if (message.startsWith(line, at)) {
      kept += 1;
      at += line.length;
    }
  }
  if (at < message.length) {
    throw new Error('the message holds text that is no item');
  }
  return kept;
}

const input = JSON.parse(await readAll(process.stdin));
const { items, budget, repeat = 1, tokenizer = 'o200k_base', shape = 'chunks' } = input;
const prompt = { chunks: Chunks, messages: Messages }[shape];
const endpoint = { modelMaxPromptTokens: budget };
const ms = [];
let texts = [];
for (let i = 0; i < repeat; i += 1) {
  const model = asTokenizer(newCounter(tokenizer));
  const start = performance.now();
  const { messages } = await renderPrompt(prompt, { items }, endpoint, model, undefined, undefined, model.mode);
  ms.push(Number((performance.now() - start).toFixed(3)));
  texts = messages.map(message => message.content);
}
const count = newCounter(tokenizer);
const used = texts.reduce((sum, text) => sum + count(text), 0);
const kept = shape === 'messages' ? texts.length : countKept(items, texts.join(''));
console.log(JSON.stringify({ ms, used, kept }));

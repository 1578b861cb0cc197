/** Cut a text into sentences that give the text again when they are joined. */
export function splitSentences(text: string, lang: string): string[] {
  if (!text) return [];
  if (typeof Intl.Segmenter === "undefined") return text.match(/[^.!?。！？]+[.!?。！？”’"]*\s*/g) ?? [text];
  const cut = [...new Intl.Segmenter(lang === "und" ? "en" : lang, { granularity: "sentence" }).segment(text)].map((one) => one.segment);
  const joined: string[] = [];
  for (const piece of cut) {
    // A closing quote or an empty rest belongs to the sentence before.
    if (joined.length && !/[\p{L}\p{N}]/u.test(piece)) joined[joined.length - 1] += piece;
    else joined.push(piece);
  }
  return joined;
}

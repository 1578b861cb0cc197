/** Numbers as people type them: `64000`, `64,000` or `64 000`. */

const GROUPED = /^[+-]?\d{1,3}([,，\s\u00a0\u202f]\d{3})+(\.\d+)?$/;

/** Return the number that was typed, null for nothing, or the text itself where it is none. */
export function readNumber(text: string): number | null | string {
  const typed = text.trim();
  if (!typed) return null;
  const number = Number(GROUPED.test(typed) ? typed.replace(/[,，\s\u00a0\u202f]/g, "") : typed);
  return Number.isFinite(number) ? number : typed;
}

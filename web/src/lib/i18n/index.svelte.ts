/**
 * Both languages side by side: every text is a pair, written twice and not translated. A view keeps its pairs in a file
 * `texts.ts` beside it, so a text that lacks a language does not compile.
 */
export type Language = "en" | "zh";
/** A text with `{names}`; English may have a form for one thing and a form for several, by the value `n`. */
export interface Text {
  en: string | { one: string; other: string };
  zh: string;
}
export type Values = Record<string, string | number>;

class LanguageState {
  current = $state<Language>("en");

  set(value: Language): void {
    this.current = value;
    document.documentElement.lang = value === "zh" ? "zh-CN" : "en";
    try {
      localStorage.setItem("fabula.language", value);
    } catch {
      // a browser may keep nothing
    }
  }

  /** Take the language that was chosen here, else the browser's. */
  restore(): void {
    let kept: string | null = null;
    try {
      kept = localStorage.getItem("fabula.language");
    } catch {
      // a browser may keep nothing
    }
    const wanted = kept ?? navigator.language;
    this.set(wanted.toLowerCase().startsWith("zh") ? "zh" : "en");
  }
}

export const language = new LanguageState();

/** Check at compile time that every text has both languages. */
export function defineTexts<T extends Record<string, Text>>(texts: T): T {
  return texts;
}

/** Return a text in the present language, with its values put in. */
export function t(text: Text, values: Values = {}): string {
  const found = text[language.current];
  const form = typeof found === "string" ? found : Number(values.n) === 1 ? found.one : found.other;
  return form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === "number" ? formatNumber(value) : (value ?? `{${name}}`);
  });
}

export function formatNumber(value: number, options: Intl.NumberFormatOptions = {}): string {
  return new Intl.NumberFormat(language.current === "zh" ? "zh-CN" : "en-GB", options).format(value);
}

/** Return millionths of a currency as an amount; small ones with more digits. */
export function formatMoney(micros: number, currency: string): string {
  const options = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
  try {
    return formatNumber(micros / 1e6, { style: "currency", currency: currency || "USD", ...options });
  } catch {
    return `${formatNumber(micros / 1e6, options)} ${currency}`; // a price table may name any currency
  }
}

/** Return a time of the server, which is in UTC, as people say it. */
export function formatTime(value: string): string {
  const time = new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(value) ? value : `${value}Z`);
  if (Number.isNaN(time.getTime())) return value;
  const locale = language.current === "zh" ? "zh-CN" : "en-GB";
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(time);
}

/** Return the `lang` of a story's text: of the language it is written in, not of the page. */
export function langOf(storyLanguage: string | undefined): string {
  return storyLanguage === "zh" ? "zh-CN" : storyLanguage === "other" || !storyLanguage ? "und" : "en";
}

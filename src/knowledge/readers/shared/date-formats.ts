/** Texts that a format shows as they are, conditions and languages, and the halves of a day. */
const AS_THEY_ARE = /"[^"]*"|\\.|\[[^\]]*\]|_.|\*.|AM\/PM|A\/P/gi;
/** Characters such as `年` stand for themselves. */
const WORDS = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+/gu;
/** A part of a date is one letter, once or repeated. */
const PART = /^(\p{L})\1*$/iu;
/** Parts without anything between them, as in `JJJJMMTT`. */
const PARTS = /^(?:(\p{L})\1+)+$/iu;
/** Places of digits stand in formats of other numbers only, and in parts of a second. */
const DIGIT_PLACES = /[0#?@]/;
/** The letters of years, months, days, hours, minutes, seconds and eras that the library knows. */
const KNOWN = /^[ymdhsegb]/i;
const ALL_KNOWN = /^[ymdhsegb]+$/i;
const TEXTS = /"[^"]*"|[\\_*]./g;
/** Hours, minutes or seconds that go on above a day. */
const DURATION = /\[([hms])\1*\]/i;

/** A date in letters that the library does not know, one that it knows, or no date of several parts. */
export type DateFormat = "foreign" | "known" | "none";

/** Tells dates of several parts apart; the format is one that the library takes for a date. */
export function kindOfDate(format: string): DateFormat {
  const { shown, words } = wordsOf(format);
  const parts = words.filter((word) => PART.test(word));
  if (parts.length < 2 || DIGIT_PLACES.test(shown)) return "none";
  const areKnown = words.every((word) => PART.test(word) && KNOWN.test(word));
  return areKnown ? "known" : "foreign";
}

/** What numbers of a format are. `clock` shows a time alone, and its number may hold a day as well. */
export type TimeFormat = "date" | "clock" | "duration" | "none";

/** @param isDate what the library takes for a date: also `Standard` and `0 Stk`, for their letters. */
export function kindOfTime(format: string, isDate: (format: string) => boolean): TimeFormat {
  if (!isDate(format)) return "none";
  const { words } = wordsOf(format);
  const areParts = words.every((word) => ALL_KNOWN.test(word) || PARTS.test(word));
  if (!areParts && kindOfDate(format) === "none") return "none";
  if (DURATION.test(format.replaceAll(TEXTS, ""))) return "duration";
  const letters = words.join("");
  return /[hs]/i.test(letters) && !/[dy]/i.test(letters) ? "clock" : "date";
}

function wordsOf(format: string): { readonly shown: string; readonly words: readonly string[] } {
  // The second part of a format is that of negative numbers.
  const [shown = ""] = format.replaceAll(AS_THEY_ARE, " ").split(";");
  return { shown, words: shown.match(WORDS) ?? [] };
}

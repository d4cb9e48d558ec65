/** Scripts that put no spaces between words, and Korean, which writes its particles onto them. */
const UNSPACED =
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー]";
const SPACED = `[[\\p{L}\\p{M}\\p{N}]--${UNSPACED}]+`;
/** A run of such a script, or a word with its connected parts: `E-4711`, `XR-20/B`, `10.0.0.1`. */
const RUN = new RegExp(`${UNSPACED}+|${SPACED}(?:[\\-_.\\/'’]${SPACED})*`, "gv");
const IS_UNSPACED = new RegExp(`^${UNSPACED}`, "u");
/** Thai is the first of these scripts. */
const UNSPACED_FROM = 0x0e00;
const ASCII = /^[\0-\x7f]*$/;
const CONNECTORS = /[-_./'’]+/u;
/** What a literal doubles. */
const DOUBLED = /['\\]/g;
const DIGIT = /\p{N}/u;
const ACCENTS = /(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+/gu;

/** Longer words are cut: a lexeme of PostgreSQL has at most 2,046 bytes. */
const WORD_MAX_CHARACTERS = 64;
/** PostgreSQL keeps as many positions of a lexeme, and none beyond the second number. */
const POSITIONS_MAX = 255;
const POSITION_MAX = 16_383;
/** The words of a text that are indexed; a passage has fewer. */
const TEXT_WORDS_MAX = 20_000;
/** The words of a question that are searched: of a long one the first and the last, where what is asked may stand. */
const QUESTION_WORDS_MAX = 200;
/** Longer words are also found by their beginning, which they share with their inflected forms and compounds. */
const STEM_CHARACTERS = 5;
/** No word has it, so that a beginning never equals a whole word. */
const STEM_MARK = "~";

/**
 * Returns a text's words as the literal of a `tsvector`. They are split without knowledge of the language: in lower
 * case and without accents; codes whole, without their signs, and in parts; scripts without spaces in pairs of
 * characters; and longer words also by their beginning, which inflected forms and compounds share.
 */
export function tsvectorOf(text: string): string {
  const positions = new Map<string, number[]>();
  let position = 0;
  for (const word of wordsOf(text, TEXT_WORDS_MAX)) {
    position = Math.min(position + 1, POSITION_MAX);
    const known = positions.get(word);
    if (known === undefined) positions.set(word, [position]);
    else if (known.length < POSITIONS_MAX && known.at(-1) !== position) known.push(position);
  }
  const lexemes: string[] = [];
  for (const [word, at] of positions) lexemes.push(`${quoted(word)}:${at.join(",")}`);
  return lexemes.join(" ");
}

/** What is looked for in the words of texts. */
export interface QuestionWords {
  /** Each once, as `tsvectorOf` writes them. */
  readonly words: readonly string[];
  /** Those of them that may be codes: they have a digit and stand in the question as they are. */
  readonly codes: ReadonlySet<string>;
}

export function questionWords(question: string): QuestionWords {
  const all = [...new Set(wordsOf(question, TEXT_WORDS_MAX))];
  const half = QUESTION_WORDS_MAX / 2;
  const isLong = all.length > QUESTION_WORDS_MAX;
  const words = new Set(isLong ? [...all.slice(0, half), ...all.slice(-half)] : all);
  const codes = runsOf(question)
    .filter((word) => DIGIT.test(word))
    .map(cut);
  return { words: [...words], codes: new Set(codes.filter((code) => words.has(code))) };
}

/** Returns the literal of a `tsquery` for texts that have any of the words. */
export function tsqueryOf(words: readonly string[]): string {
  return words.map(quoted).join(" | ");
}

function wordsOf(text: string, limit: number): readonly string[] {
  const words: string[] = [];
  for (const run of runsOf(text)) {
    if (words.length >= limit) break;
    words.push(...(isUnspaced(run) ? pairsOf(run) : formsOf(run)));
  }
  return words.slice(0, limit);
}

function runsOf(text: string): readonly string[] {
  return folded(text).match(RUN) ?? [];
}

function isUnspaced(run: string): boolean {
  return run.charCodeAt(0) >= UNSPACED_FROM && IS_UNSPACED.test(run);
}

/** Compatible characters become one; case and accents are ignored. */
function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const lower = text.normalize("NFKC").toLowerCase().replaceAll("ß", "ss");
  return lower.normalize("NFD").replaceAll(ACCENTS, "").normalize("NFC");
}

/** The forms under which a connected word is found. */
function formsOf(connected: string): readonly string[] {
  if (!CONNECTORS.test(connected)) return plainForms(connected);
  const parts = connected.split(CONNECTORS);
  const joined = parts.join("");
  const whole = DIGIT.test(connected) ? [connected, joined] : [joined];
  return [...whole.map(cut), ...parts.flatMap(plainForms)];
}

function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

function plainForms(word: string): readonly string[] {
  if (DIGIT.test(word) || word.length < STEM_CHARACTERS) return [cut(word)];
  return [cut(word), STEM_MARK + word.slice(0, STEM_CHARACTERS)];
}

function cut(word: string): string {
  return word.slice(0, WORD_MAX_CHARACTERS);
}

function quoted(word: string): string {
  return `'${word.replace(DOUBLED, "$&$&")}'`;
}

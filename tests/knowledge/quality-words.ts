export type QualityLanguage = "en" | "de" | "ja";

/** Function words and question words: sharing them with a text says nothing about its subject. */
const functionWords = new Set(
  (
    "the and for are was were that this with from have has had not does did can could may might must should will would " +
    "who whom what when where which why how into than then them they their there your our you its his her one two any all " +
    "out off over under about after before until being been does some only just much many long get got give take takes make " +
    "der die das den dem des ein eine einen einem einer eines und oder nicht kein mit von vom zum zur für auf aus bei beim " +
    "ist sind war wird werden wurde hat haben kann darf muss soll sollen müssen dürfen wer wem wen was wann wie viel viele " +
    "welche welcher welches welchem wo wohin warum weshalb wieso ich man mein meine meinem sich uns unser unsere als wenn falls " +
    "sonst noch nur auch über unter nach vor bis durch ohne denn eigentlich"
  ).split(" "),
);

const wordPattern = /[\p{L}\p{N}]+(?:[-./][\p{L}\p{N}]+)*/gu;
const kanaRunPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu;

const isCode = (word: string): boolean => /[-./]/.test(word) && /\p{N}/u.test(word);

/** Distinct words after NFKC and lower-casing; a code with - / . stays whole, other compounds are split. */
function wordsOf(text: string): Set<string> {
  const found = text.normalize("NFKC").toLowerCase().match(wordPattern) ?? [];
  return new Set(found.flatMap((word) => (isCode(word) ? [word] : word.split(/[-./]/))));
}

/** Distinct pairs of neighbouring characters inside runs of kanji and kana. */
export function bigramsOf(text: string): Set<string> {
  const runs = text.normalize("NFKC").match(kanaRunPattern) ?? [];
  const pairs = runs.flatMap((run) => {
    const characters = [...run];
    return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
  });
  return new Set(pairs);
}

/** What the rules count in this language: bigrams in Japanese, words elsewhere. */
export function termsOf(language: QualityLanguage, text: string): Set<string> {
  return language === "ja" ? bigramsOf(text) : wordsOf(text);
}

/** Codes such as `e-4711` or `xr-20/b`: groups of Latin letters and digits joined by - . or /, at least one digit among them. */
export function codesOf(text: string): Set<string> {
  const found =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[a-z0-9]+(?:[-./][a-z0-9]+)+/g) ?? [];
  return new Set(
    found.filter((code) => /\d/.test(code) && (/^[a-z]+\d*-/.test(code) || /^\d+-/.test(code))),
  );
}

/** True for a term that says something about the subject of a text. */
export function carriesContent(language: QualityLanguage, term: string): boolean {
  if (language === "ja") return !/^[\p{Script=Hiragana}]+$/u.test(term);
  return term.length >= 3 && !functionWords.has(term);
}

export function sharedTerms(left: Set<string>, right: Set<string>): string[] {
  return [...left].filter((term) => right.has(term));
}

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  bigramsOf,
  carriesContent,
  codesOf,
  type QualityLanguage,
  sharedTerms,
  termsOf,
} from "./quality-words.ts";

interface QualityText {
  id: string;
  language: QualityLanguage;
  title: string;
  text: string;
}

interface QualityQuestion {
  id: string;
  language: QualityLanguage;
  question: string;
  textId: string | null;
  kind: "code" | "plain" | "unrelated";
}

const folder = new URL("../fixtures/knowledge/quality/", import.meta.url);
const readJson = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(name, folder), "utf8")) as T;

const languages: QualityLanguage[] = ["en", "de", "ja"];
const texts = languages.flatMap((language) => readJson<QualityText[]>(`texts-${language}.json`));
const questions = readJson<QualityQuestion[]>("questions.json");
const answered = questions.filter((question) => question.kind !== "unrelated");
const unrelated = questions.filter((question) => question.kind === "unrelated");
const textById = new Map(texts.map((text) => [text.id, text]));

/** In how many texts of the language each term stands, titles included. */
const frequencies = new Map(
  languages.map((language) => {
    const counts = new Map<string, number>();
    for (const text of texts.filter((candidate) => candidate.language === language)) {
      for (const term of termsOf(language, `${text.title}\n${text.text}`))
        counts.set(term, (counts.get(term) ?? 0) + 1);
    }
    return [language, counts] as const;
  }),
);

/** The share of the texts of this language in which the term stands, from 0 to 1. */
function shareOfTexts(language: QualityLanguage, term: string): number {
  const size = texts.filter((text) => text.language === language).length;
  return (frequencies.get(language)?.get(term) ?? 0) / size;
}

function textOf(question: QualityQuestion): QualityText {
  const text = textById.get(question.textId ?? "");
  if (!text) throw new Error(`${question.id} names no text of the set.`);
  return text;
}

const countBy = <T>(items: T[], key: (item: T) => string): Record<string, number> =>
  items.reduce<Record<string, number>>((counts, item) => {
    counts[key(item)] = (counts[key(item)] ?? 0) + 1;
    return counts;
  }, {});

describe("the texts that retrieval is judged by", () => {
  it("are 120 English, 100 German and 80 Japanese texts with ids of their own", () => {
    expect(countBy(texts, (text) => text.language)).toEqual({ en: 120, de: 100, ja: 80 });
    expect(textById.size).toBe(300);
    expect(new Set(texts.map((text) => text.text)).size).toBe(300);
  });

  it("have 60 to 160 words, in Japanese 120 to 350 characters", () => {
    const outside = texts.filter(({ language, text }) => {
      const length = language === "ja" ? [...text].length : text.split(/\s+/).length;
      return language === "ja" ? length < 120 || length > 350 : length < 60 || length > 160;
    });
    expect(outside.map((text) => text.id)).toEqual([]);
  });
});

describe("the questions that retrieval is judged by", () => {
  it("are 80 English, 70 German and 50 Japanese ones, 30 of them about a code, and 25 unrelated ones", () => {
    expect(countBy(answered, (question) => question.language)).toEqual({ en: 80, de: 70, ja: 50 });
    expect(countBy(questions, (question) => question.kind)).toEqual({
      plain: 170,
      code: 30,
      unrelated: 25,
    });
    expect(new Set(questions.map((question) => question.id)).size).toBe(225);
    expect(new Set(questions.map((question) => question.question)).size).toBe(225);
    expect(new Set(unrelated.map((question) => question.language)).size).toBe(3);
    expect(unrelated.every((question) => question.textId === null)).toBe(true);
  });

  it("are asked in the language of their text", () => {
    expect(answered.filter((question) => textOf(question).language !== question.language)).toEqual(
      [],
    );
  });

  it("take at most half of their distinct words from their text", () => {
    const copied = answered.filter((question) => {
      const asked = termsOf(question.language, question.question);
      return (
        sharedTerms(asked, termsOf(question.language, textOf(question).text)).length * 2 >
        asked.size
      );
    });
    expect(copied.map((question) => question.id)).toEqual([]);
  });

  it("share two distinctive words with their text, in Japanese three bigrams, unless they name a code", () => {
    const plain = answered.filter((question) => question.kind === "plain");
    const unfindable = plain.filter((question) => {
      const { language } = question;
      const shared = sharedTerms(
        termsOf(language, question.question),
        termsOf(language, textOf(question).text),
      );
      const distinctive = shared.filter(
        (term) => carriesContent(language, term) && shareOfTexts(language, term) <= 0.15,
      );
      return language === "ja"
        ? shared.length < 3 || distinctive.length < 1
        : distinctive.length < 2;
    });
    expect(unfindable.map((question) => question.id)).toEqual([]);
  });

  it("name a code that stands in exactly one text, if they are about a code", () => {
    for (const question of answered.filter(({ kind }) => kind === "code")) {
      const codes = [...codesOf(question.question)];
      expect(codes, question.id).toHaveLength(1);
      const holders = texts.filter((text) =>
        codesOf(`${text.title}\n${text.text}`).has(codes[0] ?? ""),
      );
      expect(
        holders.map((text) => text.id),
        question.id,
      ).toEqual([question.textId]);
      expect(codesOf(textOf(question).text).has(codes[0] ?? ""), question.id).toBe(true);
    }
  });

  it("share no rare word with any text, if they are unrelated", () => {
    for (const { id, language, question } of unrelated) {
      const content =
        language === "ja"
          ? [...bigramsOf(question)].filter((pair) => /^\p{Script=Han}{2}$/u.test(pair))
          : [...termsOf(language, question)].filter((word) => word.length >= 4);
      const rare = content.filter(
        (term) => shareOfTexts(language, term) > 0 && shareOfTexts(language, term) < 0.05,
      );
      expect(rare, id).toEqual([]);
    }
  });
});

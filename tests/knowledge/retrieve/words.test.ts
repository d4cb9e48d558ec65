import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { questionWords, tsqueryOf, tsvectorOf } from "../../../src/knowledge/retrieve/words.ts";
import { createRandom } from "../../support/faults/random.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(() => database.close());

/** Whether a question of these words finds the text, by the database's own operators. */
async function finds(question: string, text: string): Promise<boolean> {
  const { words } = questionWords(question);
  const [row] = await database.db.execute<{ found: boolean }>(
    sql`select ${tsvectorOf(text)}::tsvector @@ ${tsqueryOf(words)}::tsquery as found`,
  );
  return row?.found === true;
}

describe("A question finds a text", () => {
  test.each([
    ["by a word in another case", "WARTUNG", "die Wartung"],
    ["by a word with or without accents", "resume", "my résumé"],
    ["by ß and ss alike", "Strasse", "die Straße"],
    ["by full-width characters", "ＡＢＣ１２", "abc12"],
    ["by the plural of a long word", "invoices", "the invoice"],
    ["by the beginning of a compound", "Urlaub", "der Urlaubsantrag"],
    ["by a code as it is", "E-4711", "error E-4711 occurred"],
    ["by a code without its sign", "E4711", "error E-4711 occurred"],
    ["by a part of a code", "4711", "error E-4711 occurred"],
    ["by a code with a slash", "xr-20/b", "the XR-20/B engine"],
    ["by an address", "10.0.0.1", "host 10.0.0.1"],
    ["by two Japanese characters", "出張", "国内出張では新幹線"],
    ["by a Korean word before a particle", "게이트웨이", "게이트웨이는 빠르다"],
    ["by a Thai word", "ภาษา", "ภาษาไทย"],
    ["by one character alone", "水", "水 is water"],
    ["by a word that touches another script", "PC", "貸出用PCを使う"],
  ])("%s", async (_, question, text) => {
    expect(await finds(question, text)).toBe(true);
  });

  test("not by a word that it lacks", async () => {
    expect(await finds("Gateway", "die Wartung")).toBe(false);
    expect(await finds("E-4712", "code E-4711")).toBe(true);
    expect(questionWords("E-4712").codes).toEqual(new Set(["e-4712"]));
  });
});

describe("Codes of a question", () => {
  test("are its words with a digit, whole", () => {
    const { codes } = questionWords("Was heißt E-4711 am XR-20/B, Raum 12, ohne Grund?");
    expect([...codes]).toEqual(["e-4711", "xr-20/b", "12"]);
  });
});

describe("The literals", () => {
  test("of any text are accepted by the database", async () => {
    const random = createRandom(4_711);
    const signs = ["'", "\\", '"', ":", "&", "|", "!", "(", "-", "_", "/", ".", "’", "\u0000", "~"];
    const pick = () => {
      if (random() < 0.3) return signs[Math.floor(random() * signs.length)] ?? "";
      const range = random() < 0.5 ? 0x250 : 0x2_0000;
      const code = Math.floor(random() * range);
      return code >= 0xd800 && code < 0xe000 ? " " : String.fromCodePoint(code);
    };
    for (let trial = 0; trial < 200; trial += 1) {
      const text = Array.from({ length: 200 }, pick).join("");
      const { words } = questionWords(text);
      if (words.length > 0) expect(await finds(text, text), JSON.stringify(text)).toBe(true);
    }
  });

  test("of long texts and words stay within the limits of the database", async () => {
    expect(await finds("x".repeat(5_000), "x".repeat(5_000))).toBe(true);
    expect(await finds("same", "same ".repeat(50_000))).toBe(true);
    const many = Array.from({ length: 50_000 }, (_, index) => `word${index}`).join(" ");
    expect(await finds("word17", many)).toBe(true);
    expect(questionWords(many).words.length).toBe(200);
  });

  test("of a long question are its first and its last ones", () => {
    const pasted = Array.from({ length: 300 }, (_, index) => `word${index}`).join(" ");
    const { words, codes } = questionWords(`A-1: ${pasted} What is E-4711?`);
    expect(words).toHaveLength(200);
    for (const code of ["a-1", "e-4711"]) expect([...codes]).toContain(code);
  });

  test("of a text without words are empty", () => {
    expect(tsvectorOf(" … !? ")).toBe("");
    expect(questionWords("?").words).toEqual([]);
  });
});

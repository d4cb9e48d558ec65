import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { embed } from "../../simulator/content/embedding.ts";
import { assistantSettings } from "../../src/config/assistant-settings.ts";
import type { Database } from "../../src/db/database.ts";
import { createRandom } from "../support/faults/random.ts";
import { trialSize } from "../support/faults/trial-size.ts";
import {
  openPgvectorDatabase,
  openPgvectorServer,
} from "../support/servers/databases/pgvector-database.ts";
import {
  openEmbeddedInMemory,
  openTestDatabase,
} from "../support/servers/databases/test-database.ts";
import {
  addFile,
  addStore,
  openRetrievalStage,
  type RetrievalStage,
  randomVector,
} from "../support/stages/knowledge/retrieval-stage.ts";

const DIMENSIONS = 256;
const LIMIT = 8;

interface QualityText {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

interface QualityQuestion {
  readonly question: string;
  readonly textId: string | null;
  readonly kind: "plain" | "code" | "unrelated";
}

const folder = new URL("../fixtures/knowledge/quality/", import.meta.url);
const readJson = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const texts = ["en", "de", "ja"].flatMap(
  (language) => readJson(`texts-${language}.json`) as readonly QualityText[],
);
const wholeTexts = new Map(texts.map(({ id, title, text }) => [id, `${title}\n${text}`]));
const questions = readJson("questions.json") as readonly QualityQuestion[];
const answered = questions.filter(({ textId }) => textId !== null);
const codes = questions.filter(({ kind }) => kind === "code");
const unrelated = questions.filter(({ kind }) => kind === "unrelated");

const simulated = (text: string) => Float32Array.from(embed(text, DIMENSIONS));
const random = createRandom(17);
/** Vectors that say nothing. */
const meaningless = () => randomVector(random, DIMENSIONS);

interface Way {
  readonly name: string;
  readonly open: () => Promise<{ readonly database: Database; readonly url?: string } | undefined>;
  readonly isIndexed: boolean;
}

const ways: readonly Way[] = [
  {
    name: "in memory, on the database of the run",
    open: async () => ({ database: await openTestDatabase() }),
    isIndexed: false,
  },
  {
    name: "in memory, on the embedded database",
    open: async () => ({ database: await openEmbeddedInMemory() }),
    isIndexed: false,
  },
  {
    name: "by indexes of the embedded database",
    open: async () => ({ database: await openPgvectorDatabase() }),
    isIndexed: true,
  },
  { name: "by indexes of PostgreSQL", open: openPgvectorServer, isIndexed: true },
];

/** WebAssembly builds an index in a minute; `vector-indexes.test.ts` shows the path in every run. */
const tried = trialSize(
  ways.filter(({ isIndexed }) => !isIndexed),
  ways,
);

describe.each(tried)("The search $name", ({ open, isIndexed }) => {
  let database: Database;
  let stage: RetrievalStage | undefined;

  beforeAll(async () => {
    const opened = await open();
    if (opened === undefined) return;
    database = opened.database;
    stage = await openRetrievalStage({
      database,
      settings: { DATABASE_URL: opened.url },
      embed: (text, model) => (model === "simulated" ? simulated(text) : meaningless()),
      ...(isIndexed && { exactChunksMax: 0 }),
    });
    for (const [model, vectorOf] of Object.entries({ simulated, meaningless })) {
      await addStore(database, `vs_${model}`, DIMENSIONS, model);
      const chunks = [...wholeTexts.values()].map((text) => ({ text, vector: vectorOf(text) }));
      await addFile(database, { storeId: `vs_${model}`, id: `file-${model}`, chunks });
    }
    if (isIndexed) await stage.keepIndexes();
  });

  beforeEach(({ skip }) => {
    if (stage === undefined) skip("PostgreSQL has no pgvector here");
  });

  afterAll(async () => {
    await stage?.retrieval.close?.(1_000);
    await database?.close();
  });

  async function textsFor(
    model: string,
    { question }: QualityQuestion,
    minSimilarity?: number,
  ): Promise<readonly string[]> {
    const passages = await stage?.ask({
      storeIds: [`vs_${model}`],
      text: question,
      limit: LIMIT,
      ...(minSimilarity !== undefined && { minSimilarity }),
    });
    return (passages ?? []).map(({ text }) => text);
  }

  /** The share of questions whose text is among the passages, from 0 to 1. */
  async function shareFound(
    model: string,
    asked: readonly QualityQuestion[],
    minSimilarity?: number,
  ): Promise<number> {
    let found = 0;
    for (const question of asked) {
      const passages = await textsFor(model, question, minSimilarity);
      if (passages.includes(wholeTexts.get(question.textId ?? "") ?? "")) found += 1;
    }
    return found / asked.length;
  }

  test("gives the right text among eight for 95% of the questions", async () => {
    expect(await shareFound("simulated", answered)).toBeGreaterThanOrEqual(0.95);
  });

  test("gives it for 80% by words alone, when vectors say nothing", async () => {
    expect(await shareFound("meaningless", answered)).toBeGreaterThanOrEqual(0.8);
  });

  test("gives the text of every code, also above the similarity of the service", async () => {
    expect(
      await shareFound("simulated", codes, assistantSettings.RAG_MIN_SIMILARITY.parse(undefined)),
    ).toBe(1);
    expect(
      await shareFound("meaningless", codes, assistantSettings.RAG_MIN_SIMILARITY.parse(undefined)),
    ).toBe(1);
  });

  test("gives nothing for what no text is about", async () => {
    const least = assistantSettings.RAG_MIN_SIMILARITY.parse(undefined);
    for (const question of unrelated)
      expect(await textsFor("simulated", question, least), question.question).toEqual([]);
  });
});

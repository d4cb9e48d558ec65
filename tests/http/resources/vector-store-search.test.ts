import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Passage } from "../../../src/knowledge/retrieve/passage.ts";
import { issueKey, settledUse } from "../../support/clients/issue-key.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  EMBEDDING_MODEL,
  openStoreStage,
  type Person,
  type StoreStage,
} from "../../support/stages/knowledge/store-stage.ts";

const PATH = "/v1/vector_stores";
let stage: StoreStage;
let owner: Person;
let storeId: string;

const passage = (text: string, score: number, more: Partial<Passage> = {}): Passage => ({
  vectorStoreId: storeId,
  fileId: "file-1",
  filename: "manual.md",
  attributes: { year: 2026 },
  page: 1,
  sheet: null,
  heading: null,
  text,
  score,
  ...more,
});
const search = (body: unknown, token = owner.key) =>
  owner.call({ method: "POST", path: `${PATH}/${storeId}/search`, body, token });

beforeAll(async () => {
  stage = await openStoreStage(databaseServerUrl);
  ({ owner } = stage);
  storeId = (await owner.openai.vectorStores.create({})).id;
}, 180_000);
afterAll(() => stage?.close());
beforeEach(() => {
  stage.questions.length = 0;
  stage.found.answer = async () => [passage("one", 0.9), passage("two", 0.2)];
});

describe("POST /v1/vector_stores/{id}/search", () => {
  it("answers the official client with passages, the best first", async () => {
    const page = await owner.openai.vectorStores.search(storeId, { query: "How?" });
    expect(page.object).toBe("vector_store.search_results.page");
    expect(page.data).toEqual([
      {
        file_id: "file-1",
        filename: "manual.md",
        score: 0.9,
        attributes: { year: 2026 },
        content: [{ type: "text", text: "one" }],
        ext: { page: 1, sheet: null, heading: null },
      },
      expect.objectContaining({ score: 0.2, content: [{ type: "text", text: "two" }] }),
    ]);
    expect(page.hasNextPage()).toBe(false);
    expect(stage.questions).toEqual([
      {
        vectorStoreIds: [storeId],
        text: "How?",
        limit: 10,
        minSimilarity: undefined,
        filter: undefined,
        onEmbedded: expect.any(Function),
        signal: expect.any(AbortSignal),
      },
    ]);
    const { body } = await search({ query: "How?", rewrite_query: true });
    expect(body).toMatchObject({ search_query: ["How?"], has_more: false, next_page: null });
    expect(body.ext).toEqual({ min_similarity: 0.35 });
  });

  it("hands on filters, the number of results and the threshold", async () => {
    const filters = {
      type: "and",
      filters: [
        { type: "eq", key: "department", value: "sales" },
        {
          type: "or",
          filters: [
            { type: "gte", key: "year", value: 2025 },
            { type: "in", key: "tag", value: ["a", 1] },
          ],
        },
      ],
    } as const;
    const page = await owner.openai.vectorStores.search(storeId, {
      query: "How?",
      filters: { type: "and", filters: [...filters.filters] },
      max_num_results: 50,
      ranking_options: { ranker: "auto", score_threshold: 0.5 },
    });
    expect(page.data.map(({ score }) => score)).toEqual([0.9]);
    expect(stage.questions[0]).toMatchObject({ filter: filters, limit: 50, minSimilarity: 0.5 });
  });

  it("merges the results of several queries", async () => {
    const answers: Readonly<Record<string, readonly Passage[]>> = {
      a: [passage("both", 0.5), passage("of a", 0.4)],
      b: [passage("of b", 0.8), passage("both", 0.7)],
    };
    stage.found.answer = async ({ text }) => answers[text] ?? [];
    const { body } = await search({ query: ["a", "b"], max_num_results: 3 });
    expect(body.search_query).toEqual(["a", "b"]);
    const texts = body.data.map((found: { content: { text: string }[] }) => found.content[0]?.text);
    expect(texts).toEqual(["both", "of b", "of a"]);
    expect(body.data[0].score).toBe(0.7);
  });

  it("refuses wrong bodies", async () => {
    const filter = (filters: unknown) => ({ query: "How?", filters });
    for (const [param, body] of [
      ["query", {}],
      ["query", { query: "" }],
      ["query", { query: [] }],
      ["query", { query: Array(11).fill("a") }],
      ["max_num_results", { query: "How?", max_num_results: 0 }],
      ["max_num_results", { query: "How?", max_num_results: 51 }],
      ["ranking_options.score_threshold", { query: "H", ranking_options: { score_threshold: 2 } }],
      ["filters", filter({ type: "like", key: "a", value: "b" })],
      ["filters", filter({ type: "eq", key: "a" })],
      ["filters.value", filter({ type: "eq", key: "a", value: "b\0" })],
      ["filters.key", filter({ type: "eq", key: "a\0", value: "b" })],
      ["filters", filter({ type: "in", key: "a", value: "b" })],
      ["filters", filter({ type: "and", filters: [{ type: "eq" }] })],
      ["unknown", { query: "How?", unknown: 1 }],
    ] as const) {
      const answer = await search(body);
      expect([param, answer.status]).toEqual([param, 400]);
      expect(answer.body.error.param.startsWith(param)).toBe(true);
    }
    expect(stage.questions).toEqual([]);
  });

  it("refuses a body that could occupy the process: many filters, and more than a mebibyte", async () => {
    const filters = Array(101).fill({ type: "eq", key: "a", value: 1 });
    expect(await search({ query: "How?", filters: { type: "or", filters } })).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_value", param: "filters" } },
    });
    expect(await search({ query: "q".repeat(1024 * 1024) })).toMatchObject({
      status: 413,
      body: { error: { code: "request_too_large" } },
    });
    expect(stage.questions).toEqual([]);
  });

  it("searches by the beginning and the end of a long query, and meters only these", async () => {
    const key = await issueKey(stage.served, { token_limit: 10_000 });
    const path = `${PATH}/${storeId}`;
    await stage.admin.call({ method: "POST", path, body: { ext: { visibility: "everyone" } } });
    const answer = await search({ query: `first ${"x".repeat(500_000)} last` }, key.key);
    expect(answer.status).toBe(200);
    const [question] = stage.questions;
    expect(question?.text).toHaveLength(4_000);
    expect(question?.text).toMatch(/^first x+\nx+ last$/);
    expect(await settledUse(stage.served, key, "tokens")).toMatchObject({ used: 1_000 });
  });

  it("is metered as a call for embeddings, by the characters of its queries", async () => {
    const key = await issueKey(stage.served, { token_limit: 1_000, request_limit: 5 });
    const shared = { ext: { visibility: "everyone" } };
    const path = `${PATH}/${storeId}`;
    await stage.admin.call({ method: "POST", path, body: shared });
    const answer = await search({ query: ["q".repeat(200), "q".repeat(200)] }, key.key);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-ratelimit-remaining-tokens")).toBe("592");
    expect(await settledUse(stage.served, key, "tokens")).toMatchObject({ used: 100 });
    const usage = `/v1/api-keys/${key.id}/usage`;
    expect((await stage.admin.call({ path: usage, token: key.key })).status).toBe(200);
    stage.found.answer = async () => {
      throw new ServiceError("upstream_error", "The embedding model returned no vector.");
    };
    expect(await search({ query: "fails" }, key.key)).toMatchObject({
      status: 502,
      body: { error: { code: "upstream_error" } },
    });
    await expect
      .poll(async () => {
        const { body } = await stage.admin.call({
          path: `/api/requests?key_id=${key.id}`,
          token: stage.admin.session,
        });
        return body.data.map((row: Record<string, unknown>) => [
          row["channel"],
          row["model"],
          row["outcome"],
          row["status"],
        ]);
      })
      .toEqual([
        ["embeddings", EMBEDDING_MODEL, "error", 502],
        ["embeddings", EMBEDDING_MODEL, "ok", 200],
      ]);
  });

  it("charges limits what the engine counts, where that is more than the row's estimate", async () => {
    const key = await issueKey(stage.served, { token_limit: 1_000 });
    stage.found.answer = async ({ onEmbedded }) => {
      onEmbedded?.(120);
      return [];
    };
    expect((await search({ query: ["質".repeat(100), "問"] }, key.key)).status).toBe(200);
    expect(await settledUse(stage.served, key, "tokens")).toMatchObject({ used: 240 });
  });

  it("is refused by a used-up limit before the store is searched", async () => {
    const { key } = await issueKey(stage.served, { request_limit: 0 });
    expect(await search({ query: "How?" }, key)).toMatchObject({
      status: 429,
      body: { error: { code: "request_limit_exceeded" } },
    });
    const few = await issueKey(stage.served, { token_limit: 10 });
    expect(await search({ query: "q".repeat(400) }, few.key)).toMatchObject({
      status: 429,
      body: { error: { code: "token_limit_exceeded" } },
    });
    expect(stage.questions).toEqual([]);
  });

  it("of a session is neither metered nor limited", async () => {
    expect(await search({ query: "How?" }, owner.session)).toMatchObject({ status: 200 });
  });
});

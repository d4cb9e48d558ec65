import { describe, expect, test } from "vitest";
import type { Passage } from "../../../src/knowledge/retrieve/passage.ts";
import { searchQueries } from "../../../src/knowledge/stores/search-stores.ts";

const YES: Passage = {
  vectorStoreId: "vs_1",
  fileId: "file-1",
  filename: "faq.md",
  attributes: {},
  page: null,
  sheet: null,
  heading: null,
  text: "Yes.",
  score: 0.9,
};

/** Searches with several queries, each of which finds its list. */
const searchLists = (lists: Readonly<Record<string, readonly Passage[]>>) =>
  searchQueries(async ({ text }) => lists[text] ?? [], {
    vectorStoreId: "vs_1",
    queries: Object.keys(lists),
    limit: 10,
    minScore: undefined,
    filter: undefined,
    onEmbedded: () => undefined,
    signal: new AbortController().signal,
  });

describe("A search with several queries", () => {
  test.each<readonly [string, Partial<Passage>, Partial<Passage>]>([
    ["headings", { heading: "Can I return A?" }, { heading: "Is B covered?" }],
    ["sheets", { sheet: "Berlin" }, { sheet: "Paris" }],
    ["pages", { page: 1 }, { page: 2 }],
  ])("finds equal texts under different %s", async (_what, one, other) => {
    const found = await searchLists({ a: [{ ...YES, ...one }], b: [{ ...YES, ...other }] });
    expect(found).toMatchObject([one, other]);
  });

  test("finds a passage of several lists once, with its best score", async () => {
    const found = await searchLists({ a: [YES], b: [{ ...YES, score: 0.95 }] });
    expect(found).toEqual([{ ...YES, score: 0.95 }]);
  });
});

import { describe, expect, test } from "vitest";
import { GivenPassages } from "../../src/gateway/assistant/given-passages.ts";
import type { Passage } from "../../src/knowledge/retrieve/passage.ts";

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

describe("Given passages", () => {
  test.each<readonly [string, Partial<Passage>, Partial<Passage>]>([
    ["headings", { heading: "Can I return A?" }, { heading: "Is B covered?" }],
    ["sheets", { sheet: "Berlin" }, { sheet: "Paris" }],
    ["pages", { page: 1 }, { page: 2 }],
  ])("with equal texts under different %s have numbers of their own", (_what, one, other) => {
    const given = new GivenPassages();
    given.add([{ ...YES, ...one }]);
    const numbered = given.add([
      { ...YES, ...other },
      { ...YES, ...one },
    ]);
    expect(numbered).toMatchObject([
      { index: 2, ...other },
      { index: 1, ...one },
    ]);
    expect(given.sources("[2]").map(({ source }) => source)).toMatchObject([
      { index: 1, ...one, cited: false },
      { index: 2, ...other, cited: true },
    ]);
  });
});

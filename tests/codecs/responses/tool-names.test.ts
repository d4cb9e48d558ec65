import { expect, test } from "vitest";
import { ToolNames } from "../../../src/codecs/responses/server/tool-names.ts";

test("names of many long tools that begin alike are found in no time", () => {
  const names = new ToolNames([]);
  const beginning = "a".repeat(64);
  const startedAt = performance.now();
  const offered = Array.from({ length: 20_000 }, (_, index) =>
    // Each wanted name comes twice, so that every second tool needs another one.
    names.offer({ name: `${beginning}${index >> 1}`, isCustom: true }),
  );
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(new Set(offered).size).toBe(offered.length);
});

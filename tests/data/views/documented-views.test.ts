import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withViews } from "../../../scripts/document-views.ts";

it("docs/bi.md describes every view and column as the registry does", () => {
  const page = readFileSync(new URL("../../../docs/bi.md", import.meta.url), "utf8");
  expect(withViews(page), "run: node --import tsx scripts/document-views.ts").toBe(page);
});

import { readFileSync } from "node:fs";
import type { JsonObject } from "../../../src/lib/json/json.ts";

const DOCUMENT = "docs/workflows.md";
const JSON_BLOCK = /^```json\n([\s\S]*?)^```/gm;
const KIND_ROW = /^\| `([a-z_]+)`( \*)? \| (source|transform|control|model|sink) \|/gm;

/** The examples of the documentation, by the names of their workflows. */
export function readDocumentedWorkflows(): ReadonlyMap<string, JsonObject> {
  const blocks = [...readFileSync(DOCUMENT, "utf8").matchAll(JSON_BLOCK)];
  const definitions = blocks.map(([, text = ""]) => JSON.parse(text) as JsonObject);
  return new Map(definitions.map((definition) => [String(definition["name"]), definition]));
}

/** The table of the kinds of steps: name, group, and whether only administrators' workflows may have it. */
export function readDocumentedKinds(): readonly (readonly [string, string, boolean])[] {
  return [...readFileSync(DOCUMENT, "utf8").matchAll(KIND_ROW)].map(
    ([, name = "", mark, group = ""]) => [name, group, mark !== undefined] as const,
  );
}

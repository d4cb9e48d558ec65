import type { RowProcess, Template } from "../../../src/workflows/row-process/row-process.ts";
import { rowOf } from "./row-of.ts";

/** Stands in for the row process: `{{ row.field }}` and nothing else. */
export const simpleTexts: RowProcess = {
  // biome-ignore lint/correctness/useYield: no kind under test runs a program.
  async *run() {
    throw new Error("no programs here");
  },
  async evaluate(templates, rows) {
    return rows.map((row) => {
      const rendered = Object.entries(templates).map(([name, template]) => [
        name,
        textOf(template).replace(/\{\{ row\.(\w+) \}\}/g, (_, field) =>
          String(rowOf(row)[field] ?? ""),
        ),
      ]);
      return { values: Object.fromEntries(rendered) };
    });
  },
  parse: () => Promise.reject(new Error("no programs here")),
  rewrite: () => Promise.reject(new Error("no programs here")),
  check: async () => [],
  close: () => undefined,
};

function textOf(template: Template): string {
  return template.kind === "text" ? template.text : template.expression;
}

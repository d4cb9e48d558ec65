import type { JsonValue } from "../../../src/lib/json/json.ts";
import type { RowProcess } from "../../../src/workflows/row-process/row-process.ts";
import { rowOf } from "./row-of.ts";

/** Renders `{{ row.a.b }}`, `{{ run.id }}` and `{{ trigger.kind }}` in this process; a missing field is a row error. */
export const plainRowProcess: Pick<RowProcess, "evaluate"> = {
  async evaluate(templates, rows, scope) {
    return rows.map((row) => {
      const values: Record<string, JsonValue> = {};
      for (const [name, template] of Object.entries(templates)) {
        if (template.kind !== "text") throw new Error("only texts are rendered here");
        let missing: string | undefined;
        values[name] = template.text.replaceAll(/\{\{\s*([\w.]+)\s*\}\}/g, (_, path: string) => {
          let value: unknown = { ...scope, row: rowOf(row) };
          for (const key of path.split(".")) value = (value as Record<string, unknown>)?.[key];
          if (value === undefined) missing = path;
          return typeof value === "string" ? value : JSON.stringify(value);
        });
        if (missing !== undefined) {
          return { error: { code: "expression_failed", message: `There is no '${missing}'.` } };
        }
      }
      return { values };
    });
  },
};

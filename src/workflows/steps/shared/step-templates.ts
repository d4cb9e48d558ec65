import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import type {
  Expression,
  ExpressionScope,
  RowProcess,
  Template,
} from "../../row-process/row-process.ts";
import type { MadeRow, RowError } from "../../rows/row.ts";

/**
 * A JSON value whose texts are templates: `{{ expression }}` in any of them. Numbers, booleans and null stay.
 * The names of the templates are JSON pointers into the value, so that any names of fields are kept apart.
 */
function templatesOf(value: JsonValue | undefined, at = ""): Record<string, Template> {
  if (typeof value === "string") return { [at]: { kind: "text", text: value } };
  if (Array.isArray(value)) {
    return Object.assign({}, ...value.map((item, index) => templatesOf(item, `${at}/${index}`)));
  }
  if (!isJsonObject(value)) return {};
  const parts = Object.entries(value).map(([name, item]) => templatesOf(item, pointer(at, name)));
  return Object.assign({}, ...parts);
}

/** Puts the results of `templatesOf` back into the value. */
function fillTemplates(value: JsonValue, results: JsonObject, at = ""): JsonValue {
  if (typeof value === "string") return results[at] ?? "";
  if (Array.isArray(value)) {
    return value.map((item, index) => fillTemplates(item, results, `${at}/${index}`));
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    fillTemplates(item ?? null, results, pointer(at, name)),
  ]);
  return Object.fromEntries(entries);
}

/** The texts of a value as what a row process checks when the workflow is saved. @param field its name in the step. */
export function checkedTemplates(field: string, value: JsonValue | undefined): Expression[] {
  return Object.entries(templatesOf(value)).flatMap(([at, template]) =>
    template.kind === "text"
      ? [{ field: field + at.replaceAll("/", "."), kind: "text" as const, text: template.text }]
      : [],
  );
}

/** A value filled for one row, or why it could not be. */
export type Filled = { readonly value: JsonValue } | { readonly error: Omit<RowError, "row"> };

/** Fills the templates of a value for a few rows, at most one chunk. */
export async function fillForRows(
  rowProcess: Pick<RowProcess, "evaluate">,
  value: JsonValue,
  rows: readonly MadeRow[],
  { scope, signal }: { readonly scope: ExpressionScope; readonly signal: AbortSignal },
): Promise<readonly Filled[]> {
  const templates = templatesOf(value);
  // A value without texts needs no process.
  if (Object.keys(templates).length === 0) return rows.map(() => ({ value }));
  const results = await rowProcess.evaluate(templates, rows, scope, signal);
  return results.map((result) =>
    "error" in result ? result : { value: fillTemplates(value, result.values) },
  );
}

function pointer(at: string, name: string): string {
  return `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

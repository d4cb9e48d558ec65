import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { CelObject } from "../expressions/cel-values.ts";
import { compileExpression, type Names, namesOf } from "../expressions/expression.ts";
import { compileText } from "../expressions/template.ts";
import type { Evaluated, Template } from "../row-process.ts";
import type { RowWork } from "../row-program.ts";
import { parseRow, RowFault, setField } from "../row-work.ts";

/** One line of results, so that no line is too long. */
const BATCH_CHARACTERS = 512 * 1024;
const RESULT_MAX_CHARACTERS = 1024 * 1024;

/** Evaluates templates for the rows of the settings. */
export async function* evaluateTemplates({ settings, scope, outputs }: RowWork) {
  const { templates, rows } = settings as unknown as {
    templates: Readonly<Record<string, Template>>;
    rows: readonly string[];
  };
  const compiled = Object.entries(templates).map(
    ([name, template]) => [name, compileTemplate(template)] as const,
  );
  const names = namesOf(scope);
  let batch: Evaluated[] = [];
  let characters = 0;
  for (const row of rows) {
    names.row = new CelObject(parseRow(row));
    const { result, length } = evaluate(compiled, names);
    batch.push(result);
    characters += length;
    if (characters < BATCH_CHARACTERS) continue;
    outputs.value(batch);
    batch = [];
    characters = 0;
    yield;
  }
  outputs.value(batch);
}

function compileTemplate(template: Template): (names: Names) => JsonValue {
  return template.kind === "text"
    ? compileText(template.text)
    : compileExpression(template.expression);
}

function evaluate(
  compiled: readonly (readonly [string, (names: Names) => JsonValue])[],
  names: Names,
): { readonly result: Evaluated; readonly length: number } {
  try {
    const values: Record<string, unknown> = {};
    for (const [name, value] of compiled) setField(values, name, value(names));
    const { length } = JSON.stringify(values);
    if (length > RESULT_MAX_CHARACTERS)
      throw new RowFault(
        "row_too_large",
        "The texts of this row have more than a million characters.",
      );
    return { result: { values: values as JsonObject }, length };
  } catch (thrown) {
    if (!(thrown instanceof RowFault)) throw thrown;
    const { code, message } = thrown;
    return { result: { error: { code, message } }, length: message.length };
  }
}

import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { CelObject } from "../expressions/cel-values.ts";
import { compileExpression, type Names, namesOf } from "../expressions/expression.ts";
import { compileText } from "../expressions/template.ts";
import type { RowWork } from "../row-program.ts";
import { parseRow, setField } from "../row-work.ts";

/** Sets fields, all from the row as it came, and removes others. */
export async function* mapRows({ settings, scope, allLines, outputs }: RowWork) {
  const { set = {}, remove = [] } = settings as { set?: JsonObject; remove?: string[] };
  const setters = Object.entries(set).map(([name, value]) => ({
    name,
    value: compileValue(value),
  }));
  const names = namesOf(scope);
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        const row = parseRow(line.text);
        names.row = new CelObject(row);
        const changed: Record<string, unknown> = { ...row };
        for (const { name, value } of setters) setField(changed, name, value(names));
        for (const name of remove) delete changed[name];
        outputs.push(changed as JsonObject);
      });
      if (outputs.isOver) break;
    }
    yield;
  }
}

/** A text with `{{` is a template, any other text an expression; what is no text is itself. */
function compileValue(value: JsonValue | undefined): (names: Names) => JsonValue {
  if (typeof value !== "string") return () => value ?? null;
  return value.includes("{{") ? compileText(value) : compileExpression(value);
}

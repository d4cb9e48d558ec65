import type { JsonObject } from "../../../lib/json/json.ts";
import { compileExpression } from "../expressions/expression.ts";
import { compileText } from "../expressions/template.ts";
import type { Expression } from "../row-process.ts";
import type { RowWork } from "../row-program.ts";
import { ProgramFailure } from "../row-work.ts";

/** Reports what is wrong with expressions, texts, schemas and SELECTs before there are rows. */
export async function* checkExpressions({ settings, outputs, folder }: RowWork) {
  const { expressions } = settings as unknown as { expressions: readonly Expression[] };
  const faults: { field: string; message: string }[] = [];
  for (const expression of expressions) {
    try {
      await check(expression, folder);
    } catch (thrown) {
      if (!(thrown instanceof ProgramFailure)) throw thrown;
      faults.push({ field: expression.field, message: thrown.message });
    }
  }
  outputs.value(faults);
  yield;
}

async function check(expression: Expression, folder: string): Promise<void> {
  switch (expression.kind) {
    case "expression":
      compileExpression(expression.text);
      return;
    case "text":
      compileText(expression.text);
      return;
    case "json_schema": {
      const { compileSchema } = await import("./validate.ts");
      compileSchema(JSON.parse(expression.text) as JsonObject);
      return;
    }
    case "sql": {
      const { checkSelect } = await import("../sql/check-select.ts");
      checkSelect(expression, folder);
    }
  }
}

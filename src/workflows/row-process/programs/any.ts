import { CelObject } from "../expressions/cel-values.ts";
import { compileCondition, namesOf } from "../expressions/expression.ts";
import type { RowWork } from "../row-program.ts";
import { parseRow } from "../row-work.ts";

/** Reports whether the condition is true for at least one row, and reads no further. */
export async function* anyRow({ settings, scope, allLines, outputs }: RowWork) {
  const condition = compileCondition((settings as { condition: string }).condition);
  const names = namesOf(scope);
  let isFound = false;
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        names.row = new CelObject(parseRow(line.text));
        isFound ||= condition(names);
      });
      if (isFound || outputs.isOver) break;
    }
    if (isFound) break;
    yield;
  }
  outputs.condition(isFound);
}

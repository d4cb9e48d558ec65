import { CelObject } from "../expressions/cel-values.ts";
import { compileCondition, namesOf } from "../expressions/expression.ts";
import type { RowWork } from "../row-program.ts";
import { parseRow } from "../row-work.ts";

/** Rows that fulfil `where` go to `main`, the others to the output `otherwise`, if one is named. */
export async function* filterRows({ settings, scope, allLines, outputs }: RowWork) {
  const { where, otherwise } = settings as { where: string; otherwise?: string };
  const condition = compileCondition(where);
  const names = namesOf(scope);
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        names.row = new CelObject(parseRow(line.text));
        if (condition(names)) outputs.pushLine(line.text);
        else if (otherwise !== undefined) outputs.pushLine(line.text, otherwise);
      });
      if (outputs.isOver) break;
    }
    yield;
  }
}

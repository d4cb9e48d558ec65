import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { RowWork } from "../row-program.ts";
import { fieldOf, parseRow, RowFault, setField } from "../row-work.ts";

/** Makes a row of each item of a list: the other fields, and the item under the list's name. */
export async function* explodeRows({ settings, allLines, outputs }: RowWork) {
  const { field } = settings as { field: string };
  for await (const lines of allLines()) {
    for (const line of lines) {
      let row: JsonObject = {};
      let items: readonly JsonValue[] = [];
      outputs.attempt(line, () => {
        row = parseRow(line.text);
        items = itemsOf(fieldOf(row, field), field);
      });
      for (const item of items) {
        outputs.attempt(line, () => {
          const made: Record<string, unknown> = { ...row };
          setField(made, field, item);
          outputs.push(made as JsonObject);
        });
        // A large row with a long list becomes far more than it was.
        if (outputs.isFull) yield;
      }
      if (outputs.isOver) break;
    }
    yield;
  }
}

/** Nothing for null; a value that is no list is its only item. */
function itemsOf(value: JsonValue | undefined, field: string): readonly JsonValue[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  if (typeof value !== "object") return [value as JsonValue];
  throw new RowFault("not_a_list", `The field '${field}' is an object and no list.`);
}

import type { JsonObject } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import type { RowWork } from "../row-program.ts";
import { fieldOf, parseRow, setField } from "../row-work.ts";

/**
 * Keeps fields in the order in which they are named, under new names where `rename` has one. Without `fields` all are
 * kept in the row's own order, except one whose name a renamed field of the row takes.
 */
export async function* selectFields({ settings, allLines, outputs }: RowWork) {
  const { fields, rename = {} } = settings as { fields?: string[]; rename?: JsonObject };
  const newNames = new Map(Object.entries(rename).map(([from, to]) => [from, String(to)]));
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        const row = parseRow(line.text);
        const selected: Record<string, unknown> = {};
        for (const name of fields ?? keptOf(row, newNames))
          setField(selected, newNames.get(name) ?? name, fieldOf(row, name));
        outputs.push(selected as JsonObject);
      });
      if (outputs.isOver) break;
    }
    yield;
  }
}

function keptOf(row: Row, newNames: ReadonlyMap<string, string>): readonly string[] {
  const taken = new Set<string>();
  for (const [name, newName] of newNames) if (Object.hasOwn(row, name)) taken.add(newName);
  return Object.keys(row).filter((name) => newNames.has(name) || !taken.has(name));
}

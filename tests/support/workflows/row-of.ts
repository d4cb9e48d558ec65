import type { MadeRow, Row } from "../../../src/workflows/rows/row.ts";

/** Returns a row that was made, or whose JSON text was. */
export function rowOf(made: MadeRow): Row {
  return typeof made === "string" ? (JSON.parse(made) as Row) : made;
}

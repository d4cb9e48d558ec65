import { MAX_ROW_BYTES, type RowError } from "../rows/row.ts";
import type { RowOutcome } from "./row-progress.ts";

const MAX_RESULT_BYTES = 8 * 1024 * 1024;

/** What `prepare` returns for a row that it could not prepare. */
export function faultOf(prepared: unknown): Omit<RowError, "row"> | undefined {
  if (typeof prepared !== "object" || prepared === null || !("error" in prepared)) return undefined;
  return prepared.error as Omit<RowError, "row">;
}

/** Says why results cannot be stored. */
export function tooLarge(rows: readonly string[]): string | undefined {
  const sizes = rows.map((row) => Buffer.byteLength(row));
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  if (largest > MAX_ROW_BYTES) {
    return `What came of this row is a row of ${largest} bytes, more than ${MAX_ROW_BYTES}. Select fewer fields before.`;
  }
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= MAX_RESULT_BYTES) return undefined;
  return `What came of this row has ${bytes} bytes, more than ${MAX_RESULT_BYTES}.`;
}

/** Bytes that an outcome takes while it waits to be stored. */
export function bytesOf(outcome: RowOutcome): number {
  const texts = "rows" in outcome ? outcome.rows : [outcome.error.message];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

import { ExternalSort } from "../disk/external-sort.ts";
import type { RowWork } from "../row-program.ts";
import { RowOrder, type SortField } from "../values/row-order.ts";

/** Puts the rows in order; rows with equal values stay as they came. */
export async function* sortRows({ settings, allLines, outputs, folder }: RowWork) {
  const by = (settings as unknown as { by: (string | SortField)[] }).by.map((entry) =>
    typeof entry === "string" ? { field: entry } : entry,
  );
  const sort = new ExternalSort(new RowOrder(by), folder);
  for await (const lines of allLines()) for (const { text } of lines) sort.add(text);
  for await (const text of sort.sorted()) {
    outputs.pushLine(text);
    if (outputs.isFull) yield;
  }
}

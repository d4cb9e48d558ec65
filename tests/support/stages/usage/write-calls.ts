import type { OpenUsageJournal } from "../../../../src/usage/journal/open-usage-journal.ts";
import { startCall, usageRecord } from "./usage-journal.ts";

/** Writes calls from their starts to their ends, all in the same turns of the event loop. */
export async function writeCalls(journal: OpenUsageJournal, ids: readonly string[]): Promise<void> {
  const entries = await Promise.all(ids.map((id) => startCall(journal, id)));
  await Promise.all(entries.map((entry, index) => entry.close(usageRecord(ids[index] ?? ""))));
}

/** The ids `prefix-0` to `prefix-(count - 1)`. */
export function callIds(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

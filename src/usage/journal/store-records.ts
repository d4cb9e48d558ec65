import type { Db } from "../../db/context.ts";
import type { Quarantine } from "./quarantine.ts";
import { type Checkpoint, insertUsage, refusalOf } from "./usage-store.ts";

interface Target {
  readonly db: Db;
  readonly quarantine: Quarantine;
}

/** When all is refused, so many single records are tried before the database is taken for closed. */
const PROBES_MAX = 8;

/**
 * Brings usage records, given as their JSON, into the database, each once, and moves the checkpoint.
 * A record that the database refuses for its values is found by halving, kept aside, and the rest goes on. One that only
 * the operator's own rule refuses, such as a trigger, is kept aside if the database takes another: else all wait.
 * Rejects when the database cannot be used now; everything may then be given again.
 */
export async function storeRecords(
  { db, quarantine }: Target,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  // The checkpoint moves last. No segment has the number 0: that one says nothing.
  const nowhere = { ...checkpoint, segment: 0, byteOffset: 0 };
  try {
    await insertUsage(db, records, checkpoint);
    return;
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (records.length === 0 || refusal === undefined) throw thrown;
    if (refusal === "rule" && !(await takesAny(db, records, nowhere))) throw thrown;
  }
  const insert = (some: readonly string[]) => insertUsage(db, some, nowhere);
  for (const refused of await findRefused(insert, records)) {
    await quarantine.keepRefused(checkpoint.journal, refused);
  }
  await insertUsage(db, [], checkpoint);
}

/** Whether the database takes one of the newest records, which are stored then. */
async function takesAny(
  db: Db,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<boolean> {
  for (const record of records.slice(-PROBES_MAX).reverse()) {
    try {
      await insertUsage(db, [record], checkpoint);
      return true;
    } catch (thrown) {
      if (refusalOf(thrown) === undefined) throw thrown;
    }
  }
  return false;
}

/** Stores what the database takes and returns the rest. */
async function findRefused(
  insert: (records: readonly string[]) => Promise<void>,
  records: readonly string[],
): Promise<readonly string[]> {
  try {
    await insert(records);
    return [];
  } catch (thrown) {
    if (refusalOf(thrown) === undefined) throw thrown;
    if (records.length === 1) return records;
  }
  const middle = Math.ceil(records.length / 2);
  const refused: string[] = [];
  for (const half of [records.slice(0, middle), records.slice(middle)]) {
    refused.push(...(await findRefused(insert, half)));
  }
  return refused;
}

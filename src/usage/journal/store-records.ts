import type { Db } from "../../db/context.ts";
import type { Quarantine } from "./quarantine.ts";
import { type Checkpoint, insertUsage, refusalOf } from "./usage-store.ts";

interface Target {
  readonly db: Db;
  readonly quarantine: Quarantine;
}

/** When the whole batch is refused, this many single records are tried before the database counts as closed. */
const PROBES_MAX = 8;

/**
 * Stores usage records, given as their JSON, each once, and moves the checkpoint. A record refused for its values is
 * found by bisection and quarantined; the rest is stored. A record refused only by the operator's own rule, such as a
 * trigger, is quarantined if the database takes another one; otherwise all wait. Rejects when the database is
 * unavailable; all records may then be given again.
 */
export async function storeRecords(
  { db, quarantine }: Target,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  // The checkpoint moves last. No segment has the number 0, so this one has no meaning.
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

/** Returns whether the database takes one of the newest records, which are stored then. */
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

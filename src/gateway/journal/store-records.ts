import type { Db } from "../../db/context.ts";
import type { Aside } from "./aside.ts";
import { type Checkpoint, insertUsage, refusesValues } from "./usage-store.ts";

/**
 * Brings usage records, given as their JSON, into the database, each once, and moves the checkpoint.
 * A record that the database refuses for its values is found by halving, kept aside, and the rest goes on.
 * Rejects when the database cannot be used now; everything may then be given again.
 */
export async function storeRecords(
  { db, aside }: { readonly db: Db; readonly aside: Aside },
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  try {
    await insertUsage(db, records, checkpoint);
    return;
  } catch (thrown) {
    if (records.length === 0 || !refusesValues(thrown)) throw thrown;
  }
  // The checkpoint moves last. No segment has the number 0: the halves' own checkpoint says nothing.
  await storeHalves({ db, aside }, records, { ...checkpoint, segment: 0, byteOffset: 0 });
  await insertUsage(db, [], checkpoint);
}

async function storeHalves(
  target: { readonly db: Db; readonly aside: Aside },
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  const [only] = records;
  if (records.length === 1 && only !== undefined) {
    await target.aside.keepRefused(checkpoint.journal, only);
    return;
  }
  const middle = Math.ceil(records.length / 2);
  for (const half of [records.slice(0, middle), records.slice(middle)]) {
    await storeRecords(target, half, checkpoint);
  }
}

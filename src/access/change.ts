import { type Db, withTransaction } from "../db/context.ts";
import { type ChangeCounter, nextChange } from "../db/next-change.ts";
import { repeatConflict } from "../db/repeat-conflict.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Access } from "./access.ts";
import type { AnyActor } from "./actor.ts";
import { type AuditEntry, recordAudit } from "./audit/record-audit.ts";
import { confirmActor } from "./confirm-actor.ts";

export interface ChangeFrame extends Pick<AuditEntry, "action" | "targetKind" | "targetId"> {
  /** Runs first, because the data that decide the change must not change meanwhile. */
  readonly lock?: (transaction: Db) => Promise<void>;
  /** Set for data that replicas hold in memory; changes of this kind are then serialised. */
  readonly counter?: {
    readonly name: ChangeCounter;
    /** Makes the change effective for the next call to this replica. */
    readonly catchUp: () => Promise<void>;
  };
}

/** The outcome of a change. */
interface Changed<Result> {
  readonly result: Result;
  /** The details for the audit log; null when there was nothing to change, which is not recorded. */
  readonly details: JsonObject | null;
}

/**
 * Runs a change that a caller requests. One transaction checks the actor's rights again, does the work and writes the
 * audit entry. Afterwards this replica reads the change.
 *
 * @param work runs again when the transaction was undone by a conflict with another one. It gets the number with which to mark changed rows; 0 without a counter.
 */
export async function change<Result>(
  { database, clock }: Pick<Access, "database" | "clock">,
  actor: AnyActor,
  { lock, counter, ...entry }: ChangeFrame,
  work: (transaction: Db, changeSeq: number) => Promise<Changed<Result>>,
): Promise<Result> {
  const run = async (transaction: Db): Promise<Result> => {
    await lock?.(transaction);
    // Every change takes the counter before any user's row, so that no two changes deadlock.
    const changeSeq = counter === undefined ? 0 : await nextChange(transaction, counter.name);
    await confirmActor(transaction, { clock }, actor);
    const changed = await work(transaction, changeSeq);
    const { details } = changed;
    if (details !== null) await recordAudit(transaction, actor, { ...entry, details });
    return changed.result;
  };
  try {
    const result = await repeatConflict(() => database.ask((db) => withTransaction(db, run)));
    await counter?.catchUp();
    return result;
  } catch (thrown) {
    // It may have been committed although its answer was lost: a revoked credential must not go on.
    void counter?.catchUp();
    throw thrown;
  }
}

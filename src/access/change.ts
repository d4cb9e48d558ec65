import { type Db, withTransaction } from "../db/context.ts";
import { type ChangeCounter, nextChange } from "../db/next-change.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Access } from "./access.ts";
import type { Actor } from "./actor.ts";
import { type AuditEntry, recordAudit } from "./audit/record-audit.ts";
import { confirmActor } from "./confirm-actor.ts";

export interface ChangeFrame extends Pick<AuditEntry, "action" | "targetKind" | "targetId"> {
  /** Taken first: what the change decides by must not change meanwhile. */
  readonly lock?: (transaction: Db) => Promise<void>;
  /** For what replicas hold in memory: changes of its kind then come one after the other. */
  readonly counter?: {
    readonly name: ChangeCounter;
    /** Makes the change hold for the next call to this replica. */
    readonly catchUp: () => Promise<void>;
  };
}

/** What a change resulted in. */
interface Changed<Result> {
  readonly result: Result;
  /** For the audit log; null when nothing had to be changed, which is not recorded. */
  readonly details: JsonObject | null;
}

/**
 * The frame of every change that a caller asks for: one transaction in which the actor's rights are checked again, the
 * work is done and the audit entry is written; after it this replica knows of the change.
 *
 * @param work gets the number to stamp changed rows with; 0 without a counter.
 */
export async function change<Result>(
  { database, clock }: Pick<Access, "database" | "clock">,
  actor: Actor,
  { lock, counter, ...entry }: ChangeFrame,
  work: (transaction: Db, changeSeq: number) => Promise<Changed<Result>>,
): Promise<Result> {
  const result = await database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await lock?.(transaction);
      // Before any user's row, in every change: so no two of them wait for each other in a circle.
      const changeSeq = counter === undefined ? 0 : await nextChange(transaction, counter.name);
      await confirmActor(transaction, { clock }, actor);
      const changed = await work(transaction, changeSeq);
      const { details } = changed;
      if (details !== null) await recordAudit(transaction, actor, { ...entry, details });
      return changed.result;
    }),
  );
  await counter?.catchUp();
  return result;
}

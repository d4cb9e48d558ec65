import { and, eq, gt } from "drizzle-orm";
import type { Access } from "../access/access.ts";
import type { AnyActor } from "../access/actor.ts";
import { recordAudit } from "../access/audit/record-audit.ts";
import { confirmActor } from "../access/confirm-actor.ts";
import { ServiceError } from "../core/service-error.ts";
import { type Db, withTransaction } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { hurryJobs, redriveJobs } from "../queue/end-jobs.ts";
import { isEvent, isMeant, type StoredEvent, stateOfEvent, unknownEvent } from "../queue/events.ts";
import type { EventTopic } from "../queue/topic.ts";

/** Maximum per call; a client repeats the call for more. */
const REDRIVEN_MAX = 10_000;

type Redriving = Pick<Access, "database" | "clock">;

/**
 * Makes an event due immediately: a dead one again with all its tries, a waiting one without its wait. Resolves with
 * the changed event. Rejects with `not_found`, and with `invalid_value` for a delivered one.
 */
export function redriveEvent(access: Redriving, actor: AnyActor, id: string): Promise<StoredEvent> {
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const [event] = await transaction
        .select()
        .from(outboxEvents)
        .where(and(eq(outboxEvents.id, id), isEvent()))
        .for("update");
      if (event === undefined) throw unknownEvent();
      const state = stateOfEvent(event);
      if (state === "delivered") throw alreadyDelivered();
      const now = access.clock.now();
      if (state === "pending" && event.nextAttemptAt.getTime() <= now) return event;
      const [redriven] =
        state === "dead"
          ? await redriveJobs(transaction, [id], now)
          : await hurryJobs(transaction, [id], now);
      const { kind, sink } = event;
      await record(transaction, actor, { targetId: id, details: { kind, sink } });
      return redriven ?? event;
    }),
  );
}

export interface RedriveQuery {
  /** Default `dead`; `pending` means events that wait for their next try. */
  readonly state?: "dead" | "pending" | undefined;
  readonly kind?: string | undefined;
  readonly sink?: EventTopic | undefined;
}

export interface Redriven {
  readonly count: number;
  /** True when one call cannot redrive all of them. */
  readonly hasMore: boolean;
}

/** Does the same for every event that matches the query, the oldest first; at most 10,000 of them. */
export function redriveEvents(
  access: Redriving,
  actor: AnyActor,
  { state, kind, sink }: RedriveQuery,
): Promise<Redriven> {
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const now = access.clock.now();
      const isPending = state === "pending";
      const found = await transaction
        .select({ id: outboxEvents.id })
        .from(outboxEvents)
        .where(
          and(
            isMeant({ state: state ?? "dead", kind, sink }),
            isPending ? gt(outboxEvents.nextAttemptAt, new Date(now)) : undefined,
          ),
        )
        .orderBy(outboxEvents.createdAt)
        .limit(REDRIVEN_MAX + 1)
        .for("update", { skipLocked: true });
      const ids = found.slice(0, REDRIVEN_MAX).map(({ id }) => id);
      if (ids.length === 0) return { count: 0, hasMore: false };
      await (isPending ? hurryJobs : redriveJobs)(transaction, ids, now);
      const details = { state, kind, sink, events: ids.length };
      await record(transaction, actor, { targetId: null, details });
      return { count: ids.length, hasMore: found.length > REDRIVEN_MAX };
    }),
  );
}

function record(
  transaction: Db,
  actor: AnyActor,
  change: Pick<Parameters<typeof recordAudit>[2], "targetId" | "details">,
): Promise<void> {
  return recordAudit(transaction, actor, {
    action: "event.redrive",
    targetKind: "event",
    ...change,
  });
}

function alreadyDelivered(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "'id' is invalid: expected an event that waits or was given up, this one was delivered.",
    { param: "id" },
  );
}

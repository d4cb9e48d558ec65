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
/** What a loaded database changes well within DB_POOL_WAIT_MS: 10,000 at once take as long as that. */
const PORTION_EVENTS = 1_000;

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
      await (state === "dead" ? redriveJobs : hurryJobs)(transaction, [id], now);
      const { kind, sink } = event;
      await record(transaction, actor, { targetId: id, details: { kind, sink } });
      const [redriven = event] = await transaction
        .select()
        .from(outboxEvents)
        .where(eq(outboxEvents.id, id));
      return redriven;
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

/**
 * Does the same for every event that matches the query, the oldest first; at most 10,000 of them. Each portion is
 * committed with its own audit entry, so a failure keeps what was redriven before it.
 */
export async function redriveEvents(
  access: Redriving,
  actor: AnyActor,
  query: RedriveQuery,
): Promise<Redriven> {
  const now = access.clock.now();
  let count = 0;
  for (;;) {
    const portion = await redrivePortion(access, actor, { ...query, now });
    count += portion.count;
    if (!portion.hasMore || count >= REDRIVEN_MAX) return { count, hasMore: portion.hasMore };
  }
}

function redrivePortion(
  access: Redriving,
  actor: AnyActor,
  { state, kind, sink, now }: RedriveQuery & { readonly now: number },
): Promise<Redriven> {
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
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
        .limit(PORTION_EVENTS + 1)
        .for("update", { skipLocked: true });
      const ids = found.slice(0, PORTION_EVENTS).map(({ id }) => id);
      if (ids.length === 0) return { count: 0, hasMore: false };
      await (isPending ? hurryJobs : redriveJobs)(transaction, ids, now);
      const details = { state, kind, sink, events: ids.length };
      await record(transaction, actor, { targetId: null, details });
      return { count: ids.length, hasMore: found.length > PORTION_EVENTS };
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

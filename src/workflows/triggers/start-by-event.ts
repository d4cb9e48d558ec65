import { eq, inArray } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { outboxEvents } from "../../db/tables/outbox.ts";
import { users } from "../../db/tables/users.ts";
import { workflows } from "../../db/tables/workflows.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import type { DeliveredEvent } from "../../queue/subscriptions.ts";
import type { RowChunk } from "../rows/row.ts";
import { acceptRun } from "../runs/accept/accept-runs.ts";
import { announceAcceptances } from "../runs/accept/acceptance.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import { type EventSubject, subjectOf, type TriggerOwner } from "./event-subject.ts";
import { eventRow, packFact } from "./fact-rows.ts";
import type { KnownTrigger, KnownTriggers } from "./known-triggers.ts";
import { realFolder } from "./real-folder.ts";

export type EventStore = Pick<
  WorkflowStore,
  "settings" | "database" | "clock" | "isLicensed" | "discards" | "wakeRuns"
>;

export interface EventParts {
  readonly store: EventStore;
  readonly known: KnownTriggers;
  readonly fileConnections: Pick<FileConnections, "list">;
}

/**
 * Starts the workflows whose triggers wait for an event, each in a transaction of its own. The event may come again: a
 * trigger takes it once, by its id. Rejects when a workflow could not be asked; the others have started by then.
 */
export async function startByEvent(
  { store, known, fileConnections }: EventParts,
  event: DeliveredEvent,
  signal: AbortSignal,
): Promise<void> {
  const subject = subjectOf(event, fileConnections);
  const triggers = (await known.find(subject.kind)).filter(subject.isWantedBy);
  if (triggers.length === 0) return;
  const { askOwn } = store.database;
  // The disk is asked first: a file system that hangs must keep no place at the database.
  const watched = subject.watched && (await realFolder(subject.watched));
  const { wanted, ...found } = await askOwn((db) =>
    readStart(db, { event, subject, triggers, watched }),
  );
  if (wanted.length === 0) return;
  const { occurredAt } = found;
  const rows = await packFact(eventRow(event, { occurredAt, folder: subject.folder }));
  let failure: unknown;
  for (const one of wanted) {
    signal.throwIfAborted();
    try {
      await start(store, one, { ...{ event, subject, rows }, ...found });
    } catch (thrown) {
      failure ??= thrown;
    }
  }
  if (failure !== undefined) throw failure;
}

interface Start {
  readonly event: DeliveredEvent;
  readonly subject: EventSubject;
  readonly rows: readonly RowChunk[];
  readonly chain: readonly string[];
  readonly occurredAt: Date;
}

async function start(
  store: EventStore,
  { workflowId, key, trigger }: KnownTrigger,
  { event, subject, rows, chain, occurredAt }: Start,
): Promise<void> {
  const { kind, coalesce, allow_loop: allowLoop } = trigger;
  const acceptance = await store.database.askOwn((db) =>
    withTransaction(db, (transaction) =>
      acceptRun(transaction, store, workflowId, {
        trigger: { kind, event: event.kind, event_id: event.id, ...subject.facts },
        triggerKey: key,
        rows,
        chain,
        // A dead event may be redriven weeks later.
        fact: { fact: event.id, remembersDiscard: true, since: occurredAt.getTime() },
        coalesce,
        allowLoop,
      }),
    ),
  );
  announceAcceptances(store, [acceptance]);
}

interface StartQuery extends Pick<Start, "event" | "subject"> {
  readonly triggers: readonly KnownTrigger[];
  /** The watched folder of a file without symbolic links. */
  readonly watched: string | undefined;
}

/** Reads which of the triggers may know of the event, and what goes with the runs. */
async function readStart(db: Db, { event, subject, triggers, watched }: StartQuery) {
  const owners = await readOwners(db, triggers);
  const mayKnow = await subject.readAudience(db);
  const wanted = triggers.filter(({ workflowId, trigger }) => {
    const owner = owners.get(workflowId);
    return owner !== undefined && mayKnow(owner, trigger);
  });
  const [stored] = await db
    .select({ at: outboxEvents.createdAt })
    .from(outboxEvents)
    .where(eq(outboxEvents.id, event.id));
  return {
    wanted,
    chain: await subject.readChain(db, watched),
    // The row of an event stays for days after its delivery.
    occurredAt: stored?.at ?? new Date(0),
  };
}

/** The owners of enabled workflows. A disabled owner's does not start either, which the acceptance counts. */
async function readOwners(
  db: Db,
  triggers: readonly KnownTrigger[],
): Promise<ReadonlyMap<string, TriggerOwner>> {
  const ids = [...new Set(triggers.map(({ workflowId }) => workflowId))];
  const rows = await db
    .select({ id: workflows.id, enabled: workflows.enabled, ownerId: users.id, role: users.role })
    .from(workflows)
    .innerJoin(users, eq(users.id, workflows.ownerId))
    .where(inArray(workflows.id, ids));
  return new Map(rows.filter(({ enabled }) => enabled).map(({ id, ...owner }) => [id, owner]));
}

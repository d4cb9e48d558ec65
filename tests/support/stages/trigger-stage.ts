import { eq, sql } from "drizzle-orm";
import { loadConfig } from "../../../src/config/load-config.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { users } from "../../../src/db/tables/users.ts";
import {
  workflowQueues,
  workflowRuns,
  workflowSchedules,
  workflows,
  workflowVersions,
} from "../../../src/db/tables/workflows.ts";
import type { FileConnection } from "../../../src/knowledge/file-connections.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  createInternalEvents,
  fireEvents,
  type InternalEvents,
} from "../../../src/queue/internal-events.ts";
import type { DeliveredEvent, InternalEvent } from "../../../src/queue/subscriptions.ts";
import type { Trigger } from "../../../src/workflows/definition/definition.ts";
import { unpackRows } from "../../../src/workflows/rows/pack-rows.ts";
import { MAIN, readChunks, TRIGGER_STEP } from "../../../src/workflows/rows/row-store.ts";
import { acceptRunNow } from "../../../src/workflows/runs/accept/accept-runs.ts";
import { createDiscardCounts } from "../../../src/workflows/runs/accept/discard-counts.ts";
import { endRun } from "../../../src/workflows/runs/end/end-run.ts";
import type { RunEnd } from "../../../src/workflows/runs/run.ts";
import { createKnownTriggers } from "../../../src/workflows/triggers/known-triggers.ts";
import { saveSchedules } from "../../../src/workflows/triggers/save-schedules.ts";
import { startByEvent } from "../../../src/workflows/triggers/start-by-event.ts";
import type { WorkflowStore } from "../../../src/workflows/workflow-store.ts";
import { openTestDatabase } from "../servers/databases/test-database.ts";

export type Run = typeof workflowRuns.$inferSelect;

export interface NewWorkflow {
  readonly id?: string;
  readonly owner?: "admin" | "owner" | "other";
  readonly enabled?: boolean;
  readonly visibility?: "private" | "everyone";
  /** As they are sent: defaults may be absent. */
  readonly triggers?: readonly JsonObject[];
  readonly steps?: readonly JsonObject[];
}

/** Users `admin`, `owner` and `other`; runs are ended by the test, which stands for the workers. */
export interface TriggerStage {
  readonly database: Database;
  readonly store: WorkflowStore;
  /** The clock of the ticker: tests set it. */
  readonly clock: { at: number };
  readonly license: { isValid: boolean };
  readonly folders: FileConnection[];
  readonly addWorkflow: (fields: NewWorkflow) => Promise<string>;
  readonly change: (id: string, fields: Omit<NewWorkflow, "id">) => Promise<void>;
  readonly runs: (workflowId: string) => Promise<readonly Run[]>;
  /** Starts a run by hand. */
  readonly start: (workflowId: string) => Promise<void>;
  /** The rows that its trigger brought. */
  readonly rows: (run: Run | undefined) => Promise<readonly JsonObject[]>;
  readonly end: (run: Run | undefined, end?: RunEnd) => Promise<void>;
  /** Ends the workflow's runs until none is left. */
  readonly endAll: (workflowId: string) => Promise<void>;
  readonly discarded: (workflowId: string) => Promise<Readonly<Record<string, number>>>;
  readonly schedules: (
    workflowId: string,
  ) => Promise<readonly (typeof workflowSchedules.$inferSelect)[]>;
  /** Hands an event over, as the queue does. */
  readonly deliver: (event: InternalEvent, id?: string) => Promise<void>;
  /** Stores events, and delivers those and all that follow from them, until none is pending. */
  readonly fire: (...events: InternalEvent[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const START = Date.parse("2026-11-23T12:00:00Z");

export async function openTriggerStage(
  environment: Readonly<Record<string, string>> = {},
): Promise<TriggerStage> {
  const database = await openTestDatabase();
  const clock = { at: START };
  const license = { isValid: true };
  const folders: FileConnection[] = [];
  const log = createLog("error");
  const store = {
    database,
    log,
    settings: loadConfig({ LLM_BACKEND: "vllm", ...environment }).settings,
    clock: { now: () => clock.at },
    isLicensed: () => license.isValid,
    discards: createDiscardCounts(),
    wakeRuns: () => undefined,
    wakeEvents: () => undefined,
  } as unknown as WorkflowStore;
  await database.db.insert(users).values([
    { id: "usr_admin", username: "admin", role: "admin" },
    { id: "usr_owner", username: "owner", role: "user" },
    { id: "usr_other", username: "other", role: "user" },
  ]);
  const known = createKnownTriggers(database);
  const parts = { store, known, fileConnections: { list: () => folders } };
  const handle = (event: DeliveredEvent, signal: AbortSignal) => startByEvent(parts, event, signal);
  const records = createRecords(database, clock);
  return {
    ...{ database, store, clock, license, folders, ...records },
    async start(workflowId) {
      const request = { trigger: { kind: "manual" }, triggerKey: "manual", rows: [] } as const;
      await acceptRunNow(store, workflowId, request);
    },
    async deliver(event, id = `evt_${randomBase62(22)}`) {
      await handle({ ...event, id } as DeliveredEvent, new AbortController().signal);
    },
    async fire(...fired) {
      await database.db.transaction((transaction) => fireEvents(transaction, fired, clock.at));
      await deliverAll(
        database,
        (events) => {
          events.subscribe({ name: "triggers", kinds: KINDS, handle });
        },
        { log, now: () => clock.at },
      );
    },
    close: () => database.close(),
  };
}

const KINDS: InternalEvent["kind"][] = [
  ...(["file.uploaded", "file.deleted", "knowledge.ingested"] as const),
  ...(["workflow.completed", "workflow.failed", "dataset.updated"] as const),
];

async function deliverAll(
  database: Database,
  subscribe: (events: InternalEvents) => void,
  { log, now }: { readonly log: ReturnType<typeof createLog>; readonly now: () => number },
): Promise<void> {
  const { db } = database;
  const events = createInternalEvents({
    db,
    clock: { now },
    log,
    scale: 0.001,
    tryTimeoutMs: 15_000,
  });
  subscribe(events);
  events.start();
  for (;;) {
    const [row] = await db.execute<{ pending: number }>(
      sql`select count(*)::int as pending from outbox_events
        where sink = 'internal' and delivered_at is null and dead_at is null`,
    );
    if (row?.pending === 0) break;
    events.wake();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await events.close();
}

function createRecords({ db, ask }: Database, clock: { readonly at: number }) {
  const save = (id: string, triggers: readonly JsonObject[]) =>
    withTransaction(db, (transaction) =>
      saveSchedules(transaction, id, triggers as unknown as readonly Trigger[], clock.at),
    );
  const runs = async (workflowId: string) => {
    const found = await db
      .select()
      .from(workflowRuns)
      .where(eq(workflowRuns.workflowId, workflowId));
    return found.sort((one, other) => one.number - other.number);
  };
  const end = async (run: Run | undefined, result: RunEnd = { status: "completed" }) => {
    if (run === undefined) throw new Error("there is no run to end");
    const { id: runId, workflowId } = run;
    const ending = {
      runId,
      workflowId,
      end: result,
      now: clock.at,
      confirm: async () => undefined,
    };
    await withTransaction(db, (transaction) => endRun(transaction, ending));
  };
  return {
    runs,
    end,
    async addWorkflow({ triggers = [], steps = [], owner = "admin", ...fields }: NewWorkflow) {
      const id = fields.id ?? `wf_${randomBase62(22)}`;
      const definition = { triggers: [...triggers], steps: [...steps] };
      const record = { id, name: id, ownerId: `usr_${owner}`, definition, ...fields };
      await db.insert(workflows).values(record);
      await db.insert(workflowVersions).values({ workflowId: id, version: 1, definition });
      await db.insert(workflowQueues).values({ workflowId: id });
      await save(id, triggers);
      return id;
    },
    async change(id: string, { triggers, steps, owner, ...fields }: Omit<NewWorkflow, "id">) {
      const [old] = await db.select().from(workflows).where(eq(workflows.id, id));
      const definition = {
        ...old?.definition,
        ...(triggers && { triggers }),
        ...(steps && { steps }),
      };
      const set = { ...fields, ...(owner && { ownerId: `usr_${owner}` }), definition };
      await db
        .update(workflows)
        .set({ ...set, version: (old?.version ?? 0) + 1 })
        .where(eq(workflows.id, id));
      await save(id, (definition as { triggers: readonly JsonObject[] }).triggers);
    },
    async rows(run: Run | undefined) {
      const place = {
        day: run?.day ?? "",
        runId: run?.id ?? "",
        stepId: TRIGGER_STEP,
        output: MAIN,
      };
      const rows: JsonObject[] = [];
      for await (const chunk of readChunks(ask, place)) rows.push(...(await unpackRows(chunk)));
      return rows;
    },
    async endAll(workflowId: string) {
      for (;;) {
        const running = (await runs(workflowId)).find(({ status }) => status === "running");
        if (running === undefined) return;
        await end(running);
      }
    },
    async discarded(workflowId: string) {
      const isMeant = eq(workflowQueues.workflowId, workflowId);
      const [queue] = await db.select().from(workflowQueues).where(isMeant);
      return queue?.discarded ?? {};
    },
    schedules: (workflowId: string) =>
      db.select().from(workflowSchedules).where(eq(workflowSchedules.workflowId, workflowId)),
  };
}

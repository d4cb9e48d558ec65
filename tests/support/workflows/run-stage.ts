import { asc, eq } from "drizzle-orm";
import { loadConfig } from "../../../src/config/load-config.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { users } from "../../../src/db/tables/users.ts";
import {
  activeRuns,
  workflowQueues,
  workflowRuns,
  workflows,
  workflowVersions,
} from "../../../src/db/tables/workflows.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createSecretBox } from "../../../src/lib/secret-box.ts";
import { createDiscardCounts } from "../../../src/workflows/runs/accept/discard-counts.ts";
import { openRuns, type Runs } from "../../../src/workflows/runs/open-runs.ts";
import type { ExecuteRun } from "../../../src/workflows/runs/run.ts";
import type { WorkflowStore } from "../../../src/workflows/workflow-store.ts";
import { readPlainDefinition } from "./plain-definition.ts";

/** A definition with one step that passes its rows on. */
const ONE_STEP: JsonObject = {
  triggers: [{ kind: "webhook", auth: "secret" }],
  steps: [{ id: "take", kind: "input" }],
};

/** A workflow that is stored as its verbs store it. */
export async function insertWorkflow(
  database: Pick<Database, "db">,
  fields: Partial<typeof workflows.$inferInsert> = {},
): Promise<string> {
  const id = fields.id ?? `wf_${randomBase62(22)}`;
  const definition = fields.definition ?? ONE_STEP;
  await withTransaction(database.db, async (transaction) => {
    await transaction.insert(workflows).values({ name: "a workflow", ...fields, id, definition });
    const version = fields.version ?? 1;
    await transaction.insert(workflowVersions).values({ workflowId: id, version, definition });
    await transaction.insert(workflowQueues).values({ workflowId: id });
  });
  return id;
}

export async function insertUser(
  database: Pick<Database, "db">,
  fields: Partial<typeof users.$inferInsert> = {},
): Promise<string> {
  const id = `usr_${randomBase62(22)}`;
  const username = id.toLowerCase();
  await database.db.insert(users).values({ id, username, role: "user", ...fields });
  return id;
}

/** The parts of a replica that runs need, on a database that several may share. */
export interface RunStage {
  readonly store: WorkflowStore;
  readonly runs: Runs;
  readonly lines: string[];
  /** Starts its worker; a stage has none until then. */
  readonly work: (execute: ExecuteRun) => void;
  readonly close: () => Promise<void>;
}

export interface RunStageOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  readonly isLicensed?: () => boolean;
}

export function openRunStage(database: Database, options: RunStageOptions = {}): RunStage {
  const { environment = {}, now = Date.now, isLicensed = () => true } = options;
  const lines: string[] = [];
  const { settings } = loadConfig({ LLM_BASE_URL: "http://127.0.0.1:9", ...environment });
  const known = {
    settings,
    database,
    clock: { now },
    log: createLog("info", { write: (line: string) => void lines.push(line) }),
    secretBox: createSecretBox(Buffer.alloc(32, 7)),
    isLicensed,
    discards: createDiscardCounts(),
    wakeEvents: () => undefined,
    rowProcess: undefined as never,
  };
  const runs = openRuns(known);
  const store: WorkflowStore = { ...known, kinds: undefined as never, wakeRuns: runs.wake };
  return {
    store,
    runs,
    lines,
    work: (execute) => runs.start(execute, readPlainDefinition),
    close: async () => runs.close?.(1_000),
  };
}

/** Every run of a workflow, in the order of acceptance. */
export function runsOf({ db }: Pick<Database, "db">, workflowId: string) {
  return db
    .select()
    .from(workflowRuns)
    .where(eq(workflowRuns.workflowId, workflowId))
    .orderBy(asc(workflowRuns.number));
}

/** The queued and running ones. */
export function activeOf({ db }: Pick<Database, "db">, workflowId: string) {
  return db
    .select()
    .from(activeRuns)
    .where(eq(activeRuns.workflowId, workflowId))
    .orderBy(asc(activeRuns.number));
}

export async function queueOf({ db }: Pick<Database, "db">, workflowId: string) {
  const [queue] = await db
    .select()
    .from(workflowQueues)
    .where(eq(workflowQueues.workflowId, workflowId));
  if (queue === undefined) throw new Error("the workflow has no queue");
  return queue;
}

/** An `execute` that waits at a gate for each run. */
export interface Gate {
  readonly execute: ExecuteRun;
  /** Ids of the runs in the order in which they began; a run that is taken over begins again. */
  readonly begun: string[];
  /** The most runs of one workflow that were inside at once. */
  readonly mostAtOnce: () => number;
  /** Resolves when `count` runs have begun. */
  readonly beginnings: (count: number) => Promise<void>;
  /** Lets a run end, also one that begins later. */
  readonly open: (runId: string) => void;
  readonly openAll: () => void;
}

export function createGate(): Gate {
  const begun: string[] = [];
  const inside = new Map<string, number>();
  const opened = new Set<string>();
  const waiting = new Map<string, () => void>();
  const watchers = new Set<() => void>();
  let isOpen = false;
  let most = 0;
  const passed = (runId: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (isOpen || opened.has(runId)) resolve();
      waiting.set(runId, resolve);
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  return {
    begun,
    mostAtOnce: () => most,
    async execute({ id, workflowId }, { signal }) {
      begun.push(id);
      const count = (inside.get(workflowId) ?? 0) + 1;
      inside.set(workflowId, count);
      most = Math.max(most, count);
      for (const look of watchers) look();
      try {
        await passed(id, signal);
      } finally {
        inside.set(workflowId, (inside.get(workflowId) ?? 1) - 1);
      }
      return { status: "completed" };
    },
    beginnings: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (begun.length < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    open(runId) {
      opened.add(runId);
      waiting.get(runId)?.();
    },
    openAll() {
      isOpen = true;
      for (const pass of waiting.values()) pass();
    },
  };
}

import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { DAY_MS } from "../../../src/db/days/day-table.ts";
import {
  activeRuns,
  workflowFacts,
  workflowRows,
  workflowRuns,
  workflowSteps,
  workflows,
} from "../../../src/db/tables/workflows.ts";
import { createLog } from "../../../src/lib/log.ts";
import { openRowUpkeep } from "../../../src/workflows/execute/row-upkeep.ts";
import { withRowState } from "../../../src/workflows/rows/row-retention.ts";
import { utcDay } from "../../../src/workflows/runs/run-id.ts";
import {
  openEmbeddedInMemory,
  openTestDatabase,
} from "../../support/servers/databases/test-database.ts";

/** Each test has days of its own, so long after the last one's that nothing of these is kept: a database costs seconds. */
const DAYS_APART = 1_000;
const SETTINGS = { WORKFLOW_ROWS_RETENTION_DAYS: 7, WORKFLOW_RUN_RETENTION_DAYS: 90 };
const TABLES = ["workflow_runs", "workflow_steps", "workflow_rows", "workflow_facts"];

describe.each([
  ["the database of the run", openTestDatabase],
  ["the embedded database", openEmbeddedInMemory],
] as const)("days of workflow runs on %s", (_, open) => {
  let database: Database;
  let noon = Date.UTC(2026, 10, 23, 12);
  let now: number;
  let upkeep: () => Promise<void>;
  beforeAll(async () => {
    database = await open();
  });
  beforeEach(() => {
    noon += DAYS_APART * DAY_MS;
    now = noon;
    upkeep = newUpkeep();
  });
  afterAll(() => database.close());

  /** The name of its partition. */
  const partition = (table: string, days: number) =>
    `${table}_${utcDay(noon + days * DAY_MS).replaceAll("-", "")}`;

  /** As in another process, which has not looked yet. */
  function newUpkeep(): () => Promise<void> {
    const parts = { database, clock: { now: () => now }, log: createLog("fatal") };
    let opening: ReturnType<typeof openRowUpkeep> | undefined;
    return async () => {
      opening ??= openRowUpkeep({ ...parts, settings: SETTINGS } as never);
      const [job] = (await opening).jobs ?? [];
      if (job === undefined) throw new Error("there is no job");
      await job.run();
    };
  }

  async function partitions(): Promise<readonly string[]> {
    const rows = await database.db.execute<{ name: string }>(sql`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where c.relname like 'workflow%' and c.relkind = 'r' order by 1`);
    return rows.map(({ name }) => name);
  }

  async function addRun(at: number, runId: string): Promise<void> {
    const day = utcDay(at);
    const { db } = database;
    await db.insert(workflowRuns).values({
      ...{ id: runId, day, workflowId: "wf_1", workflowName: "w", version: 1, number: 1 },
      ...{ status: "completed", trigger: {}, rowsReceived: 0, queuedAt: new Date(at) },
    });
    const step = { day, runId, stepId: "a" };
    await db
      .insert(workflowSteps)
      .values({ ...step, position: 0, kind: "pass", status: "completed" });
    await db
      .insert(workflowRows)
      .values({ ...step, output: "main", chunk: 0, rows: 1, bytes: 3, data: new Uint8Array([1]) });
  }

  /** Upkeep on the given day after noon's and on the two before: a leap of the clock alone drops nothing. */
  async function runUntil(days: number): Promise<void> {
    for (const before of [2, 1, 0]) {
      now = noon + (days - before) * DAY_MS;
      await upkeep();
    }
  }

  const counts = async () => [
    await database.db.$count(workflowRuns),
    await database.db.$count(workflowSteps),
    await database.db.$count(workflowRows),
  ];

  test("today and the next two days have partitions of all four tables", async () => {
    await upkeep();
    expect(await partitions()).toEqual(
      TABLES.flatMap((table) => [
        ...[0, 1, 2].map((days) => partition(table, days)),
        `${table}_other`,
      ]).sort(),
    );
  });

  test("rows that came before their partition are moved into it", async () => {
    await addRun(noon, "run_1");
    await upkeep();
    const [found] = await database.db.execute<{ name: string }>(
      sql`select tableoid::regclass::text as name from workflow_rows`,
    );
    expect(found?.name).toBe(partition("workflow_rows", 0));
  });

  test("rows go after 7 days, runs and steps after 90, each day as a whole", async () => {
    await upkeep();
    await addRun(noon, "run_1");
    now = noon + 7 * DAY_MS;
    await upkeep();
    expect(await counts()).toEqual([1, 1, 1]);
    now = noon + 8 * DAY_MS;
    await upkeep();
    expect(await counts()).toEqual([1, 1, 0]);
    expect(await partitions()).not.toContain(partition("workflow_rows", 0));
    const told = (day: string, endedAt: Date | null) => {
      const retention = { settings: SETTINGS, clock: { now: () => now } };
      return withRowState({ day, endedAt, rowsDropped: false }, retention).rowsDropped;
    };
    expect(told(utcDay(noon + DAY_MS), new Date(now))).toBe(false);
    expect(told(utcDay(noon), new Date(now))).toBe(true);
    // A day with a run that has not ended keeps its rows.
    expect(told(utcDay(noon), null)).toBe(false);
    await runUntil(91);
    expect(await counts()).toEqual([0, 0, 0]);
  });

  test("a clock that leaps by months drops nothing before it has stayed there for two days", async () => {
    await upkeep();
    await addRun(noon, "run_1");
    for (const days of [400, 401]) {
      now = noon + days * DAY_MS;
      await newUpkeep()();
      expect(await counts()).toEqual([1, 1, 1]);
    }
    now = noon + 402 * DAY_MS;
    await newUpkeep()();
    expect(await counts()).toEqual([0, 0, 0]);
  });

  test("a day with a queued or running run keeps all it has, and loses it when the run has ended", async () => {
    await upkeep();
    await addRun(noon, "run_1");
    await addRun(noon - 3 * DAY_MS, "run_0");
    const { db } = database;
    await db.insert(workflows).values({ id: "wf_1", name: "w", definition: {} });
    for (const [runId, at] of [
      ["run_1", noon],
      ["run_0", noon - 3 * DAY_MS],
    ] as const) {
      await db.insert(activeRuns).values({
        ...{ runId, day: utcDay(at), workflowId: "wf_1", triggerKey: "manual", timeoutSeconds: 1 },
        ...{ status: "queued", number: runId === "run_1" ? 1 : 2, queuedAt: new Date(at) },
      });
    }
    await runUntil(100);
    expect(await counts()).toEqual([2, 2, 2]);
    await db.delete(activeRuns);
    await newUpkeep()();
    expect(await counts()).toEqual([0, 0, 0]);
  });

  test("facts go after a month, because dead events can be redriven until then", async () => {
    await upkeep();
    const { db } = database;
    const at = new Date(noon);
    const fact = { workflowId: "wf_1", triggerKey: "webhook", fact: "key", createdAt: at };
    await db.insert(workflowFacts).values({ ...fact, day: utcDay(noon) });
    const left = () => db.$count(workflowFacts);
    now = noon + 31 * DAY_MS;
    await upkeep();
    expect(await left()).toBe(1);
    now = noon + 33 * DAY_MS;
    await upkeep();
    expect(await left()).toBe(0);
  });

  test("between two looks nothing is asked of the database", async () => {
    await upkeep();
    const last = partition("workflow_rows", 2);
    await database.db.execute(sql`drop table ${sql.identifier(last)}`);
    await upkeep();
    expect(await partitions()).not.toContain(last);
    now += DAY_MS;
    await upkeep();
    expect(await partitions()).toContain(last);
  });
});

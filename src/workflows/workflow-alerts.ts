import { sql } from "drizzle-orm";
import type { Settings } from "../config/settings.ts";
import type { AlertRule, Finding } from "../core/part.ts";
import type { Db } from "../db/context.ts";
import { alertSuppressions } from "../db/tables/outbox.ts";
import { activeRuns, workflowQueues, workflowRuns, workflows } from "../db/tables/workflows.ts";
import type { JsonObject } from "../lib/json/json.ts";

const PIPELINE_FAILED = "pipeline_failed";
const HOUR_MS = 3_600_000;
/** Failed runs that no alert was sent about are found this long, for example after the server was down. */
const FAILED_FOR_MS = 24 * HOUR_MS;
/** A check sends no more alerts of one type; the rest is found by the next one. */
const FINDINGS_MAX = 100;
/** Workflows that a backlog's alert names. */
const NAMED_MAX = 10;

type AlertSettings = Pick<
  Settings,
  "ALERT_PIPELINE_CONSECUTIVE_FAILURES" | "ALERT_PIPELINE_QUEUE_AGE_SEC"
>;

/** Warns of runs that failed, of workflows that keep failing, and of runs that wait for a long time. */
export function workflowAlerts(db: Db, settings: AlertSettings): readonly AlertRule[] {
  const {
    ALERT_PIPELINE_CONSECUTIVE_FAILURES: failures,
    ALERT_PIPELINE_QUEUE_AGE_SEC: limitSeconds,
  } = settings;
  return [
    {
      type: PIPELINE_FAILED,
      window: "permanently",
      find: (now) => findFailedRuns(db, now),
    },
    {
      type: "pipeline_consecutive_failures",
      window: "while it lasts",
      find: () => findFailingWorkflows(db, failures),
    },
    {
      type: "pipeline_queue_backlog",
      window: HOUR_MS,
      find: (now) => findBacklog(db, { now, limitSeconds }),
    },
  ];
}

interface FailedRun extends Record<string, unknown> {
  readonly id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly failed_step: string | null;
  readonly error: JsonObject | null;
}

/** Leaves out the runs that an alert was sent about, so that many of them do not hide the next. */
async function findFailedRuns(db: Db, now: number): Promise<readonly Finding[]> {
  const rows = await db.execute<FailedRun>(sql`
    select id, workflow_id, workflow_name, failed_step, error from ${workflowRuns} as run
    where status = 'failed' and ended_at > ${moment(now - FAILED_FOR_MS)}
      and not exists (
        select 1 from ${alertSuppressions} as sent
        where sent.type = ${PIPELINE_FAILED} and sent.subject = run.id
      )
    order by ended_at
    limit ${FINDINGS_MAX}`);
  return rows.map(({ id, workflow_id, workflow_name, failed_step, error }) => {
    const where = failed_step === null ? "" : ` at step '${failed_step}'`;
    return {
      subject: id,
      text: `A run of workflow '${workflow_name}' failed${where}: ${error?.["message"] ?? "no reason was recorded"} See GET /api/pipeline/runs/${id}; retry it there when the cause is gone.`,
      details: {
        run_id: id,
        workflow_id,
        workflow: workflow_name,
        failed_step,
        code: error?.["code"] ?? null,
      },
    };
  });
}

interface FailingWorkflow extends Record<string, unknown> {
  readonly id: string;
  readonly name: string;
  readonly failures: number;
  readonly since: number;
}

async function findFailingWorkflows(db: Db, limit: number): Promise<readonly Finding[]> {
  const rows = await db.execute<FailingWorkflow>(sql`
    select workflow.id, workflow.name, queue.consecutive_failures as failures,
      floor(extract(epoch from queue.failing_since) * 1000)::float8 as since
    from ${workflowQueues} as queue join ${workflows} as workflow on workflow.id = queue.workflow_id
    where queue.consecutive_failures >= ${limit} and queue.failing_since is not null
    order by queue.failing_since, workflow.id`);
  return rows.map(({ id, name, failures, since }) => ({
    subject: id,
    text: `Workflow '${name}' failed ${failures} times in a row. Look at its last runs by GET /api/pipeline/runs?workflow=${id}, and disable it until the cause is gone.`,
    details: {
      workflow_id: id,
      workflow: name,
      failures,
      failing_since: new Date(since).toISOString(),
    },
    since,
    over: "a workflow that kept failing has completed a run",
  }));
}

interface Waiting extends Record<string, unknown> {
  readonly workflow_id: string;
  readonly waiting: number;
  readonly oldest: number;
}

async function findBacklog(
  db: Db,
  { now, limitSeconds }: { readonly now: number; readonly limitSeconds: number },
): Promise<readonly Finding[]> {
  const rows = await db.execute<Waiting>(sql`
    select workflow_id, count(*)::int as waiting,
      extract(epoch from min(queued_at))::float8 * 1000 as oldest
    from ${activeRuns}
    where status = 'queued' and queued_at < ${moment(now - limitSeconds * 1_000)}
    group by workflow_id order by min(queued_at)`);
  const [first] = rows;
  if (first === undefined) return [];
  const waiting = rows.reduce((sum, row) => sum + row.waiting, 0);
  const ageSeconds = Math.floor((now - first.oldest) / 1_000);
  const runs = waiting === 1 ? "A workflow run waits" : `${waiting} workflow runs wait`;
  return [
    {
      subject: "queue",
      text: `${runs} for longer than ${limitSeconds} s, the oldest for ${ageSeconds} s. The runs before them are slow or many, no replica has room (WORKFLOW_CONCURRENCY), or the license has ended; see GET /api/pipeline/runs?status=running.`,
      details: {
        waiting,
        oldest_age_seconds: ageSeconds,
        limit_seconds: limitSeconds,
        workflows: Object.fromEntries(
          rows.slice(0, NAMED_MAX).map((row) => [row.workflow_id, row.waiting]),
        ),
      },
      over: "no workflow run waits for too long any more",
    },
  ];
}

function moment(at: number) {
  return sql`${new Date(at).toISOString()}::timestamptz`;
}

import type { Deps } from "../../../src/deps.ts";
import { connectRuns } from "../../../src/workflows/records/connect-records.ts";
import type { WorkflowRecords } from "../../../src/workflows/records/workflow-records.ts";
import { callHttp, type HttpAnswer, type HttpCall, logIn } from "../clients/http-session.ts";
import { databaseServerUrl } from "../servers/databases/database-server.ts";
import { openedKind } from "../servers/databases/test-database.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../stages/served-deps.ts";
import { tinyKinds } from "./tiny-kinds.ts";

export interface WorkflowPerson {
  readonly id: string;
  readonly session: string;
  readonly key: string;
  readonly keyId: string;
  /** Calls with the session unless `token` says otherwise. */
  readonly call: (call: HttpCall) => Promise<HttpAnswer>;
}

/** The server with an administrator and two users, small kinds of steps, and no worker for runs. */
export interface WorkflowStage {
  readonly served: ServedDeps;
  readonly records: WorkflowRecords;
  readonly admin: WorkflowPerson;
  readonly owner: WorkflowPerson;
  readonly other: WorkflowPerson;
}

export const PIPELINE = "/api/pipeline";

const NEXT = new Date("2030-01-01T06:00:00.000Z");

/** Opens it on the database that the run is about. */
export async function openWorkflowStage(): Promise<WorkflowStage> {
  const databaseUrl = openedKind === "embedded" ? undefined : databaseServerUrl;
  const served = await serveDeps(
    databaseUrl,
    { DB_POOL_WAIT_MS: "60000", WORKFLOW_CONCURRENCY: "0" },
    withTinyParts,
  );
  const session = await logIn(served.url, "admin", ADMIN_PASSWORD);
  const admin = await personOf(served.url, session);
  return {
    ...{ served, records: served.deps.workflows, admin },
    owner: await createPerson(served.url, admin, "olga"),
    other: await createPerson(served.url, admin, "otto"),
  };
}

function withTinyParts(deps: Deps): Deps {
  const workflows: WorkflowRecords = {
    ...deps.workflows,
    kinds: tinyKinds,
    rowProcess: {
      ...deps.workflows.rowProcess,
      check: async (expressions) =>
        expressions
          .filter(({ text }) => text.includes("??"))
          .map(({ field }) => ({ field, message: "The expression does not parse at '??'." })),
    },
    schedules: {
      checkSchedule: ({ cron }) =>
        cron === "never"
          ? { field: "cron", message: "There is no such time. Use another." }
          : { next: [NEXT] },
      nextTimes: () => [NEXT],
      saveSchedules: async () => undefined,
    },
    runs: connectRuns({ ...deps.workflows, kinds: tinyKinds }),
  };
  return { ...deps, workflows };
}

async function createPerson(
  url: string,
  admin: WorkflowPerson,
  username: string,
): Promise<WorkflowPerson> {
  const body = { username, password: `first password of ${username}` };
  await admin.call({ method: "POST", path: "/api/admin/users", body });
  const first = await logIn(url, username, body.password);
  const changed = await callHttp(url, {
    method: "POST",
    path: "/api/auth/password",
    token: first,
    body: { current_password: body.password, new_password: `own password of ${username}` },
  });
  return personOf(url, changed.body.token);
}

async function personOf(url: string, session: string): Promise<WorkflowPerson> {
  const call = (given: HttpCall) => callHttp(url, { token: session, ...given });
  const { id } = (await call({ path: "/api/auth/me" })).body;
  const issued = await call({ method: "POST", path: "/v1/api-keys", body: { name: "a key" } });
  return { id, session, key: issued.body.key, keyId: issued.body.id, call };
}

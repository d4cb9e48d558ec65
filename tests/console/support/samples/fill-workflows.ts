import { callHttp } from "../../../support/clients/http-session.ts";
import type { ConsoleStage } from "../console-stage.ts";

const PATIENCE_MS = 60_000;
const ENDED = new Set(["completed", "failed", "stopped"]);

/** A step that is skipped, one that routes errors, one that fails unless the rows are mended. */
const ORDERS = {
  name: "large orders",
  description: "Splits orders by their total.",
  triggers: [{ kind: "webhook" }, { kind: "schedule", cron: "0 6 * * 1-5", timezone: "UTC" }],
  steps: [
    { id: "orders", kind: "input" },
    { id: "net", kind: "map", set: { net: "round(row.total / 1.19, 2)" }, on_row_error: "route" },
    { id: "check", kind: "if", condition: "row.net > 100" },
    { id: "large", kind: "sort", by: ["net"] },
    { id: "small", kind: "limit", count: 10, from: ["check.else"] },
    { id: "odd", kind: "select", fields: ["id"], from: ["net.errors"] },
  ],
};
const FAILING = {
  name: "strict orders",
  triggers: [],
  steps: [
    { id: "orders", kind: "input" },
    { id: "net", kind: "map", set: { net: "row.total / 1.19" } },
    { id: "report", kind: "select", fields: ["net"] },
  ],
};
const ROWS = [{ id: 1, total: 250 }, { id: 2, total: 20 }, { id: 3 }];

/** Workflows with a run that completed and one that failed. Returns their ids by the paths of their pages. */
export async function fillWorkflows({
  url,
  sessions: { administrator: token },
}: ConsoleStage): Promise<Readonly<Record<"workflows" | "runs", string>>> {
  const call = async (method: "GET" | "POST", path: string, body?: unknown) => {
    const answer = await callHttp(url, { method, path: `/api/pipeline/${path}`, token, body });
    if (answer.status >= 300) throw new Error(`${path} was answered ${answer.text}`);
    return answer.body;
  };
  const run = async (definition: object) => {
    const { id } = await call("POST", "workflows", definition);
    const { runId } = await call("POST", `workflows/${id}/runs`, { rows: ROWS });
    return { id, runId };
  };
  const made = await Promise.all([run({ ...ORDERS, visibility: "everyone" }), run(FAILING)]);
  const deadline = Date.now() + PATIENCE_MS;
  for (const { runId } of made) {
    while (!ENDED.has((await call("GET", `runs/${runId}`)).status)) {
      if (Date.now() > deadline) throw new Error(`the run ${runId} does not end`);
    }
  }
  const [orders] = made;
  return { workflows: orders?.id ?? "", runs: orders?.runId ?? "" };
}

import type { Deps } from "../../deps.ts";
import { readUsageReport } from "../../usage/reports/read-usage-report.ts";
import { reconcileUsage } from "../../usage/sums/reconcile-usage.ts";
import { createReconciliationTurn } from "../../usage/sums/reconciliation-turn.ts";
import { repairUsage } from "../../usage/sums/repair-usage.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { reconciliationJson, repairJson } from "../answers/reconciliation-body.ts";
import { type Table, tableResponse } from "../answers/table-response.ts";
import { usageColumns, usageFields, usageReportJson } from "../answers/usage-report-body.ts";
import { readComparedRange, readRepairedRange } from "../queries/reconciliation-query.ts";
import { readUsageReportQuery, type UsageReportRequest } from "../queries/usage-report-query.ts";
import { actorOf } from "../request/actor-of.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import type { RequestContext } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";

/**
 * `/api/usage`: what was used, by whom, of what, when; from the sums by hour, which stay when the single rows are gone.
 * Administrators see all, users what the keys that they own now have used.
 *
 * `from` and `to` are times or dates of UTC (the last 30 days unless given, 400 at most) and are widened to whole hours;
 * the answer says to what. Before its `hourly_from` usage is kept by day: there a range is widened to whole days, and
 * an hour is a whole day. `group` is one or two of hour, day, month, key, model, channel and user (day unless given);
 * a time alone has a row for each hour, day or month of the range. Rows go by time and then by requests, the most
 * first; `totals` are over all of them, whatever the page. `refused` counts calls that a limit of their key refused:
 * they are no requests, and not known by model (null). `limit` and `offset` page: exactly when the range is given and is
 * over; calls that are still to come change the order of the hour, day or month they count in.
 *
 * `/api/usage/reconciliation`: whether these sums are what the rows say. An hour whose `key_id` is null is one over all
 * keys, and compared with those of its keys. One runs at a time, compared or repaired: the next is a 409 until it has ended.
 */
export function usageReportsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  const { database } = deps.access;
  const reading = { database, clock, retentionDays: deps.settings.USAGE_RETENTION_DAYS };

  router.add(hiddenRoute("get", "/api/usage", "session"), async (context, caller) => {
    const query = readUsageReportQuery(context, clock.now());
    const report = await readUsageReport(reading, caller, query);
    if (!query.isCsv) return jsonResponse(usageReportJson(report, query.groups));
    return tableResponse(context, {
      name: fileName(query),
      columns: usageColumns(query.groups),
      rows: report.rows.map((row) => usageFields(row, query.groups)),
      next: report.hasMore ? nextPage(query) : null,
    });
  });

  const path = "/api/usage/reconciliation";
  const inTurn = createReconciliationTurn(deps.settings);
  router.add(hiddenRoute("get", path, "administrator"), async (context) => {
    const range = readComparedRange(context, clock.now());
    const compared = await inSilence(context, () =>
      inTurn(() => reconcileUsage({ ...reading, ask: database.ask }, range)),
    );
    return jsonResponse(reconciliationJson(compared));
  });

  router.add(hiddenRoute("post", path, "administrator"), async (context, caller) => {
    const range = await readRepairedRange(context);
    const repaired = await inSilence(context, () =>
      inTurn(() => repairUsage(reading, actorOf(context, caller), range)),
    );
    return jsonResponse(repairJson(repaired));
  });

  return router;
}

/** The range comes along: one that is not given would have moved on meanwhile, and the rows with it. */
function nextPage({ from, to, offset, limit }: UsageReportRequest): Table["next"] {
  const timeText = (time: number) => new Date(time).toISOString();
  return { from: timeText(from), to: timeText(to), offset: String(offset + limit) };
}

function fileName({ groups, from, to }: UsageReportRequest): string {
  const [first, last] = [from, to - 1].map((time) => new Date(time).toISOString().slice(0, 10));
  return `usage-by-${groups.join("-and-")}-${first}-to-${last}`;
}

/** A month takes seconds, in which the connection says nothing. */
async function inSilence<Result>(
  { env }: RequestContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const endSilence = env.allowSilence();
  try {
    return await work();
  } finally {
    endSilence();
  }
}

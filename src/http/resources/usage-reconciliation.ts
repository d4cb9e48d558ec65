import { z } from "@hono/zod-openapi";
import { CHANNELS } from "../../core/channel.ts";
import type { Deps } from "../../deps.ts";
import { reconcileUsage } from "../../usage/sums/reconcile-usage.ts";
import { createReconciliationTurn } from "../../usage/sums/reconciliation-turn.ts";
import { repairUsage } from "../../usage/sums/repair-usage.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { reconciliationJson, repairJson } from "../answers/reconciliation-body.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { count, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { queryTime, readRange } from "../query-range.ts";
import { actorOf } from "../request/actor-of.ts";
import { inSilence } from "../request/in-silence.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** One call may cover at most a month, which is compared hour by hour. */
const MAX_DAYS = 31;

const comparedRange = z.strictObject({ from: queryTime.optional(), to: queryTime.optional() });
/** Both ends are required, so that nothing is changed that was not named. */
const repairedRange = z
  .strictObject({ from: queryTime, to: queryTime })
  .openapi("UsageRepairRange", { example: { from: "2026-09-21", to: "2026-09-22" } });

const range = { from: unixTime, to: unixTime, hours: count, days: count, months: count };
const difference = z.object({
  kind: z.enum(["hour", "day", "month"]),
  hour: z.string().optional(),
  day: z.string().optional(),
  month: z.string().optional(),
  key_id: z.string().nullable().openapi({ description: "Null for an hour over all keys." }),
  model: z.string().nullable().optional(),
  channel: z.enum(CHANNELS).nullable().optional(),
  figures: z.record(z.string(), z.object({ counted: z.number(), stored: z.number() })),
});
const reconciliation = z
  .object({
    object: z.literal("list"),
    ...range,
    mismatches: count,
    data: z.array(difference),
    has_more: z.boolean(),
  })
  .openapi("UsageReconciliation");
const repair = z
  .object({ object: z.literal("usage.repair"), ...range, repaired: count })
  .openapi("UsageRepair");

const RECONCILIATION = {
  path: "/api/usage/reconciliation",
  access: "administrator",
  tokens: "usage",
  tag: "Usage",
} as const;
const errors = { 409: "Another reconciliation is in progress; one runs at a time." };

const COMPARE = resourceRoute({
  ...RECONCILIATION,
  method: "get",
  operationId: "compareUsage",
  summary: "Compare the sums of usage with its rows",
  description:
    "Of the last day of UTC that is over, unless a range of at most 31 days is given. An hour whose `key_id` is null is " +
    "one over all keys, and compared with those of its keys.",
  query: comparedRange,
  answer: { description: "The sums that differ.", schema: reconciliation },
  errors,
});
const REPAIR = resourceRoute({
  ...RECONCILIATION,
  method: "post",
  operationId: "repairUsage",
  summary: "Correct the sums of usage from its rows",
  body: repairedRange,
  answer: { description: "What was corrected.", schema: repair },
  errors,
});

/** `/api/usage/reconciliation`: whether the sums of usage match the rows. */
export function usageReconciliationRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  const { database } = deps.access;
  const reading = { database, clock, retentionDays: deps.settings.USAGE_RETENTION_DAYS };
  const inTurn = createReconciliationTurn(deps.settings);
  router.add(COMPARE, async (context) => {
    const asked = readQuery(context, comparedRange);
    const today = Math.floor(clock.now() / DAY_MS) * DAY_MS;
    const compared = readRange(asked, { from: (to) => to - DAY_MS, to: today }, MAX_DAYS);
    const found = await inSilence(context, () =>
      inTurn(() => reconcileUsage({ ...reading, ask: database.ask }, compared)),
    );
    return jsonResponse(reconciliationJson(found));
  });
  router.add(REPAIR, async (context, caller) => {
    const asked = await readCheckedBody(context, repairedRange);
    const named = readRange(asked, { from: (to) => to, to: 0 }, MAX_DAYS);
    const repaired = await inSilence(context, () =>
      inTurn(() => repairUsage(reading, actorOf(context, caller), named)),
    );
    return jsonResponse(repairJson(repaired));
  });
  return router;
}

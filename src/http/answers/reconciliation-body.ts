import type { JsonObject } from "../../lib/json/json.ts";
import type { UsageDifference } from "../../usage/sums/compare-sums.ts";
import type { Reconciliation } from "../../usage/sums/reconcile-usage.ts";
import type { UsageRepair } from "../../usage/sums/repair-usage.ts";

/** Renders the comparison of sums with their rows as JSON. */
export function reconciliationJson(reconciliation: Reconciliation): JsonObject {
  const { from, to, hours, days, months, mismatches, differences } = reconciliation;
  return {
    object: "list",
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    hours,
    days,
    months,
    mismatches,
    data: differences.map(differenceJson),
    has_more: mismatches > differences.length,
  };
}

function differenceJson({ kind, time, figures, ...of }: UsageDifference): JsonObject {
  const text = new Date(time).toISOString();
  const compared = figures.map(({ name, counted, stored }) => [name, { counted, stored }]);
  return {
    kind,
    [kind]: kind === "hour" ? text : text.slice(0, kind === "day" ? 10 : 7),
    key_id: of.keyId,
    ...(kind !== "month" && { model: of.model, channel: of.channel }),
    figures: Object.fromEntries(compared),
  };
}

/** Renders the repaired figures as JSON. */
export function repairJson({ from, to, hours, days, months, repaired }: UsageRepair): JsonObject {
  return {
    object: "usage.repair",
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    hours,
    days,
    months,
    repaired,
  };
}

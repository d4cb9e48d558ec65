import type { Deps } from "../../deps.ts";
import { readRequest } from "../../usage/reports/find-request.ts";
import { listRequests } from "../../usage/reports/list-requests.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { tableResponse } from "../answers/table-response.ts";
import {
  REQUEST_COLUMNS,
  requestFields,
  requestJson,
  requestPageJson,
} from "../bodies/metered-request-body.ts";
import { placeText, readRequestsQuery } from "../queries/requests-query.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/router.ts";

/**
 * `/api/requests`: single metered requests, without their bodies, which are never kept. Administrators see all, users
 * those of the keys that they own now; a row appears about a second after its call has ended.
 *
 * The list is the newest first, `limit` 1 to 1000 (50; 1000 as CSV), by all of `key_id`, `user_id`, `model`, `channel`,
 * `outcome`, `status`, `request_id`, `from` and `to`. `next` of an answer is `before` of the next: what arrives
 * meanwhile shifts nothing. A search for what is rare may stop after a moment with fewer rows than asked for, or none,
 * and `has_more`: it goes on from `next`.
 */
export function requestsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  const reading = {
    database: deps.access.database,
    clock,
    retentionDays: deps.settings.USAGE_RETENTION_DAYS,
  };

  router.add(hiddenRoute("get", "/api/requests", "session"), async (context, caller) => {
    const { isCsv, ...query } = readRequestsQuery(context, clock.now());
    const page = await listRequests(reading, caller, query);
    if (!isCsv) return jsonResponse(requestPageJson(page));
    return tableResponse(context, {
      name: "requests",
      columns: REQUEST_COLUMNS,
      rows: page.requests.map(requestFields),
      next: page.next === null ? null : { before: placeText(page.next) },
    });
  });

  router.add(hiddenRoute("get", "/api/requests/{id}", "session"), async (context, caller) => {
    return jsonResponse(requestJson(await readRequest(reading, caller, idOf(context))));
  });

  return router;
}

import { type AuditEntry, listAudit } from "../../access/audit/list-audit.ts";
import type { Deps } from "../../deps.ts";
import type { JsonObject } from "../../lib/json.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readAuditQuery } from "../queries/read-audit-query.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { createRouter, type Router } from "../request/router.ts";

/** `/api/admin/audit`: who changed what. It is read; nothing changes it. */
export function auditRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(hiddenRoute("get", "/api/admin/audit", "administrator"), async (context) => {
    const { entries, hasMore } = await listAudit(deps.access, readAuditQuery(context));
    return jsonResponse({ object: "list", data: entries.map(entryJson), has_more: hasMore });
  });
  return router;
}

function entryJson(entry: AuditEntry): JsonObject {
  return {
    id: entry.id,
    at: entry.at.toISOString(),
    actor: entry.actorId === null ? null : { id: entry.actorId, name: entry.actorName },
    via: entry.via,
    credential_id: entry.credentialId,
    address: entry.address,
    request_id: entry.requestId,
    action: entry.action,
    target: { kind: entry.targetKind, id: entry.targetId },
    details: entry.details,
  };
}

import { z } from "@hono/zod-openapi";
import { type AuditEntry, listAudit } from "../../access/audit/list-audit.ts";
import { AUDIT_TARGET_KINDS } from "../../access/audit/record-audit.ts";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import { AUDIT_ORIGINS } from "../../core/callers/audit-origin.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { givenTime, queryId, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { openList, page, readQuery } from "../page.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const ACTION = /^[a-z][a-z0-9_]{0,62}(\.([a-z][a-z0-9_]{0,62})?)?$/;

const auditQuery = page(
  {
    action: z.string().regex(ACTION, "an action such as user.create, or user. for all").optional(),
    actor_id: queryId.optional(),
    target_id: queryId.optional(),
    target_kind: z.enum(AUDIT_TARGET_KINDS).optional(),
    from: givenTime.optional(),
    to: givenTime.optional(),
  },
  {
    before: z
      .int()
      .min(1)
      .optional()
      .openapi({ description: "The id of an entry: only those that came before it." }),
  },
);

const auditEntry = z
  .object({
    id: z.int(),
    at: time,
    actor: z
      .object({ id: z.string(), name: z.string().nullable() })
      .nullable()
      .openapi({ description: "Null: the service itself, or a caller that is not known." }),
    via: z.enum(AUDIT_ORIGINS),
    credential_id: z.string().nullable(),
    address: z.string().nullable(),
    request_id: z.string().nullable(),
    action: z.string(),
    target: z.object({ kind: z.string(), id: z.string().nullable() }),
    details: z.record(z.string(), z.unknown()),
  })
  .openapi("AuditEntry", {
    example: {
      id: 412,
      at: "2026-09-21T13:33:20.000Z",
      actor: { id: "usr_7hB2kXw9PfM4sVt6JcN1Ra", name: "ada" },
      via: "session",
      credential_id: "sid_3v9QmTq2LxZ8cR5nYb7KdW",
      address: "192.0.2.7",
      request_id: "req_mfx2k0a9",
      action: "user.update",
      target: { kind: "user", id: "usr_2kXw9PfM4sVt6JcN1Ra7hB" },
      details: { changed: ["state"], state: "disabled" },
    },
  });
const auditList = openList(auditEntry).openapi("AuditList");

const LIST = resourceRoute({
  path: "/api/admin/audit",
  method: "get",
  access: "administrator",
  tokens: "audit",
  tag: "Audit",
  operationId: "listAudit",
  summary: "List who changed what",
  description: "The newest first.",
  query: auditQuery,
  answer: { description: "A page of the audit log.", schema: auditList },
});

/** `/api/admin/audit`: the audit log, which is read-only. */
export function auditRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(LIST, async (context) => {
    const query = toRecord(readQuery(context, auditQuery));
    const { from, to } = query;
    if (from !== undefined && to !== undefined && to <= from) {
      throw invalidValue(["to"], "a time after 'from'", to.toISOString());
    }
    const { entries, hasMore } = await listAudit(deps.access, query);
    return jsonResponse(toJson(auditList, { data: entries.map(shown), hasMore }));
  });
  return router;
}

function shown({ actorId, actorName, targetKind, targetId, ...entry }: AuditEntry) {
  return {
    ...entry,
    actor: actorId === null ? null : { id: actorId, name: actorName },
    target: { kind: targetKind, id: targetId },
  };
}

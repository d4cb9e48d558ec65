import { z } from "zod";
import type { AuditQuery } from "../../access/audit/list-audit.ts";
import { AUDIT_TARGET_KINDS } from "../../access/audit/record-audit.ts";
import { checkRequest, invalidValue } from "../../codecs/shared/check-request.ts";
import { timeText } from "../answers/time-text.ts";
import type { RequestContext } from "../request/route.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const ACTION = /^[a-z][a-z0-9_]{0,62}(\.([a-z][a-z0-9_]{0,62})?)?$/;
const ID = /^[\x21-\x7e]{1,200}$/;

const id = z.string().regex(ID, "an id").optional();
const auditQuery = z.strictObject({
  action: z.string().regex(ACTION, "an action such as user.create, or user. for all").optional(),
  actor_id: id,
  target_id: id,
  target_kind: z.enum(AUDIT_TARGET_KINDS).optional(),
  from: timeText.optional(),
  to: timeText.optional(),
  before: z.int().min(1).optional(),
  limit: z.int().min(1).max(MAX_LIMIT),
});

/**
 * Reads what part of the audit log is asked for. Throws `invalid_value` that names the parameter at fault, and
 * `unsupported_parameter` for one that does not exist: a filter misspelt would show what nobody asked for.
 */
export function readAuditQuery({ req }: RequestContext): AuditQuery {
  const given = [...new URL(req.url).searchParams].filter(([, value]) => value !== "");
  const { limit = String(DEFAULT_LIMIT), before, ...texts } = Object.fromEntries(given);
  const asked: unknown = {
    ...texts,
    limit: Number(limit),
    before: before === undefined ? undefined : Number(before),
  };
  checkRequest(auditQuery, asked);
  const { from, to } = asked;
  if (from !== undefined && to !== undefined && Date.parse(to) <= Date.parse(from)) {
    throw invalidValue(["to"], "a time after 'from'", to);
  }
  return {
    action: asked.action,
    actorId: asked.actor_id,
    targetId: asked.target_id,
    targetKind: asked.target_kind,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
    before: asked.before,
    limit: asked.limit,
  };
}

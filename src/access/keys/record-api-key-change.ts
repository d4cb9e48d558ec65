import type { Db } from "../../db/context.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Actor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { ApiKeyPatch } from "./api-key-record.ts";

interface ApiKeyChange {
  readonly verb: "create" | "update" | "delete" | "rotate";
  readonly id: string;
  /** What it was set to, or what tells a reader which key it was. */
  readonly fields: ApiKeyPatch;
  readonly details?: JsonObject;
}

/** Writes a change of an API key into the audit log, in the names that clients know. Null: the service itself. */
export function recordApiKeyChange(
  transaction: Db,
  actor: Actor | null,
  { verb, id, fields, details }: ApiKeyChange,
): Promise<void> {
  return recordAudit(transaction, actor, {
    action: `api_key.${verb}`,
    targetKind: "api_key",
    targetId: id,
    details: { ...namedAsClientsDo(fields), ...details },
  });
}

function namedAsClientsDo(fields: ApiKeyPatch): JsonObject {
  const { expiresAt } = fields;
  return {
    name: fields.name,
    state: fields.state,
    assistant_id: fields.assistantId,
    passthrough: fields.passthrough,
    max_level: fields.maxLevel,
    tool_scope: fields.toolScope && { ...fields.toolScope },
    monthly_token_limit: fields.monthlyTokenLimit,
    request_limit: fields.requestLimit,
    rpm_limit: fields.rpmLimit,
    token_limit: fields.tokenLimit,
    ip_allow: fields.ipAllow,
    expires_at: expiresAt === undefined ? undefined : (expiresAt?.toISOString() ?? null),
  };
}

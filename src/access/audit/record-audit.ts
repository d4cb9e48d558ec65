import { sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import type { AnyActor, Origin } from "../actor.ts";

/** The kinds of objects that changes are made to. */
export const AUDIT_TARGET_KINDS = [
  "user",
  "session",
  "api_key",
  "bi_key",
  "service_token",
  "license",
  "settings",
  "backup",
  "event",
  "usage",
  "assistant",
  "file",
  "vector_store",
  "connection",
  "mcp_server",
  "dataset",
  "tool",
  "workflow",
  "workflow_run",
  "workflow_secret",
] as const;

export interface AuditEntry {
  /** `<target>.<verb>`: `user.create`, `api_key.rotate`, `license.upload`. */
  readonly action: string;
  readonly targetKind: (typeof AUDIT_TARGET_KINDS)[number];
  readonly targetId: string | null;
  /** The changed values. Never a secret, a hash of a secret, or a body. */
  readonly details?: JsonObject;
}

/** Converts fields of a record to the details of an entry: with the names that clients know, and times as text. */
export function auditDetails(fields: Readonly<Record<string, unknown>>): JsonObject {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const clientName = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [clientName, (value instanceof Date ? value.toISOString() : value) as JsonValue];
    }),
  );
}

/**
 * Writes an action and its actor into the audit log, in the transaction of the action. An `Origin` without a caller is
 * an unknown user, as for a failed login. `command_line` is whoever runs commands on the server. Null is the service
 * itself.
 */
export async function recordAudit(
  transaction: Db,
  given: AnyActor | Origin | "command_line" | null,
  { action, targetKind, targetId, details = {} }: AuditEntry,
): Promise<void> {
  const actor = given === "command_line" ? null : given;
  const caller = callerOf(actor);
  await transaction.insert(auditLog).values({
    ...(caller !== undefined && whoActs(caller)),
    via: given === "command_line" ? given : (caller?.kind ?? "service"),
    address: actor?.address ?? null,
    requestId: actor?.requestId ?? null,
    action,
    targetKind,
    targetId,
    details,
  });
}

/** A service token is an actor of its own. A key acts as its owner, and does not have the owner's name. */
function whoActs(caller: AnyCaller) {
  if (caller.kind === "service_token") {
    const { tokenId, tokenName } = caller;
    return { actorId: tokenId, actorName: tokenName, credentialId: tokenId };
  }
  return {
    actorId: caller.ownerId,
    actorName: sql`(select username from users where id = ${caller.ownerId})`,
    credentialId: caller.kind === "key" ? caller.keyId : caller.sessionId,
  };
}

function callerOf(actor: AnyActor | Origin | null): AnyCaller | undefined {
  return actor !== null && "caller" in actor ? actor.caller : undefined;
}

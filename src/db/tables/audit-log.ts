import { bigserial, index, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { AUDIT_ORIGINS } from "../../core/callers/audit-origin.ts";
import type { JsonObject } from "../../lib/json/json.ts";

/**
 * Every change to users, keys, license and settings. Append-only: a trigger refuses anything else. It contains no
 * secrets.
 */
export const auditLog = pgTable(
  "audit_log",
  {
    id: bigserial("id", { mode: "number" }).primaryKey(),
    at: timestamp("at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
    /**
     * The user or service token that made the change; null for the service itself, the command line or an unknown
     * actor. No reference: the entry outlives the actor.
     */
    actorId: text("actor_id"),
    actorName: text("actor_name"),
    /** How the actor was authenticated. */
    via: text("via", { enum: AUDIT_ORIGINS }).notNull(),
    /** The key, session or service token that was used. */
    credentialId: text("credential_id"),
    address: text("address"),
    requestId: text("request_id"),
    /** `user.create`, `api_key.rotate`, `license.upload` and so on. */
    action: text("action").notNull(),
    targetKind: text("target_kind").notNull(),
    targetId: text("target_id"),
    details: jsonb("details").$type<JsonObject>().notNull().default({}),
  },
  (table) => [
    // One index per filter in reading order, so that a page costs the same however long the log is.
    index("audit_log_at_id_index").on(table.at, table.id),
    index("audit_log_actor_id_at_id_index").on(table.actorId, table.at, table.id),
    index("audit_log_target_id_at_id_index").on(table.targetId, table.at, table.id),
    index("audit_log_target_kind_at_id_index").on(table.targetKind, table.at, table.id),
    index("audit_log_action_at_id_index").on(
      table.action.op("text_pattern_ops"),
      table.at,
      table.id,
    ),
  ],
);

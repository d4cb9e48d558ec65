import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import type { JsonObject } from "../../lib/json/json.ts";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Tool servers: servers of the Model Context Protocol whose tools assistants may use. */
export const mcpServers = pgTable("mcp_servers", {
  /** `mcps_` and 22 base62 characters. */
  id: text("id").primaryKey(),
  /** `^[a-z0-9][a-z0-9-]{0,19}$`; a part of the names of its tools. */
  name: text("name").notNull().unique(),
  url: text("url").notNull(),
  /** A JSON object of the headers that each request carries, sealed for this record's id; null without any. */
  sealedHeaders: text("sealed_headers"),
  /** The names of those headers, to show them. */
  headerNames: text("header_names").array().notNull().default([]),
  enabled: boolean("enabled").notNull().default(true),
  /** Time limit of one request to it; null: TOOL_TIMEOUT_MS. */
  timeoutMs: integer("timeout_ms"),
  createdBy: text("created_by").references(() => users.id, { onDelete: "set null" }),
  createdAt: moment("created_at").notNull().defaultNow(),
  /** Value of the change counter `mcp_servers` at the last change of this row or its tools. */
  changeSeq: bigint("change_seq", { mode: "number" }).notNull(),
});

/** The tools of tool servers, as an administrator approved them and as the server last listed them. */
export const mcpServerTools = pgTable(
  "mcp_server_tools",
  {
    serverId: text("server_id")
      .notNull()
      .references(() => mcpServers.id, { onDelete: "cascade" }),
    /** The server's own name for it. */
    name: text("name").notNull(),
    /** What callers get: name, description, schema and annotations; null until it is approved. */
    approved: jsonb("approved").$type<JsonObject>(),
    /** What the server last listed; null when it lists the tool no longer. It waits for approval when it differs. */
    listed: jsonb("listed").$type<JsonObject>(),
    /** The level that an administrator set; null: by the approved annotations. */
    level: text("level", { enum: ["read_only", "write", "full_auto"] }),
  },
  (table) => [
    primaryKey({ columns: [table.serverId, table.name] }),
    check(
      "mcp_server_tools_level_is_known",
      sql`${table.level} in ('read_only', 'write', 'full_auto')`,
    ),
  ],
);

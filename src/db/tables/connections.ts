import { sql } from "drizzle-orm";
import { bigint, check, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Databases of the organisation that tools may read. */
export const connections = pgTable(
  "connections",
  {
    /** `conn_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    /** The name after NFKC, trim and lower case. */
    nameKey: text("name_key").notNull().unique(),
    kind: text("kind", { enum: ["postgres", "mysql", "sqlite"] }).notNull(),
    /** The following five are null for SQLite. */
    host: text("host"),
    port: integer("port"),
    database: text("database"),
    user: text("user_name"),
    /** `off`: without TLS; `on`: encrypted, any certificate; `verify`: the certificate is checked. */
    tls: text("tls", { enum: ["off", "on", "verify"] }),
    /** The password, sealed for this record's id; null without one. */
    sealedPassword: text("sealed_password"),
    /** For SQLite: the name of a file connection, `/`, and the path of the file in it. */
    file: text("file"),
    /** For the model: what is in it. */
    description: text("description"),
    createdBy: text("created_by").references(() => users.id, { onDelete: "set null" }),
    createdAt: moment("created_at").notNull().defaultNow(),
    /** Value of the change counter `connections` at this row's last change. */
    changeSeq: bigint("change_seq", { mode: "number" }).notNull(),
  },
  (table) => [
    check("connections_kind_is_known", sql`${table.kind} in ('postgres', 'mysql', 'sqlite')`),
    check("connections_tls_is_known", sql`${table.tls} in ('off', 'on', 'verify')`),
  ],
);

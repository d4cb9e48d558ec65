import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

export interface DatasetColumn {
  readonly name: string;
  readonly type:
    | "text"
    | "integer"
    | "decimal"
    | "number"
    | "boolean"
    | "date"
    | "timestamp"
    | "json";
}

/** Tables of typed rows. Each has a table of its own in the schema `datasets`. */
export const datasets = pgTable(
  "datasets",
  {
    /** `ds_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    /** Unique: BI keys and queries name it. */
    name: text("name").notNull(),
    description: text("description"),
    /** Null once the user is deleted. */
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    visibility: text("visibility", { enum: ["private", "everyone"] })
      .notNull()
      .default("private"),
    columns: jsonb("columns").$type<readonly DatasetColumn[]>().notNull(),
    /** Names of the columns that identify a row; empty without a key. */
    key: jsonb("key").$type<readonly string[]>().notNull().default([]),
    /** The name of the table that holds the rows; a replacement brings another one. */
    tableName: text("table_name").notNull(),
    rows: bigint("rows", { mode: "number" }).notNull().default(0),
    /** Raised by each change of the rows. */
    version: integer("version").notNull().default(1),
    createdAt: moment("created_at").notNull().defaultNow(),
    updatedAt: moment("updated_at").notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex("datasets_name_index").on(table.name),
    index("datasets_created_at_index").on(table.createdAt, table.id),
    index("datasets_owner_id_index").on(table.ownerId, table.createdAt),
    check("datasets_visibility_is_known", sql`${table.visibility} in ('private', 'everyone')`),
  ],
);

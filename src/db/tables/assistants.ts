import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import type { JsonObject } from "../../lib/json/json.ts";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Assistants: a model with instructions, knowledge and tools, called by name like a model. */
export const assistants = pgTable(
  "assistants",
  {
    /** `asst_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    /** Null once the user is deleted: then only administrators manage the assistant. */
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    visibility: text("visibility", { enum: ["private", "everyone"] })
      .notNull()
      .default("private"),
    /** Null: the assistant is shown under its id. */
    name: text("name"),
    /** The name, or without one the id, after NFKC, trim and lower case. */
    nameKey: text("name_key").notNull().unique(),
    /** Another name, which does not change when the assistant is renamed. */
    slug: text("slug").notNull().unique(),
    /** Null: the default chat model. */
    model: text("model"),
    description: text("description"),
    instructions: text("instructions"),
    /** Names of tools, or patterns with a trailing `*`. */
    tools: text("tools").array().notNull().default([]),
    vectorStoreIds: text("vector_store_ids").array().notNull().default([]),
    metadata: jsonb("metadata").$type<Readonly<Record<string, string>>>().notNull().default({}),
    temperature: doublePrecision("temperature"),
    topP: doublePrecision("top_p"),
    reasoningEffort: text("reasoning_effort"),
    /** As the client sent it; null is OpenAI's `auto`. */
    responseFormat: jsonb("response_format").$type<JsonObject>(),
    maxLevel: text("max_level", { enum: ["read_only", "write", "full_auto"] })
      .notNull()
      .default("read_only"),
    sqlConnections: text("sql_connections").array().notNull().default([]),
    fileConnections: text("file_connections").array().notNull().default([]),
    /** The following are null where the setting of the same purpose applies. */
    grounding: text("grounding", { enum: ["off", "prefer", "strict"] }),
    topK: integer("top_k"),
    minSimilarity: doublePrecision("min_similarity"),
    noAnswerText: text("no_answer_text"),
    createdAt: moment("created_at").notNull().defaultNow(),
    /** Value of the change counter `assistants` at this row's last change. */
    changeSeq: bigint("change_seq", { mode: "number" }).notNull(),
  },
  (table) => [
    index("assistants_created_at_index").on(table.createdAt, table.id),
    index("assistants_change_seq_index").on(table.changeSeq),
    check("assistants_visibility_is_known", sql`${table.visibility} in ('private', 'everyone')`),
    check(
      "assistants_max_level_is_known",
      sql`${table.maxLevel} in ('read_only', 'write', 'full_auto')`,
    ),
    check("assistants_grounding_is_known", sql`${table.grounding} in ('off', 'prefer', 'strict')`),
  ],
);

import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const count = (name: string) => bigint(name, { mode: "number" });
const tsvector = customType<{ data: string }>({ dataType: () => "tsvector" });

/** Null once the user is deleted: then only administrators manage the record. */
const owner = () => text("owner_id").references(() => users.id, { onDelete: "set null" });
const visibility = () =>
  text("visibility", { enum: ["private", "everyone"] })
    .notNull()
    .default("private");

/** Uploaded files. Their bytes are in FILES_DIR under the SHA-256; equal files share them. */
export const files = pgTable(
  "files",
  {
    /** `file-` and 22 base62 characters. */
    id: text("id").primaryKey(),
    ownerId: owner(),
    visibility: visibility(),
    filename: text("filename").notNull(),
    purpose: text("purpose").notNull(),
    bytes: count("bytes").notNull(),
    /** Of the content, in lower-case hexadecimal digits. */
    sha256: text("sha256").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    expiresAt: moment("expires_at"),
  },
  (table) => [
    index("files_created_at_index").on(table.createdAt, table.id),
    index("files_owner_id_index").on(table.ownerId, table.createdAt),
    index("files_sha256_index").on(table.sha256),
    index("files_expires_at_index").on(table.expiresAt).where(sql`${table.expiresAt} is not null`),
    check("files_visibility_is_known", sql`${table.visibility} in ('private', 'everyone')`),
  ],
);

/** Collections of files that can be searched. */
export const vectorStores = pgTable(
  "vector_stores",
  {
    /** `vs_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    ownerId: owner(),
    visibility: visibility(),
    name: text("name").notNull(),
    description: text("description"),
    metadata: jsonb("metadata").$type<Readonly<Record<string, string>>>().notNull().default({}),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastActiveAt: moment("last_active_at").notNull().defaultNow(),
    /** Days without use after which the store expires; null: never. */
    expiresAfterDays: integer("expires_after_days"),
    expiresAt: moment("expires_at"),
    /** The model of the generation that is searched. Chosen when the store is created. */
    embeddingModel: text("embedding_model").notNull(),
    /** The length of its vectors; null until the first one is stored. */
    dimensions: integer("dimensions"),
    /** Chunks of this generation are searched. */
    generation: integer("generation").notNull().default(1),
    /** A reindex builds this generation beside the searched one, with its own model. */
    nextGeneration: integer("next_generation"),
    nextEmbeddingModel: text("next_embedding_model"),
    nextDimensions: integer("next_dimensions"),
    /** The latest generation that was begun, so that the number of a failed one is not used again. */
    latestGeneration: integer("latest_generation").notNull().default(1),
    /** Why the last reindex failed; the store keeps the generation that it had. */
    reindexError: text("reindex_error"),
    /** Raised in the transaction of every change of what can be found; search caches are refreshed by it. */
    version: count("version").notNull().default(0),
    /** The followed folder. */
    folderConnection: text("folder_connection"),
    folderGlob: text("folder_glob"),
  },
  (table) => [
    index("vector_stores_created_at_index").on(table.createdAt, table.id),
    index("vector_stores_owner_id_index").on(table.ownerId, table.createdAt),
    index("vector_stores_expires_at_index")
      .on(table.expiresAt)
      .where(sql`${table.expiresAt} is not null`),
    check("vector_stores_visibility_is_known", sql`${table.visibility} in ('private', 'everyone')`),
  ],
);

/** Files that were added to a store together. */
export const fileBatches = pgTable(
  "vector_store_file_batches",
  {
    /** `vsfb_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    vectorStoreId: text("vector_store_id")
      .notNull()
      .references(() => vectorStores.id, { onDelete: "cascade" }),
    createdAt: moment("created_at").notNull().defaultNow(),
    cancelledAt: moment("cancelled_at"),
    /** When the event of its completion was stored. */
    reportedAt: moment("reported_at"),
    /** The folder whose files it takes. */
    fileConnection: text("file_connection"),
    glob: text("glob"),
    /** When the last of the folder's files was added; null for a batch without a folder. */
    listedAt: moment("listed_at"),
    /** Files of the folder that were left for a further batch. */
    remaining: integer("remaining").notNull().default(0),
  },
  (table) => [
    index("vector_store_file_batches_vector_store_id_index").on(
      table.vectorStoreId,
      table.createdAt,
    ),
  ],
);

/** Attributes of a file in a store, by which a search can filter. */
export type FileAttributes = Readonly<Record<string, string | number | boolean>>;

/** OpenAI's static strategy in tokens; null in the table means `auto`. */
export interface ChunkingStrategy {
  readonly max_chunk_size_tokens: number;
  readonly chunk_overlap_tokens: number;
}

/** A file in a store, and how far its ingestion is. */
export const vectorStoreFiles = pgTable(
  "vector_store_files",
  {
    vectorStoreId: text("vector_store_id")
      .notNull()
      .references(() => vectorStores.id, { onDelete: "cascade" }),
    fileId: text("file_id")
      .notNull()
      .references(() => files.id, { onDelete: "cascade" }),
    batchId: text("batch_id").references(() => fileBatches.id, { onDelete: "set null" }),
    status: text("status", { enum: ["in_progress", "completed", "failed", "cancelled"] })
      .notNull()
      .default("in_progress"),
    errorCode: text("error_code", { enum: ["server_error", "unsupported_file", "invalid_file"] }),
    errorMessage: text("error_message"),
    attributes: jsonb("attributes").$type<FileAttributes>().notNull().default({}),
    chunking: jsonb("chunking").$type<ChunkingStrategy>(),
    chunksDone: integer("chunks_done").notNull().default(0),
    /** Null until the file was read. */
    chunksTotal: integer("chunks_total"),
    /** The latest generation in which all its chunks are stored; null before the first. */
    generation: integer("generation"),
    /** Bytes of its chunks' texts and vectors. */
    usageBytes: count("usage_bytes").notNull().default(0),
    createdAt: moment("created_at").notNull().defaultNow(),
    /** Where it comes from: its path in the file connection of a folder job or of the followed folder. */
    sourceConnection: text("source_connection"),
    sourcePath: text("source_path"),
    /** The size and modification time of the source, in bytes and Unix milliseconds. */
    sourceSize: count("source_size"),
    sourceModifiedMs: count("source_modified_ms"),
  },
  (table) => [
    primaryKey({ columns: [table.vectorStoreId, table.fileId] }),
    index("vector_store_files_created_at_index").on(
      table.vectorStoreId,
      table.createdAt,
      table.fileId,
    ),
    index("vector_store_files_file_id_index").on(table.fileId),
    index("vector_store_files_batch_id_index").on(table.batchId),
    index("vector_store_files_source_index")
      .on(table.vectorStoreId, table.sourceConnection, table.sourcePath)
      .where(sql`${table.sourcePath} is not null`),
    index("vector_store_files_attributes_index").using(
      "gin",
      table.attributes.op("jsonb_path_ops"),
    ),
    check(
      "vector_store_files_status_is_known",
      sql`${table.status} in ('in_progress', 'completed', 'failed', 'cancelled')`,
    ),
  ],
);

/**
 * The searchable pieces of files. A chunk is found only when its generation is the store's and its file in that store is
 * `completed`.
 */
export const chunks = pgTable(
  "chunks",
  {
    id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    /** No reference: a deleted store's chunks, up to a million, are deleted in the background. */
    vectorStoreId: text("vector_store_id").notNull(),
    generation: integer("generation").notNull(),
    fileId: text("file_id").notNull(),
    /** The place in the file, from 0. */
    position: integer("position").notNull(),
    text: text("text").notNull(),
    /** The headings above it, outermost first, joined by ` > `. */
    heading: text("heading"),
    /** From 1. */
    page: integer("page"),
    sheet: text("sheet"),
    /** Of length 1, so that the inner product is the cosine. */
    embedding: real("embedding").array().notNull(),
    /** Its words and codes, as the search by words splits them. */
    words: tsvector("words").notNull(),
  },
  (table) => [
    uniqueIndex("chunks_place_index").on(
      table.vectorStoreId,
      table.generation,
      table.fileId,
      table.position,
    ),
  ],
);

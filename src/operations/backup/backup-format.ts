import { z } from "zod";
import { CommandError } from "../command-error.ts";

/** A failure of a backup or a restore that the operator can fix. */
export class BackupError extends CommandError {
  override readonly name = "BackupError";
}

/**
 * A backup is a tar archive compressed by gzip. Its entries, in this order:
 *
 * - `format.json`: the file's type, and the version of its format;
 * - `journal/…`: usage that may not be in the database yet, as it is in JOURNAL_DIR;
 * - `files/…`: the secret, the placed license and the latest time seen;
 * - `tables/<table>/<part>.jsonl`: rows, each a JSON array with the text of every column, or null; the rows of a dataset
 *   under `datasets.<its table>`;
 * - `originals/<SHA-256>`: the contents of uploaded files, each once (since version 2);
 * - `manifest.json`: the expected content of all entries.
 *
 * So common tools can read it, and a truncated one lacks its manifest.
 */
export const BACKUP_FORMAT = { format: "inference-gateway-backup", version: 2 } as const;

export const ENTRY = {
  format: "format.json",
  journal: "journal/",
  secret: "files/secret",
  license: "files/license.lic",
  seenTime: "files/seen-time",
  tables: "tables/",
  originals: "originals/",
  manifest: "manifest.json",
} as const;

export const formatSchema = z.object({ format: z.string(), version: z.number() });

const tableSchema = z.object({
  name: z.string(),
  columns: z.array(z.string()).min(1),
  rows: z.number(),
});

const partitionSchema = z.object({
  table: z.string(),
  name: z.string(),
  /** In PostgreSQL's syntax. It becomes part of a statement, so nothing else may pass. */
  bound: z.string().regex(/^FOR VALUES FROM \('[\w :.+-]+'\) TO \('[\w :.+-]+'\)$/),
});

const sequenceSchema = z.object({
  table: z.string(),
  column: z.string(),
  /** The last number of the sequence, as text: it may exceed a JavaScript number. */
  last: z.string().regex(/^-?\d+$/),
});

const datasetTableSchema = z.object({
  name: z.string().min(1).max(63),
  columns: z
    .array(
      z.object({
        name: z.string().min(1),
        /** In PostgreSQL's syntax. It becomes part of a statement, so nothing else may pass. */
        type: z.string().regex(/^[a-z][a-z0-9 ]*(\(\d+(,-?\d+)?\))?( [a-z ]+)?$/),
      }),
    )
    .min(1),
  indexes: z.array(
    z.object({
      columns: z.array(z.string()).min(1),
      isUnique: z.boolean(),
      /** Only rows in which this column is not null. */
      present: z.string().nullable(),
    }),
  ),
});

const entrySchema = z.object({ path: z.string(), bytes: z.number(), sha256: z.string() });

export const manifestSchema = z.object({
  id: z.string(),
  productVersion: z.string(),
  createdAt: z.string(),
  database: z.object({
    kind: z.enum(["postgres", "embedded"]),
    /** When its newest migration was made, in Unix milliseconds. */
    migration: z.number(),
  }),
  secret: z.object({
    /** `environment`: in APP_SECRET, and not part of the backup. */
    keptIn: z.enum(["file", "environment"]),
    fingerprint: z.string(),
  }),
  tables: z.array(tableSchema),
  partitions: z.array(partitionSchema),
  /** The tables of datasets, which no migration makes. Earlier releases had none. */
  datasets: z.array(datasetTableSchema).default([]),
  sequences: z.array(sequenceSchema),
  /** Every entry before the manifest. */
  entries: z.array(entrySchema),
});

/** The content of a backup, and the expected properties of each part. */
export type Manifest = z.output<typeof manifestSchema>;
export type Partition = Manifest["partitions"][number];
export type DatasetTable = Manifest["datasets"][number];
export type Sequence = Manifest["sequences"][number];
export type EntrySum = Manifest["entries"][number];

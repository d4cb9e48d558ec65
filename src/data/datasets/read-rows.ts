import { type SQL, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Ask } from "../../db/database.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { nextBatch } from "../../db/next-batch.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { isVisibleAt, listParts, type Segment, segmentsOf, tableOf } from "./dataset-tables.ts";

const BATCH_ROWS = 1_000;
/** Fewer rows where they are large: as many as this many bytes of the last batch suggest. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** A version of a dataset: what a reader sees from its beginning to its end. */
export interface ReadVersion {
  readonly tableName: string;
  readonly columns: readonly DatasetColumn[];
  readonly version: number;
}

/** The place of a row in the order of a dataset. */
export interface RowPlace {
  readonly load: number;
  readonly row: number;
}

export interface RowBatch {
  readonly rows: readonly JsonObject[];
  readonly placeOf: (index: number) => RowPlace;
}

/**
 * Yields the rows of a version in their order, from the row after `place`. Each batch is a statement of its own, so a
 * slow consumer holds no transaction. Throws `changed_meanwhile` when the table is gone.
 */
export async function* readVersion(
  ask: Ask,
  read: ReadVersion,
  { place = { load: 0, row: 0 }, limit = BATCH_ROWS }: { place?: RowPlace; limit?: number } = {},
): AsyncGenerator<RowBatch, void> {
  const { tableName, version } = read;
  const parts = await ask((db) => listParts(db, tableName)).catch(rejectGone);
  let last = place;
  let size = limit;
  for (const segment of segmentsOf(tableName, parts, version)) {
    if (segment.upTo < last.load) continue;
    for (;;) {
      const statement = select(read, segment, { last, size });
      const found = await ask((db) => run(db, statement)).catch(rejectGone);
      if (found.length === 0) break;
      const placeOf = (index: number) => {
        const row = found[index];
        return { load: Number(row?.["load"]), row: Number(row?.["row"]) };
      };
      last = placeOf(found.length - 1);
      yield { rows: found.map((row) => toRow(read.columns, row)), placeOf };
      if (found.length < size) break;
      size = nextBatch(found, { bytes: BATCH_BYTES, most: limit });
    }
  }
}

function select(
  { columns, version }: ReadVersion,
  { name, isPart, after, upTo }: Segment,
  { last, size }: { readonly last: RowPlace; readonly size: number },
): SQL {
  const values = columns.map((column, index) => sql`${shownAs(column)} as ${sql.raw(`c${index}`)}`);
  const start = last.load > after ? last : { load: after, row: Number.MAX_SAFE_INTEGER };
  // A part is one load, and has its order in an index without it.
  const place = isPart
    ? sql`_row > ${last.load === upTo ? last.row : 0}`
    : sql`(_load, _row) > (${start.load}, ${start.row}) and _load <= ${upTo}`;
  const order = isPart ? sql`_row` : sql`_load, _row`;
  return sql`select _load::text as load, _row::text as row, ${sql.join(values, sql`, `)}
    from only ${tableOf(name)} where ${place} and ${isVisibleAt(version)}
    order by ${order} limit ${size}`;
}

type Found = Readonly<Record<string, string | number | boolean | null>>;

async function run(db: Db, statement: SQL): Promise<readonly Found[]> {
  return Array.from(await db.execute<Found>(statement));
}

/** A time has three digits after its seconds, and six where it needs them. */
function shownAs({ name, type }: DatasetColumn): SQL {
  const column = sql.identifier(name);
  switch (type) {
    case "text":
    case "boolean":
    case "number":
      return sql`${column}`;
    case "timestamp":
      return sql`regexp_replace(to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '000$', '') || 'Z'`;
    default:
      return sql`${column}::text`;
  }
}

/** Values as JSON: integers beyond 2^53 and decimals are texts. */
function toRow(columns: readonly DatasetColumn[], found: Found): JsonObject {
  const entries = columns.map(({ name, type }, index) => {
    const value = found[`c${index}`] ?? null;
    return [name, value === null ? null : toJsonValue(value, type)] as const;
  });
  // A name such as __proto__ cannot be a column's.
  return Object.fromEntries(entries);
}

function toJsonValue(value: string | number | boolean, type: DatasetColumn["type"]): JsonValue {
  if (type === "json") return JSON.parse(String(value)) as JsonValue;
  if (type !== "integer") return value;
  const integer = Number(value);
  return Number.isSafeInteger(integer) ? integer : String(value);
}

const NO_TABLE = "42P01";

function rejectGone(thrown: unknown): never {
  if (!(thrown instanceof ServiceError) && toDatabaseError(thrown).code === NO_TABLE) {
    throw changedMeanwhile();
  }
  throw thrown;
}

export function changedMeanwhile(): ServiceError {
  return new ServiceError(
    "changed_meanwhile",
    "The dataset was changed while it was read or written; do it again.",
  );
}

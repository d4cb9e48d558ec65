import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Database } from "../../db/database.ts";
import type { ViewColumn } from "../views/data-view.ts";
import { FEED_TEXT_MAX } from "./copy-messages.ts";
import { quoteName, quoteText } from "./quote-sql.ts";

/** Rows that the gateway's database reads at once, and the milliseconds that it may take for them. */
const ROWS_MAX = 500;
const ROWS_FIRST = 100;
/** However slow the machine is at the moment. */
const ROWS_MIN = 25;
const BATCH_MS = 5;
/** Between two batches, so that calls of clients come in between. */
const PAUSE_MS = 5;
/** While calls wait for the database. */
const BUSY_PAUSE_MS = 50;
/** A view without a key is read at once; it is small. */
const KEYLESS_MAX = 20_000;

/** Rows of the gateway's database, in the order of their key. */
export interface BatchSource {
  /** What stands after FROM. */
  readonly from: string;
  readonly columns: readonly Pick<ViewColumn, "name" | "type">[];
  readonly key: readonly string[];
  /** A condition over the columns, or `true`. */
  readonly where: string;
}

/** Counts what was read. */
export interface Reading {
  rows: number;
  /** Of all texts. */
  digest: string;
}

/**
 * Reads rows in small batches and hands each on as one text, an array of rows in PostgreSQL's own notation: nobody
 * parses it here. Holds one batch.
 */
export async function readBatches(
  database: Pick<Database, "askOwn" | "figures">,
  source: BatchSource,
  hand: (rows: string) => Promise<void>,
): Promise<Reading> {
  const hash = createHash("sha256");
  let limit = source.key.length === 0 ? KEYLESS_MAX : ROWS_FIRST;
  let after: readonly string[] | undefined;
  let rows = 0;
  for (;;) {
    const asked = limit;
    const beganAt = performance.now();
    const batch = await database.askOwn(async (db) => {
      const found = await db.execute<Batch>(sql.raw(batchText(source, after, asked)));
      return found[0];
    });
    const milliseconds = performance.now() - beganAt;
    if (batch === undefined || batch.text === null || batch.count === 0) break;
    if (batch.text.length > FEED_TEXT_MAX && asked > 1) {
      limit = Math.max(1, Math.floor(asked / 4));
      continue;
    }
    // Without the braces of the array: how many rows a batch has depends on how fast the machine is at the moment.
    hash.update(batch.text.slice(1, -1)).update(",");
    rows += batch.count;
    await hand(batch.text);
    if (batch.count < asked || batch.last === null) break;
    after = batch.last;
    const wanted = Math.max(ROWS_MIN, Math.ceil((asked * BATCH_MS) / milliseconds));
    limit = Math.min(ROWS_MAX, wanted, asked * 2);
    await sleep(database.figures().waiting > 0 ? BUSY_PAUSE_MS : PAUSE_MS);
  }
  return { rows, digest: hash.digest("base64url") };
}

interface Batch extends Record<string, unknown> {
  readonly count: number;
  readonly text: string | null;
  readonly last: readonly string[] | null;
}

function batchText(
  source: BatchSource,
  after: readonly string[] | undefined,
  limit: number,
): string {
  const { from, columns, key, where } = source;
  const names = (list: readonly string[], suffix = ""): string =>
    list.map((name) => `${quoteName(name)}${suffix}`).join(", ");
  const all = names(columns.map(({ name }) => name));
  const typeOf = (name: string): string =>
    columns.find((column) => column.name === name)?.type ?? "text";
  const place = key.map((name, i) => `${quoteText(after?.[i] ?? "")}::${typeOf(name)}`);
  const onwards = after === undefined ? "" : ` and (${names(key)}) > (${place.join(", ")})`;
  const order = key.length === 0 ? "" : ` order by ${names(key)}`;
  const last =
    key.length === 0
      ? "null::jsonb"
      : `(select jsonb_build_array(${names(key, "::text")}) from batch order by ${names(key, " desc")} limit 1)`;
  return (
    `with batch as materialized (select ${all} from ${from} where (${where})${onwards}${order} limit ${limit}) ` +
    `select count(*)::integer as count, array_agg(batch)::text as text, ${last} as last from batch`
  );
}

import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import postgres from "postgres";
import type { Targets } from "../comparison/targets.ts";

const WAIT_MS = 20_000;
const POLL_MS = 250;

export interface Metered {
  readonly rows: number;
  readonly outputTokens: number;
}

const COUNT =
  "select count(*)::int as rows, coalesce(sum(output_tokens), 0)::int as tokens from usage_records";

/**
 * Returns the stored usage once the expected number of rows is there, or after 20 s. The embedded database admits one
 * process at a time: with it, call this after the gateway has stopped.
 */
export async function countRows(targets: Targets, expected: number): Promise<Metered> {
  if (targets.databaseUrl === undefined) return countEmbedded(join(targets.dataFolder, "database"));
  const sql = postgres(targets.databaseUrl, { max: 1 });
  try {
    for (const endMs = Date.now() + WAIT_MS; ; await sleep(POLL_MS)) {
      const [found] = await sql.unsafe(COUNT);
      const metered = { rows: Number(found?.["rows"]), outputTokens: Number(found?.["tokens"]) };
      if (metered.rows >= expected || Date.now() > endMs) return metered;
    }
  } finally {
    await sql.end();
  }
}

async function countEmbedded(folder: string): Promise<Metered> {
  const database = await PGlite.create(folder);
  const { rows } = await database.query<{ rows: number; tokens: number }>(COUNT);
  await database.close();
  return { rows: rows[0]?.rows ?? 0, outputTokens: rows[0]?.tokens ?? 0 };
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

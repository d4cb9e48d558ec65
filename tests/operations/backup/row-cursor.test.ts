import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { describe, expect, it } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import { fetchRows } from "../../../src/operations/backup/snapshot/row-cursor.ts";

/** A database with one cursor over rows of these lengths. */
function cursorOver(lengths: readonly number[]) {
  const dialect = new PgDialect();
  const asked: number[] = [];
  let at = 0;
  const execute = (statement: SQL) => {
    const count = Number(/^fetch (\d+)/.exec(dialect.sqlToQuery(statement).sql)?.[1] ?? 0);
    if (count > 0) asked.push(count);
    const taken = lengths.slice(at, at + count);
    at += taken.length;
    return Promise.resolve(taken.map((length) => ({ cell: "x".repeat(length) })));
  };
  return { db: { execute } as unknown as Db, asked };
}

async function batchesOf(lengths: readonly number[], type = "text") {
  const { db, asked } = cursorOver(lengths);
  const characters: number[] = [];
  let rows = 0;
  for await (const batch of fetchRows(db, {
    name: "a",
    columns: [{ name: "cell", type }],
    isHeld: false,
  })) {
    rows += batch.length;
    characters.push(batch.reduce((sum, [text]) => sum + (text?.length ?? 0), 0));
  }
  return { asked, characters, rows };
}

describe("The rows of a backup", () => {
  it("are fetched in batches of some megabytes, however large a row is", async () => {
    const { characters, rows } = await batchesOf(Array<number>(100).fill(500_000));
    expect(rows).toBe(100);
    expect(Math.max(...characters)).toBeLessThanOrEqual(8_000_000);
  });

  it("are fetched many at once where they are small", async () => {
    const { asked, rows } = await batchesOf(Array<number>(5_000).fill(10));
    expect(rows).toBe(5_000);
    expect(asked.length).toBeLessThan(15);
  });

  it("are fetched a few at once where a small one may come before a chunk of a megabyte", async () => {
    const { asked } = await batchesOf(Array<number>(100).fill(10), "bytea");
    expect(Math.max(...asked)).toBe(16);
  });
});

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type BatchSource, readBatches } from "../../../src/data/copy/read-batches.ts";
import type { Database } from "../../../src/db/database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
afterEach(() => void vi.restoreAllMocks());

const source = (count: number): BatchSource => ({
  from: `(select n, 'a, "b" {' || n || '}' as words from generate_series(1, ${count}) as n) as made`,
  columns: [
    { name: "n", type: "bigint" },
    { name: "words", type: "text" },
  ],
  key: ["n"],
  where: "true",
});

/** Reads rows while each batch takes these milliseconds more, by the clock. */
async function read(count: number, slowerMs: number) {
  let batches = 0;
  let lateMs = 0;
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  const slow: Pick<Database, "askOwn" | "figures"> = {
    figures: () => database.figures(),
    askOwn: async (work) => {
      const answer = await database.askOwn(work);
      lateMs += slowerMs;
      return answer;
    },
  };
  const reading = await readBatches(slow, source(count), async () => {
    batches += 1;
  });
  clock.mockRestore();
  return { ...reading, batches };
}

test("Rows have one digest, however many of them are read at once", async () => {
  const [quick, slow] = [await read(300, 0), await read(300, 40)];
  expect(slow.batches).toBe(9);
  expect(quick.batches).toBeLessThanOrEqual(slow.batches);
  expect([slow.rows, slow.digest]).toEqual([quick.rows, quick.digest]);
  // A last batch without rows changes nothing.
  const [even, other] = [await read(100, 0), await read(100, 40)];
  expect(even.digest).toBe(other.digest);
  expect((await read(299, 0)).digest).not.toBe(quick.digest);
});

import { describe, expect, it } from "vitest";
import type { AttributeFilter } from "../../../../src/core/file-search.ts";
import type { Database } from "../../../../src/db/database.ts";
import { IndexedStores } from "../../../../src/knowledge/retrieve/indexes/indexed-stores.ts";
import { systemClock } from "../../../../src/lib/time/clock.ts";
import { collectGarbage } from "../../../support/collect-garbage.ts";

const FILTERS = 60;
const FILTER_BYTES = 2 * 1024 * 1024;

/** A database that has nothing, so that no driver holds a filter. */
const nothing = { ask: async () => [] } as unknown as Database;
const state = {
  id: "vs_1",
  generation: 1,
  version: 1,
  embeddingModel: "embedder",
  dimensions: 2,
  isIndexed: true,
};

// The other runtime gives memory back in its own time.
describe.skipIf("bun" in process.versions)("The figures of indexed stores", () => {
  it("are kept under digests of filters, not under filters", async () => {
    const store = new IndexedStores(nothing, systemClock).open(state);
    const find = async (filter: AttributeFilter | undefined) => {
      const question = { vector: new Float32Array(2), words: [], filter, limit: 1 };
      return (await store.begin(question)).finish([]);
    };
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < FILTERS; index += 1) {
      const value = `${index}`.padEnd(FILTER_BYTES, "v");
      const filter = { type: "eq", key: "owner", value } as const;
      await find(filter);
    }
    collectGarbage();
    const held = process.memoryUsage().heapUsed - before;
    expect(held).toBeLessThan((FILTERS * FILTER_BYTES) / 4);
    // The store is still in use, so that nothing was collected with it.
    expect(await find(undefined)).toMatchObject({ nearest: [] });
  });
});

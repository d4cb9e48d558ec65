import { and } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cursor, readCursorPage } from "../../src/db/cursor-page.ts";
import type { Database } from "../../src/db/database.ts";
import { vectorStores } from "../../src/db/tables/knowledge.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

/** Ids in their order; three of them were created in the same millisecond. */
const IDS = ["vs_a", "vs_b1", "vs_b2", "vs_b3", "vs_c", "vs_d", "vs_e"];
const timeOf = (id: string) => new Date(Date.UTC(2026, 0, 1) + id.charCodeAt(3));
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
  const rows = IDS.map((id) => ({ id, name: id, embeddingModel: "m", createdAt: timeOf(id) }));
  await database.db.insert(vectorStores).values([...rows].reverse());
});
afterAll(() => database?.close());

async function read(cursor: Cursor) {
  const { items, hasMore } = await readCursorPage<{ id: string }>(cursor, {
    createdAt: vectorStores.createdAt,
    id: vectorStores.id,
    findTime: async (id) => (IDS.includes(id) ? timeOf(id) : undefined),
    read: ({ where, orderBy, limit }) =>
      database.db
        .select({ id: vectorStores.id })
        .from(vectorStores)
        .where(and(...where))
        .orderBy(...orderBy)
        .limit(limit),
  });
  return [items.map(({ id }) => id).join(" "), hasMore];
}

describe("readCursorPage", () => {
  it("walks through all entries once, in both orders, with any page size", async () => {
    for (const order of ["asc", "desc"] as const) {
      const expected = order === "asc" ? IDS : [...IDS].reverse();
      for (let limit = 1; limit <= IDS.length + 1; limit += 1) {
        const walked: string[] = [];
        let hasMore: unknown = true;
        while (hasMore === true) {
          const after = walked.at(-1);
          const [ids, more] = await read({ limit, order, after });
          walked.push(...String(ids).split(" "));
          hasMore = more;
        }
        expect(walked).toEqual(expected);
      }
    }
  });

  it("walks back from an entry", async () => {
    expect(await read({ limit: 2, order: "asc", before: "vs_c" })).toEqual(["vs_b2 vs_b3", true]);
    expect(await read({ limit: 9, order: "asc", before: "vs_b3" })).toEqual([
      "vs_a vs_b1 vs_b2",
      false,
    ]);
    expect(await read({ limit: 2, order: "desc", before: "vs_b1" })).toEqual(["vs_b3 vs_b2", true]);
  });

  it("stays between two entries", async () => {
    const between = { after: "vs_a", before: "vs_c", order: "asc" } as const;
    expect(await read({ ...between, limit: 2 })).toEqual(["vs_b1 vs_b2", true]);
    expect(await read({ ...between, limit: 3 })).toEqual(["vs_b1 vs_b2 vs_b3", false]);
    const nothing = { after: "vs_c", before: "vs_a", order: "asc" } as const;
    expect(await read({ ...nothing, limit: 3 })).toEqual(["", false]);
  });

  it("refuses a cursor that is not in the list, by its name", async () => {
    for (const name of ["after", "before"] as const) {
      await expect(read({ limit: 1, order: "asc", [name]: "vs_x" })).rejects.toMatchObject({
        code: "invalid_value",
        param: name,
      });
    }
  });
});

import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiKey, newApiKeyText } from "../../src/access/keys/create-api-key.ts";
import { countApiKeys } from "../../src/access/open-access.ts";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { apiKeys } from "../../src/db/tables/api-keys.ts";
import { users } from "../../src/db/tables/users.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { hashApiKey } from "../support/stages/access/test-keys.ts";

describe("the count of API keys", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database.close());

  it("is by their state, 0 where there is none", async () => {
    const { db } = database;
    expect(await countApiKeys(db)).toEqual({ active: 0, inactive: 0 });
    await db.insert(users).values({ id: "usr_1", username: "admin", role: "admin" });
    for (const name of ["one", "two", "three"]) {
      await withTransaction(db, (transaction) =>
        createApiKey(transaction, { name, ownerId: "usr_1", text: newApiKeyText() }, hashApiKey),
      );
    }
    await db.update(apiKeys).set({ state: "inactive" }).where(eq(apiKeys.name, "two"));
    expect(await countApiKeys(db)).toEqual({ active: 2, inactive: 1 });
  });
});

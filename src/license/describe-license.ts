import { count, eq } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { users } from "../db/tables/users.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { License } from "./license.ts";

/**
 * Describes the license for administrators, in addition to its state: its owner, what it allows, and the present use.
 * `users` counts the active ones.
 */
export async function describeLicense({
  database,
  license,
}: {
  readonly database: Pick<Database, "ask">;
  readonly license: Pick<License, "inForce" | "maxUsers" | "gpus">;
}): Promise<JsonObject> {
  const [row] = await database.ask((db) =>
    db.select({ users: count() }).from(users).where(eq(users.state, "active")),
  );
  const { source = null, terms } = license.inForce() ?? {};
  return {
    source,
    kind: terms?.kind ?? "evaluation",
    id: terms?.id ?? null,
    customer: terms?.customer ?? null,
    issued_at: terms === undefined ? null : new Date(terms.issuedAt).toISOString(),
    max_users: license.maxUsers(),
    users: row?.users ?? 0,
    max_gpus: terms?.maxGpus ?? null,
    gpus: license.gpus(),
  };
}

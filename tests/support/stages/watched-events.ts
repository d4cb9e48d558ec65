import { asc, eq } from "drizzle-orm";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";

/** What an event of a watched folder said, in short: `created a.csv 12`. */
export async function firedIn(database: Pick<Database, "db">, folder: string): Promise<string[]> {
  const rows = await database.db
    .select()
    .from(outboxEvents)
    .where(eq(outboxEvents.sink, "internal"))
    .orderBy(asc(outboxEvents.createdAt));
  return rows
    .filter(({ body }) => body["folder"] === folder)
    .map(({ kind, body }) => {
      const change = kind === "file.uploaded" ? body["change"] : "deleted";
      return `${change} ${body["path"]} ${body["size"]}`;
    });
}

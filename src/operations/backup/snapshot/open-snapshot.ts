import type { Database } from "../../../db/database.ts";
import { holdSnapshot } from "./hold-snapshot.ts";
import { readInTransaction } from "./read-in-transaction.ts";
import type { Snapshot } from "./snapshot.ts";

/** Opens a snapshot of all tables. Throws a BackupError when there are none of the gateway's. */
export function openSnapshot({ db, kind }: Pick<Database, "db" | "kind">): Promise<Snapshot> {
  return kind === "postgres" ? readInTransaction(db) : holdSnapshot(db);
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeMigratedDatabase } from "./prepared-database.ts";
import { createOwnDatabase } from "./test-database.ts";

/** What one server after another finds as the last one left it: a folder and a database with this release's schema. */
export interface KeptPlace {
  readonly settings: { readonly DATA_DIR: string; readonly DATABASE_URL?: string };
  readonly remove: () => Promise<void>;
}

/**
 * Makes a place for servers that are stopped or killed and started again. Its database is the one that the run is about:
 * a start on PostgreSQL takes a third of the processor time of one on the embedded database.
 */
export async function makeKeptPlace(): Promise<KeptPlace> {
  const dataDir = await mkdtemp(join(tmpdir(), "kept-place-"));
  const database = await createOwnDatabase();
  if (database === undefined) await placeMigratedDatabase(dataDir);
  return {
    settings: { DATA_DIR: dataDir, ...(database !== undefined && { DATABASE_URL: database.url }) },
    async remove() {
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

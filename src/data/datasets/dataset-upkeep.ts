import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { datasets } from "../../db/tables/datasets.ts";
import type { Log } from "../../lib/log.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { dropOtherTable, listOtherTables, type OtherTable, tableOf } from "./dataset-tables.ts";

/**
 * Readers go on for this long after a change: what it removed stays until then. `readers` give up earlier, so that none
 * of them misses rows.
 */
export const READER_GRACE_MS = 15 * 60_000;
const KEEP_MS = READER_GRACE_MS + 5 * 60_000;
/** Rows that one statement deletes. */
const PURGE_ROWS = 1_000;

/** Removes what crashed loads, replacements and upserts have left. */
export interface DatasetUpkeep {
  readonly dropOrphans: () => Promise<void>;
  readonly purgeRows: () => Promise<void>;
}

export function createDatasetUpkeep(store: DatasetStore, log: Log): DatasetUpkeep {
  const { database, clock, ownLoads } = store;
  /** The versions that datasets had, by the time when that was read, oldest first. */
  const seen: { readonly at: number; readonly versions: ReadonlyMap<string, number> }[] = [];

  const isOrphan = ({ name, state }: OtherTable) => {
    if (ownLoads.has(name)) return false;
    if (state.kind === "retired") return state.at + KEEP_MS <= clock.now();
    // Only this process uses the embedded database: a load that is not its own has crashed.
    return database.kind === "embedded" || state.at <= clock.now();
  };
  return {
    async dropOrphans() {
      const tables = (await database.askOwn(listOtherTables)).filter(isOrphan);
      for (const { name } of tables) {
        await database
          .askOwn((db) => dropOtherTable(db, name, isOrphan))
          .catch((thrown: unknown) =>
            log.warn({ err: thrown, table: name }, "a table of a dataset is dropped later"),
          );
      }
    },
    async purgeRows() {
      const now = clock.now();
      const versions = await database.askOwn(readVersions);
      seen.push({ at: now, versions });
      const past = seen.findLast(({ at }) => at + KEEP_MS <= now);
      if (past === undefined) return;
      seen.splice(0, seen.indexOf(past));
      for (const { id, tableName } of await database.askOwn(listTables)) {
        const version = past.versions.get(id);
        if (version !== undefined) await purge(store, tableName, version);
      }
    },
  };
}

async function purge({ database }: DatasetStore, table: string, version: number): Promise<void> {
  for (;;) {
    const rows = await database
      .askOwn((db) =>
        db.execute(sql`
          with gone as (
            select tableoid, ctid from ${tableOf(table)} where _gone <= ${version} limit ${PURGE_ROWS}
          )
          delete from ${tableOf(table)} as known using gone
          where known.tableoid = gone.tableoid and known.ctid = gone.ctid
          returning 1`),
      )
      // Replaced meanwhile.
      .catch(() => []);
    if (rows.length < PURGE_ROWS) return;
  }
}

async function readVersions(db: Db): Promise<ReadonlyMap<string, number>> {
  const found = await db.select({ id: datasets.id, version: datasets.version }).from(datasets);
  return new Map(found.map(({ id, version }) => [id, version]));
}

function listTables(db: Db) {
  return db.select({ id: datasets.id, tableName: datasets.tableName }).from(datasets);
}

import { sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { RowCheck } from "./check-rows.ts";
import { commitLoad, type LoadTarget, type Staged } from "./commit-load.ts";
import { type DatasetStore, tooManyRows } from "./dataset-store.ts";
import {
  createLoadTable,
  dropOtherTable,
  newTableName,
  setTableState,
  tableOf,
} from "./dataset-tables.ts";
import type { DatasetChange, DatasetLoad, DatasetRowFault } from "./datasets.ts";
import { type Rewritten, rewriteWithout } from "./rewrite-dataset.ts";
import { type NumberedRow, stageRows } from "./stage-rows.ts";

/** Loads up to this size stay in memory: no table is made for them. */
const MEMORY_ROWS = 1_000;
const MEMORY_BYTES = 1024 * 1024;
/** Rows of one statement. */
const STATEMENT_ROWS = 1_000;
const STATEMENT_BYTES = 4 * 1024 * 1024;
/** A load's table belongs to nobody when it was not renewed for this long. */
const LEASE_MS = 30 * 60_000;
const RENEW_MS = 60_000;
/** A row of a table has to fit into a page, but for the long texts. */
const ROW_TOO_BIG = "54000";

/** Begins a load. Nothing is stored until the rows exceed what stays in memory. */
export function createLoad(
  store: DatasetStore,
  target: LoadTarget,
  change: DatasetChange,
): DatasetLoad {
  return new Load(store, target, change);
}

class Load implements DatasetLoad {
  readonly #store: DatasetStore;
  readonly #target: LoadTarget;
  readonly #change: DatasetChange;
  readonly #check: RowCheck;
  #waiting: NumberedRow[] = [];
  #waitingBytes = 0;
  #added = 0;
  #taken = 0;
  #table: string | undefined;
  #renewedAt = 0;
  #staged: Staged | undefined;
  #rewritten: Rewritten | undefined;
  /** The table of `#rewritten`, also while it is being filled. */
  #rewrittenTable: string | undefined;

  constructor(store: DatasetStore, target: LoadTarget, change: DatasetChange) {
    this.#store = store;
    this.#target = target;
    this.#change = change;
    this.#check = new RowCheck(target.dataset.columns, target.dataset.key);
    if (change === "upsert" && target.dataset.key.length === 0) throw needsKey();
  }

  async add(rows: readonly JsonObject[]): Promise<readonly DatasetRowFault[]> {
    const faults: DatasetRowFault[] = [];
    for (const row of rows) {
      this.#added += 1;
      const checked = this.#check.check(row);
      if ("fault" in checked) {
        faults.push({ row: this.#added, ...checked.fault });
        continue;
      }
      this.#taken += 1;
      if (this.#taken > this.#store.maxRows) throw tooManyRows(this.#store);
      this.#waiting.push({ number: this.#added, values: checked.values });
      this.#waitingBytes += bytesOf(checked.values);
      if (this.#waiting.length >= STATEMENT_ROWS || this.#waitingBytes >= STATEMENT_BYTES) {
        await this.#flush(false);
      }
    }
    return faults;
  }

  async prepare(): Promise<void> {
    const isLarge = this.#table !== undefined || !this.#fitsMemory();
    if (isLarge) await this.#flush(true);
    const table = this.#table;
    if (table === undefined) {
      this.#staged = { rows: this.#waiting };
      return;
    }
    const count = this.#change === "upsert" ? await this.#countStaged(table) : this.#taken;
    this.#staged = { table, count };
    await this.#dropRewritten();
    if (this.#change !== "upsert" || count <= this.#store.moveRows) return;
    const { dataset } = this.#target;
    this.#rewritten = await rewriteWithout(this.#store, {
      ...{ datasetId: dataset.id, table },
      made: (name) => {
        this.#rewrittenTable = name;
        this.#store.ownLoads.add(name);
      },
      renew: () => this.#renew(),
    });
  }

  async commit(transaction: Db, writer: Parameters<DatasetLoad["commit"]>[1]) {
    if (this.#staged === undefined) throw new Error("a load is committed before it was prepared");
    return commitLoad(this.#store, transaction, {
      target: this.#target,
      change: this.#change,
      staged: this.#staged,
      rewritten: this.#rewritten,
      writer,
    });
  }

  async discard(): Promise<void> {
    this.#waiting = [];
    const tables = this.#tables();
    this.#table = undefined;
    for (const name of tables) await this.#drop(name).catch(() => undefined);
  }

  #tables(): readonly string[] {
    return [this.#table, this.#rewrittenTable].filter((name) => name !== undefined);
  }

  #fitsMemory(): boolean {
    return this.#waiting.length <= MEMORY_ROWS && this.#waitingBytes <= MEMORY_BYTES;
  }

  /** Moves the waiting rows into the load's table. The first thousand wait for company unless `isLast`. */
  async #flush(isLast: boolean): Promise<void> {
    if (this.#waiting.length === 0) return;
    if (!isLast && this.#table === undefined && this.#fitsMemory() && this.#added <= MEMORY_ROWS) {
      return;
    }
    const rows = this.#waiting;
    const table = await this.#openTable();
    const { columns } = this.#target.dataset;
    const key = this.#change === "upsert" ? this.#target.dataset.key : [];
    const shape = { table, columns, key };
    await this.#store.database
      .askOwn((db) => withTransaction(db, (inner) => stageRows(inner, shape, rows)))
      .catch((thrown: unknown) => {
        const isTooBig = !(thrown instanceof ServiceError) && codeOf(thrown) === ROW_TOO_BIG;
        throw isTooBig ? rowTooBig() : thrown;
      });
    // Only now: a statement that failed may be tried again.
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#renew();
  }

  async #openTable(): Promise<string> {
    if (this.#table !== undefined) return this.#table;
    const { id, columns, key } = this.#target.dataset;
    const name = newTableName(id);
    const at = this.#store.clock.now() + LEASE_MS;
    const isUnique = this.#change === "upsert";
    await this.#store.database.askOwn((db) =>
      withTransaction(db, async (inner) => {
        await createLoadTable(inner, name, { columns, key, isUnique });
        await setTableState(inner, name, { kind: "load", at });
      }),
    );
    this.#table = name;
    this.#renewedAt = this.#store.clock.now();
    this.#store.ownLoads.add(name);
    return name;
  }

  /** Keeps the load's tables from the job that drops what crashed loads have left. */
  async #renew(): Promise<void> {
    const now = this.#store.clock.now();
    if (now - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = now;
    for (const table of this.#tables()) {
      await this.#store.database.askOwn((db) =>
        setTableState(db, table, { kind: "load", at: now + LEASE_MS }),
      );
    }
  }

  async #countStaged(table: string): Promise<number> {
    // Rows that replaced earlier ones keep the table's size.
    const [counted] = await this.#store.database.askOwn((db) =>
      db.execute<{ rows: string }>(sql`select count(*)::text as rows from ${tableOf(table)}`),
    );
    return Number(counted?.rows ?? 0);
  }

  async #dropRewritten(): Promise<void> {
    const table = this.#rewrittenTable;
    this.#rewritten = undefined;
    this.#rewrittenTable = undefined;
    if (table !== undefined) await this.#drop(table);
  }

  /** Drops a table that is still a load's; what a commit has taken over is a dataset's. */
  async #drop(name: string): Promise<void> {
    try {
      await this.#store.database.askOwn((db) =>
        dropOtherTable(db, name, ({ state }) => state.kind === "load"),
      );
    } finally {
      // What could not be dropped is left to the upkeep.
      this.#store.ownLoads.delete(name);
    }
  }
}

function bytesOf(values: NumberedRow["values"]): number {
  let bytes = 0;
  for (const value of values) {
    if (typeof value === "string") bytes += value.length;
    else bytes += typeof value === "object" && value !== null ? JSON.stringify(value).length : 8;
  }
  return bytes;
}

function codeOf(thrown: unknown): string {
  return toDatabaseError(thrown).code;
}

function needsKey(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "An upsert needs a dataset with a key, and this one has none; append or replace.",
    { param: "mode" },
  );
}

function rowTooBig(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "A row has too many long values for a table; leave columns out or use fewer of them.",
  );
}

import {
  FUNCTION_CATALOG_SQL,
  type FunctionCatalog,
  readFunctionCatalog,
} from "../../lib/sql-gate/postgres/function-catalog.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { SavedConnection, SavedConnections } from "./connection.ts";

/** A function that was created or changed is known after this time. */
const VALID_MS = 60_000;
const READ_TIMEOUT_MS = 10_000;
/** A row for each list and schema. */
const MAX_ROWS = 20_000;

/** The functions of the saved PostgreSQL databases, each read through its connection and kept for a minute. */
export interface FunctionCatalogs {
  /** Rejects as `SavedConnections.read` does, or with the reason of the signal. */
  readonly read: (connection: SavedConnection, signal: AbortSignal) => Promise<FunctionCatalog>;
}

interface Kept {
  /** The one that it was read through: a changed connection is another object. */
  readonly connection: SavedConnection;
  readonly readAt: number;
  readonly catalog: Promise<FunctionCatalog>;
}

export function createFunctionCatalogs(
  saved: Pick<SavedConnections, "list" | "read">,
  clock: Clock,
): FunctionCatalogs {
  const kept = new Map<string, Kept>();
  const isValid = ({ connection, readAt }: Kept) =>
    Math.abs(clock.now() - readAt) < VALID_MS && saved.list().includes(connection);

  /** Callers share it, so no caller's signal ends it. */
  const load = async (connection: SavedConnection): Promise<FunctionCatalog> => {
    const { rows, isCut } = await saved.read(connection, {
      sql: FUNCTION_CATALOG_SQL,
      maxRows: MAX_ROWS,
      timeoutMs: READ_TIMEOUT_MS,
      signal: new AbortController().signal,
    });
    if (isCut) throw new Error(`The functions of connection '${connection.name}' are too many.`);
    return readFunctionCatalog(rows);
  };

  return {
    async read(connection, signal) {
      for (const [id, entry] of kept) if (!isValid(entry)) kept.delete(id);
      const known = kept.get(connection.id);
      if (known?.connection === connection) return untilAborted(known.catalog, signal);
      const catalog = load(connection);
      const entry: Kept = { connection, readAt: clock.now(), catalog };
      kept.set(connection.id, entry);
      catalog.catch(() => {
        if (kept.get(connection.id) === entry) kept.delete(connection.id);
      });
      return untilAborted(catalog, signal);
    },
  };
}

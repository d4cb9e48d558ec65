import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ReadPartFigures } from "./part-figures.ts";
import { readStoredFigures, type StoredFigures } from "./stored-figures.ts";

export interface StoredReading {
  /** As the database last told them; undefined before it did. */
  readonly stored: StoredFigures | undefined;
  /** The database told them now. */
  readonly isDatabaseUp: boolean;
  /** Seconds since it did last, or since the start. */
  readonly storedAgeSeconds: number;
}

/** One that is silent for longer has lost its connection, and another may be begun. */
const ABANDON_MS = 60_000;

/**
 * Makes what reads the stored figures, within DB_POOL_WAIT_MS. Never rejects: when the database does not tell them, the
 * last ones are given. However often it is asked, one reading at a time is under way in a database that hangs.
 */
export function createStoredReader(
  database: Pick<Database, "askOwn">,
  parts: readonly ReadPartFigures[],
  clock: Clock,
): () => Promise<StoredReading> {
  let stored: StoredFigures | undefined;
  let toldAt = performance.now();
  let busySince: number | undefined;

  const read = async (): Promise<boolean> => {
    if (busySince !== undefined && performance.now() - busySince < ABANDON_MS) return false;
    try {
      stored = await database.askOwn((db) => {
        busySince = performance.now();
        return readStoredFigures(db, parts, clock.now()).finally(() => {
          busySince = undefined;
        });
      });
      toldAt = performance.now();
      return true;
    } catch {
      return false;
    }
  };
  return async () => {
    const isDatabaseUp = await read();
    return { stored, isDatabaseUp, storedAgeSeconds: (performance.now() - toldAt) / 1_000 };
  };
}

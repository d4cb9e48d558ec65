import type { Base } from "../../db/base.ts";
import { createDatasetViews, type DatasetViews } from "./dataset-views.ts";
import { ForeignSchemaError, makeViews } from "./make-views.ts";
import type { OnViewMade } from "./view-statements.ts";

/** Without a cause, views are compared with their datasets this often: another replica may have ended too early. */
const COMPARE_MS = 5 * 60_000;

export interface Views extends Pick<DatasetViews, "show" | "hide"> {
  /**
   * Makes what is missing or had to wait, of the built-in views and of datasets. To be called every few seconds: it
   * costs nothing while nothing is known to wait.
   */
  readonly keep: () => Promise<void>;
  /** False where the database has a schema `data` of somebody else, which the log says: there are no views. */
  readonly areMade: () => boolean;
}

/**
 * Makes the schema `data` with all views. A database that cannot have it keeps nobody from chatting: then it is logged,
 * and tried again by `keep`.
 *
 * @param onViewMade grants a view that has no grants yet; nothing unless given.
 */
export async function openViews(
  { database, clock, log }: Pick<Base, "database" | "clock" | "log">,
  onViewMade: OnViewMade = async () => undefined,
): Promise<Views> {
  const { show, hide, publish, isDue } = createDatasetViews({ database, clock, onViewMade });
  let isMade = false;
  let comparedAt = Number.NEGATIVE_INFINITY;
  let isForeign = false;
  const make = async () => {
    try {
      isMade = await makeViews(database, { onViewMade });
    } catch (thrown) {
      if (!(thrown instanceof ForeignSchemaError)) throw thrown;
      if (!isForeign) log.error({ cause: thrown.message }, "data cannot be read by BI keys");
      isForeign = true;
    }
  };
  const keep = async () => {
    if (!isMade) await make();
    const now = clock.now();
    if (!isMade || !(isDue() || now - comparedAt >= COMPARE_MS)) return;
    comparedAt = now;
    await publish();
  };
  await keep().catch((thrown: unknown) =>
    log.warn(
      { err: thrown },
      "the views of the schema data could not be made; this will be retried",
    ),
  );
  return { show, hide, keep, areMade: () => isMade };
}

import { sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { sessionMonths, users } from "../db/tables/users.ts";
import { shareRuns } from "../lib/concurrency.ts";
import { causeOf, type Log } from "../lib/log.ts";
import type { StoreSession } from "./limits.ts";
import { type BatchTurn, NumberedBatches, takeTurn } from "./numbered-batches.ts";

/** The prefix of the writers of sessions' tokens among the journal checkpoints. */
export const SESSION_WRITER = "sessions:";
/** Pause before another attempt after a failed write. */
const RETRY_MS = 1_000;
/** More users and months than sessions can use while the database is unavailable; the tokens of others are lost. */
const FIGURES_MAX = 10_000;

export interface SessionTokens {
  /** Adds the tokens of a finished call; they are written soon after. Never throws. */
  readonly add: StoreSession;
  /** Writes what is not written yet. Never rejects. */
  readonly close: () => Promise<void>;
}

interface Figure {
  readonly id: string;
  /** As `2026-07-01`. */
  readonly month: string;
  readonly tokens: number;
}

/**
 * Stores the tokens of sessions, as one figure a user and month: sessions have no usage rows, from which limits could
 * be counted after a restart. Calls do not wait for it, and calls that end at once share a write.
 */
export function openSessionTokens({
  database,
  log,
}: {
  readonly database: Pick<Database, "askOwn">;
  readonly log: Log;
}): SessionTokens {
  let figures = new Map<string, Figure>();
  let retry: NodeJS.Timeout | undefined;
  let isFailing = false;

  const add = ({ id, month, tokens }: Figure): void => {
    const name = `${id} ${month}`;
    const known = figures.get(name);
    if (known === undefined && figures.size >= FIGURES_MAX) return;
    figures.set(name, { id, month, tokens: tokens + (known?.tokens ?? 0) });
  };
  const batches = new NumberedBatches({
    prefix: SESSION_WRITER,
    take() {
      if (figures.size === 0) return undefined;
      const taken = [...figures.values()];
      figures = new Map();
      return taken;
    },
    async store(taken: readonly Figure[], turn) {
      await database.askOwn((db) => db.execute(addFigures(taken, turn)));
    },
  });
  // One write at a time: a second one could update the same rows in another order.
  const write = shareRuns(async () => {
    try {
      // After a kept batch, the figures that came meanwhile.
      while (await batches.storeNext()) isFailing = false;
    } catch (thrown) {
      if (!isFailing)
        log.warn(
          { cause: causeOf(thrown) },
          "the tokens of sessions could not be stored for the users' limits; this will be retried",
        );
      isFailing = true;
      retry ??= setTimeout(() => {
        retry = undefined;
        void write();
      }, RETRY_MS).unref();
    }
  });
  return {
    add(userId, startedAt, tokens) {
      if (!Number.isFinite(tokens) || tokens <= 0) return;
      const month = `${new Date(startedAt).toISOString().slice(0, 7)}-01`;
      add({ id: userId, month, tokens: Math.ceil(tokens) });
      void write();
    },
    async close() {
      await write();
      clearTimeout(retry);
      // A number that stays is deleted later with those of killed processes.
      await database.askOwn((db) => batches.forget(db)).catch(() => undefined);
    },
  };
}

/** Adds the tokens at most once. The join skips users who were deleted in the meantime. */
function addFigures(figures: readonly Figure[], turn: BatchTurn) {
  return sql`
    with turn as (${takeTurn(turn)})
    insert into ${sessionMonths} (user_id, month, tokens)
    select id, month, used.tokens
    from json_to_recordset(${JSON.stringify(figures)}::text::json) as used(id text, month date, tokens bigint)
    join ${users} using (id)
    where exists (select from turn)
    order by id, month
    on conflict (user_id, month) do update set tokens = ${sessionMonths}.tokens + excluded.tokens`;
}

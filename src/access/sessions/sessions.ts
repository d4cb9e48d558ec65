import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import type { SessionCaller } from "../../core/callers/caller.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { sessions, users } from "../../db/tables/users.ts";
import { causeOf } from "../../lib/log.ts";
import { repeat } from "../../lib/time/repeat.ts";
import type { HashCredential } from "../hash-credential.ts";
import { personLimitsOf } from "../keys/known/key-limits.ts";
import { pruneLogins } from "./login/prune-logins.ts";

const PRUNE_PAUSE_MS = 3_600_000;

export interface Sessions {
  /**
   * Returns the caller of a session; undefined when the session is over or its user is disabled. It queries the
   * database each time, so that the end of a session holds immediately on every replica. Rejects with
   * `storage_unavailable`.
   */
  readonly find: (token: string) => Promise<SessionCaller | undefined>;
  /** `find` by the session's id, for a call that is still in progress. */
  readonly current: (sessionId: string) => Promise<SessionCaller | undefined>;
  readonly close: () => void;
}

/** Opens the sessions. Expired ones are deleted every hour until closed. */
export function openSessions(
  { database, clock, log }: Pick<Base, "database" | "clock" | "log">,
  hashSession: HashCredential,
): Sessions {
  const prune = async (): Promise<void> => {
    let mayHaveMore = true;
    while (mayHaveMore) mayHaveMore = await database.ask((db) => pruneLogins(db, clock.now()));
  };
  const pruning = repeat(PRUNE_PAUSE_MS, () =>
    prune().catch((thrown: unknown) => {
      log.warn(
        { cause: causeOf(thrown) },
        "expired sessions could not be deleted; this will be retried",
      );
    }),
  );
  const read = (meant: SQL) => database.ask((db) => readSession(db, meant, clock.now()));
  return {
    close: () => pruning.stop(),
    find: (token) => read(eq(sessions.tokenHash, hashSession(token))),
    current: (sessionId) => read(eq(sessions.id, sessionId)),
  };
}

async function readSession(db: Db, meant: SQL, now: number): Promise<SessionCaller | undefined> {
  const [row] = await db
    .select({
      sessionId: sessions.id,
      ownerId: users.id,
      username: users.username,
      role: users.role,
      monthlyTokenLimit: users.monthlyTokenLimit,
      rpmLimit: users.rpmLimit,
      // A pending change restricts only sessions that a password opened.
      mustChangePassword: sql<boolean>`${users.mustChangePassword} and ${sessions.openedBy} = 'password'`,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(meant, gt(sessions.expiresAt, new Date(now)), eq(users.state, "active")));
  if (row === undefined) return undefined;
  const { monthlyTokenLimit, rpmLimit, ...user } = row;
  const personLimits = personLimitsOf({ monthlyTokenLimit, rpmLimit });
  return { kind: "session", ...user, passthrough: false, personLimits };
}

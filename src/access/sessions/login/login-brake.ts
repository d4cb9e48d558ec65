import { asc, eq, inArray, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import { loginFailures } from "../../../db/tables/users.ts";
import { clientNetwork } from "../../../lib/egress/ip-address.ts";
import type { UserAccess } from "../../access.ts";
import { hasLoggedInFrom } from "./known-address.ts";
import { type Failures, refuseTooSoon } from "./login-wait.ts";

/** After this time a failure no longer counts. */
export const FAILURES_KEPT_MS = 86_400_000;

/** A login attempt that counts as failed until it is cleared. */
export interface LoginAttempt {
  /** Unix milliseconds. */
  readonly at: number;
  /** The failures of the account and of the address before this attempt, where these are known. */
  readonly account: Failures | undefined;
  readonly address: Failures | undefined;
}

/**
 * Runs the check of a password under the login throttle. The attempt is counted against its account and its address
 * before the check, so that concurrent attempts cannot outrun the count. It stays counted when the check resolves
 * without a result. An IPv6 network that belongs to one client counts as one address. Names without a user are counted
 * like others. Attempts from a network where the user has logged in before are counted separately. Rejects with
 * `rate_limit_exceeded`, without a check, while the account or the address must wait. Rejects with `overloaded` when
 * there are too many concurrent logins.
 *
 * @param account is undefined for a text that cannot be a name.
 * @param check calls `clearFailures` when the password is right.
 */
export async function underBrake<Result>(
  access: UserAccess,
  account: string | undefined,
  address: string | null,
  check: (attempt: LoginAttempt) => Promise<Result>,
): Promise<Result> {
  return access.inLoginTurn(async () => {
    const attempt = await countAttempt(access, account, address);
    try {
      return await check(attempt);
    } catch (thrown) {
      // It is unknown whether the password was right. If the database is unreachable, the failure stays and expires
      // with time.
      await access.database
        .ask((db) => withTransaction(db, (transaction) => takeBack(transaction, attempt)))
        .catch(() => undefined);
      throw thrown;
    }
  });
}

async function countAttempt(
  { database, clock }: UserAccess,
  account: string | undefined,
  address: string | null,
): Promise<LoginAttempt> {
  const at = clock.now();
  if (account === undefined && address === null) {
    return { at, account: undefined, address: undefined };
  }
  return database.ask(async (db) => {
    const subjects = await subjectsOf(db, account, address);
    const names = Object.values(subjects).filter((name) => name !== undefined);
    return withTransaction(db, async (transaction) => {
      const held = await hold(transaction, names, at);
      const attempt: LoginAttempt = {
        at,
        account: held.find(({ subject }) => subject === subjects.account),
        address: held.find(({ subject }) => subject === subjects.address),
      };
      refuseTooSoon(attempt);
      for (const { subject, failures } of held) {
        await transaction
          .update(loginFailures)
          .set({ failures: failures + 1, lastFailedAt: new Date(at) })
          .where(eq(loginFailures.subject, subject));
      }
      return attempt;
    });
  });
}

/**
 * Returns the subjects that the attempt counts against. An account is counted separately where it has logged in before.
 */
async function subjectsOf(db: Db, account: string | undefined, address: string | null) {
  const network = address === null ? undefined : clientNetwork(address);
  const isKnown =
    account !== undefined &&
    network !== undefined &&
    (await hasLoggedInFrom(db, { username: account, network }));
  const place = isKnown ? ` from ${network}` : "";
  return {
    account: account === undefined ? undefined : `user:${account}${place}`,
    address: network === undefined ? undefined : `address:${network}`,
  };
}

/** Records that the password was right: the account's failures are deleted, and the address's count is restored. */
export async function clearFailures(transaction: Db, attempt: LoginAttempt): Promise<void> {
  const { account } = attempt;
  await takeBack(transaction, { ...attempt, account: undefined });
  if (account === undefined) return;
  await transaction.delete(loginFailures).where(eq(loginFailures.subject, account.subject));
}

/** Locks the rows of the subjects until the transaction ends, and creates missing ones. */
async function hold(
  transaction: Db,
  names: readonly string[],
  at: number,
): Promise<readonly Failures[]> {
  const lastFailedAt = new Date(at);
  // The order is the same everywhere, so that no two attempts deadlock.
  const rows = names.toSorted().map((subject) => ({ subject, failures: 0, lastFailedAt }));
  await transaction.insert(loginFailures).values(rows).onConflictDoNothing();
  const held = await transaction
    .select()
    .from(loginFailures)
    .where(inArray(loginFailures.subject, [...names]))
    .orderBy(asc(loginFailures.subject))
    .for("update");
  // A row was deleted while this transaction waited for it.
  if (held.length < names.length) return hold(transaction, names, at);
  const forgottenAt = at - FAILURES_KEPT_MS;
  return held.map((row) =>
    row.lastFailedAt.getTime() < forgottenAt ? { ...row, failures: 0 } : row,
  );
}

/** Subtracts one failure. If no other failure came since, the time of the last one is restored. */
async function takeBack(transaction: Db, { at, account, address }: LoginAttempt): Promise<void> {
  for (const before of [address, account]) {
    if (before === undefined) continue;
    const counted = sql`${new Date(at).toISOString()}::timestamptz`;
    const earlier = sql`${before.lastFailedAt.toISOString()}::timestamptz`;
    const { failures, lastFailedAt, subject } = loginFailures;
    await transaction
      .update(loginFailures)
      .set({
        failures: sql`greatest(${failures} - 1, 0)`,
        lastFailedAt: sql`case when ${lastFailedAt} = ${counted} then ${earlier} else ${lastFailedAt} end`,
      })
      .where(eq(subject, before.subject));
  }
}

import { asc, eq, inArray, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { loginFailures } from "../../db/tables/users.ts";
import { clientNetwork } from "../../lib/egress/ip-address.ts";
import type { UserAccess } from "../access.ts";
import { hasLoggedInFrom } from "./known-address.ts";
import { type Failures, refuseTooSoon } from "./login-wait.ts";

/** After this long a failure is forgotten. */
export const FAILURES_KEPT_MS = 86_400_000;

/** A try that counts as failed until it is cleared. */
export interface LoginAttempt {
  /** Unix milliseconds. */
  readonly at: number;
  /** What was counted against account and address before this try, where they are known. */
  readonly account: Failures | undefined;
  readonly address: Failures | undefined;
}

/**
 * Runs the check of a password under the brake. The try is counted against its account and its address before, so that
 * tries side by side cannot outrun the count; all of an IPv6 network
 * that one client has counts as one address; names that nobody has are counted alike. From where a user has logged in
 * before, tries are counted apart from those of elsewhere. It stays counted when the check
 * comes back without a result. Rejects with `rate_limit_exceeded`, checking nothing, while either has to wait, and with
 * `overloaded` when too many logins come at once.
 *
 * @param account undefined for what can be no name.
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
      // Nobody can tell whether the password was right. With the database away the failure stays, and time mends it.
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

/** What the try counts against. An account is counted apart where it has logged in before. */
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

/** The password was right: the account's failures are forgotten, and the address's are what they were. */
export async function clearFailures(transaction: Db, attempt: LoginAttempt): Promise<void> {
  const { account } = attempt;
  await takeBack(transaction, { ...attempt, account: undefined });
  if (account === undefined) return;
  await transaction.delete(loginFailures).where(eq(loginFailures.subject, account.subject));
}

/** Locks the rows of the subjects, which are made where they are missing, until the transaction ends. */
async function hold(
  transaction: Db,
  names: readonly string[],
  at: number,
): Promise<readonly Failures[]> {
  const lastFailedAt = new Date(at);
  // In one order everywhere, so that no two tries wait for each other.
  const rows = names.toSorted().map((subject) => ({ subject, failures: 0, lastFailedAt }));
  await transaction.insert(loginFailures).values(rows).onConflictDoNothing();
  const held = await transaction
    .select()
    .from(loginFailures)
    .where(inArray(loginFailures.subject, [...names]))
    .orderBy(asc(loginFailures.subject))
    .for("update");
  // One of them was deleted while it was waited for.
  if (held.length < names.length) return hold(transaction, names, at);
  const forgottenAt = at - FAILURES_KEPT_MS;
  return held.map((row) =>
    row.lastFailedAt.getTime() < forgottenAt ? { ...row, failures: 0 } : row,
  );
}

/** One failure less; and where no other came since, the time of the last is again what it was. */
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

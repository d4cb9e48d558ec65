import { and, desc, eq, gte, type SQL, sql } from "drizzle-orm";
import type { Caller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import { usageHours } from "../../db/tables/usage.ts";
import type { LimitReport, Limits } from "../../limits/limits.ts";
import type { Access } from "../access.ts";
import { ownKeys, readApiKey } from "./api-key-record.ts";
import { keyLimitsOf } from "./known/key-limits.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A range with more models than this reports only the most used ones. */
const MODELS_MAX = 1_000;

/** Sums of calls and tokens. */
export interface UsageSums {
  readonly requests: number;
  /** Calls without an answer. */
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
}

export interface KeyUsage {
  /** The sums over the life of the key. */
  readonly totals: UsageSums;
  /** Only days with usage, earliest first. */
  readonly byDay: readonly (UsageSums & { readonly date: string })[];
  /** Most called first. */
  readonly byModel: readonly (UsageSums & { readonly model: string })[];
  readonly limits: LimitReport;
}

export interface KeyUsageOptions extends Pick<Access, "database" | "clock"> {
  readonly limits: Pick<Limits, "read">;
}

/**
 * Returns the usage of one of the caller's keys, from the hourly sums, so that few rows are read however many calls
 * there were. Rejects with `not_found` for a key of another owner.
 *
 * @param days is a number of UTC days, including today.
 */
export async function readKeyUsage(
  { database, clock, limits }: KeyUsageOptions,
  caller: Caller,
  { id, days }: { readonly id: string; readonly days: number },
): Promise<KeyUsage> {
  const now = clock.now();
  const since = new Date(Math.floor(now / DAY_MS) * DAY_MS - (days - 1) * DAY_MS);
  const { key, ...sums } = await database.ask(async (db) => {
    const key = await readApiKey(db, id, ownKeys(caller));
    return { key, ...(await readSums(db, id, since)) };
  });
  return { ...sums, limits: await limits.read(id, keyLimitsOf(key), now) };
}

const SUMS = {
  requests: sumOf(usageHours.requests),
  failures: sumOf(usageHours.failures),
  inputTokens: sumOf(usageHours.inputTokens),
  outputTokens: sumOf(usageHours.outputTokens),
  cachedTokens: sumOf(usageHours.cachedTokens),
  reasoningTokens: sumOf(usageHours.reasoningTokens),
};
const NOTHING: UsageSums = {
  requests: 0,
  failures: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
};

function sumOf(column: (typeof usageHours)["requests"]): SQL<number> {
  return sql<number>`coalesce(sum(${column}), 0)`.mapWith(Number);
}

async function readSums(db: Db, id: string, since: Date): Promise<Omit<KeyUsage, "limits">> {
  const isOfKey = eq(usageHours.keyId, id);
  const isInRange = and(isOfKey, gte(usageHours.hour, since));
  const date = sql<string>`to_char(${usageHours.hour} at time zone 'UTC', 'YYYY-MM-DD')`;
  const { model } = usageHours;
  const [totals = NOTHING] = await db.select(SUMS).from(usageHours).where(isOfKey);
  const byDay = await db
    .select({ date, ...SUMS })
    .from(usageHours)
    .where(isInRange)
    .groupBy(date)
    .orderBy(date);
  const byModel = await db
    .select({ model, ...SUMS })
    .from(usageHours)
    .where(isInRange)
    .groupBy(model)
    .orderBy(desc(SUMS.requests), model)
    .limit(MODELS_MAX);
  return { totals, byDay, byModel };
}

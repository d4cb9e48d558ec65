import type { Channel } from "../../../../src/core/channel.ts";
import type { Database } from "../../../../src/db/database.ts";
import { createRequestIds } from "../../../../src/lib/id.ts";
import { insertUsage } from "../../../../src/usage/journal/usage-store.ts";
import type { Outcome, UsageRecord } from "../../../../src/usage/usage-record.ts";
import { createRandom } from "../../faults/random.ts";

const OUTCOMES: readonly Outcome[] = ["ok", "ok", "ok", "error", "aborted", "rate_limited"];
const CHANNELS: readonly Channel[] = ["chat", "messages", "embeddings"];
const MODELS = ["qwen3", "llama", "=cmd|'/c calc'!A0"];
const STATUS: Readonly<Record<Outcome, number>> = {
  ok: 200,
  error: 502,
  aborted: 499,
  rate_limited: 429,
};

export interface LedgerOptions {
  readonly seed: number;
  readonly count: number;
  readonly keyIds: readonly string[];
  /** Starts are spread over it. Unix milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** Calls as a gateway would have metered them, the same for the same seed but for their ids. */
export function randomUsage({ seed, count, keyIds, from, to }: LedgerOptions): UsageRecord[] {
  const random = createRandom(seed);
  const nextId = createRequestIds();
  const below = (limit: number) => Math.floor(random() * limit);
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  return Array.from({ length: count }, (_, index) => {
    const startedAt = from + below(to - from);
    const outcome = oneOf(OUTCOMES);
    return {
      id: nextId(startedAt),
      keyId: oneOf(keyIds),
      channel: oneOf(CHANNELS),
      model: oneOf(MODELS),
      startedAt,
      outcome,
      status: STATUS[outcome],
      inputTokens: below(1_000),
      outputTokens: below(1_000),
      cachedTokens: below(100),
      reasoningTokens: below(100),
      extraCharge: outcome === "aborted" ? below(100) : undefined,
      estimated: random() < 0.1,
      latencyMs: below(10_000),
      firstTokenMs: outcome === "ok" ? below(1_000) : null,
      assistantId: index % 5 === 0 ? "asst_1" : undefined,
    };
  });
}

let batches = 0;

/** Stores calls as a flush does. */
export async function storeUsage(
  { db }: Pick<Database, "db">,
  records: readonly UsageRecord[],
): Promise<void> {
  for (let start = 0; start < records.length; start += 500) {
    const batch = records.slice(start, start + 500).map((record) => JSON.stringify(record));
    batches += 1;
    await insertUsage(db, batch, { journal: "test", segment: batches, byteOffset: 1 });
  }
}

/** The sums of calls by the names that reports give them. */
export function sumUsage(records: readonly UsageRecord[]) {
  const sum = (read: (record: UsageRecord) => number) =>
    records.reduce((total, record) => total + read(record), 0);
  const have = (...outcomes: Outcome[]) =>
    records.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return {
    requests: records.length,
    failures: have("error", "rate_limited"),
    rateLimited: have("rate_limited"),
    aborted: have("aborted"),
    latencyMs: sum(({ latencyMs }) => latencyMs),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    reasoningTokens: sum(({ reasoningTokens }) => reasoningTokens),
  };
}

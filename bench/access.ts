// Measures the cost of admitting a call: its key, the license, its limits.
// Usage: bun bench/access.ts [--check], or the same with node --import tsx.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Authenticate, createAuthenticate } from "../src/access/authenticate.ts";
import { hashCredentialUnder } from "../src/access/hash-credential.ts";
import { newApiKeyText } from "../src/access/keys/create-api-key.ts";
import { openApiKeys } from "../src/access/keys/known/api-keys.ts";
import { openInstallation } from "../src/access/open-installation.ts";
import { openSecret } from "../src/access/secret.ts";
import { loadConfig } from "../src/config/load-config.ts";
import type { KeyCaller } from "../src/core/callers/caller.ts";
import type { Database } from "../src/db/database.ts";
import { openEmbedded } from "../src/db/embedded/open-embedded.ts";
import { migrate } from "../src/db/migrate.ts";
import { embeddedArchive } from "../src/db/open-db.ts";
import { createRequestIds } from "../src/lib/id.ts";
import { createLog } from "../src/lib/log.ts";
import { systemClock } from "../src/lib/time/clock.ts";
import { type License, openLicense } from "../src/license/license.ts";
import { readVerificationKey } from "../src/license/verification-key.ts";
import type { Admission, Limits } from "../src/limits/limits.ts";
import { openLimits } from "../src/limits/open-limits.ts";
import { openBudgetAlerts } from "../src/operations/alerts/budget-alerts.ts";
import { startRedisServer } from "../tests/support/servers/redis-server.ts";

const KEYS = 100_000;
const KEYS_IN_USE = 10_000;
const KEYS_A_STATEMENT = 5_000;
const WARM_UP_CALLS = 20_000;
const CALLS = 200_000;
const REDIS_KEYS = 1_000;
const REDIS_CALLS = 20_000;
const REDIS_CALLS_AT_ONCE = 32;
/** The goal: microseconds of processor time per call for key, license and limits together. */
const GOAL_US = 50;
const INPUT_TOKENS = 100;
const OUTPUT_TOKENS = 200;

const log = createLog("error");
const clock = systemClock;
const nextId = createRequestIds();

interface Parts {
  readonly authenticate: Authenticate;
  readonly license: License;
  /** The request headers of the keys in use. */
  readonly requests: readonly Headers[];
  readonly openLimits: (redisUrl?: string) => Promise<Limits>;
}

/** Writes the keys, each with all four limits, and returns the secrets of those in use. */
async function writeKeys(database: Database, hash: (text: string) => string): Promise<string[]> {
  const { db } = database;
  await db.execute(sql`insert into users (id, username, role) values ('usr_1', 'admin', 'admin')`);
  const inUse: string[] = [];
  for (let from = 0; from < KEYS; from += KEYS_A_STATEMENT) {
    const keys = Array.from({ length: KEYS_A_STATEMENT }, (_, index) => {
      const text = newApiKeyText();
      if ((from + index) % (KEYS / KEYS_IN_USE) === 0) inUse.push(text);
      return { id: `key_${from + index}`, hash: hash(text) };
    });
    await db.execute(sql`
      insert into api_keys (
        id, name, key_hash, last_four, owner_id, change_seq,
        monthly_token_limit, request_limit, rpm_limit, token_limit
      )
      select id, id, hash, '0000', 'usr_1', 1, 1e12, 1e12, 1e6, 1e12
      from json_to_recordset(${JSON.stringify(keys)}::text::json) as key (id text, hash text)`);
  }
  await db.execute(sql`insert into change_counters (name, seq) values ('api_keys', 1)`);
  return inUse;
}

/** Builds the parts as a server does. */
async function openParts(database: Database, folder: string): Promise<Parts> {
  const { settings } = loadConfig({ DATA_DIR: folder });
  const secret = await openSecret(settings);
  const { installedAt } = await openInstallation(database, secret, clock);
  const verificationKey = readVerificationKey(undefined);
  const license = await openLicense(
    { database, settings, clock, log },
    { secret, verificationKey, installedAt },
  );
  const hashApiKey = hashCredentialUnder(secret, "api-keys");
  const texts = await writeKeys(database, hashApiKey);
  const keys = await openApiKeys({ database, hashApiKey, log });
  const sessions = { find: async () => undefined };
  const none = { find: () => undefined, noteUse: () => undefined };
  const observer = openBudgetAlerts({ db: database.db, clock, log, webhook: undefined });
  return {
    authenticate: createAuthenticate({ keys, sessions, tokens: none, biKeys: none }),
    license,
    requests: texts.map((text) => new Headers({ authorization: `Bearer ${text}` })),
    async openLimits(redisUrl) {
      const limits = await openLimits(
        { database, clock, log, settings: { ...settings, REDIS_URL: redisUrl } },
        {
          guard: { isSafe: () => true },
          installation: secret.fingerprint,
          monotonic: () => performance.now(),
        },
      );
      limits.observe(observer);
      limits.start(Promise.resolve());
      return limits;
    },
  };
}

/** One call's share of the work; a promise only where it has to wait. */
type Work = (call: number) => unknown;

interface Figures {
  readonly name: string;
  /** Processor time of the whole process, which is steady even on a busy machine. */
  readonly cpuUs: number;
  readonly meanUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

/** Times each call separately; the empty loop shows the cost of the timing itself. */
async function measure(name: string, calls: number, work: Work): Promise<Figures> {
  for (let call = 0; call < Math.min(WARM_UP_CALLS, calls); call += 1) await work(call);
  const times = new Float64Array(calls);
  const cpu = process.cpuUsage();
  for (let call = 0; call < calls; call += 1) {
    const from = performance.now();
    const result = work(call);
    if (result instanceof Promise) await result;
    times[call] = (performance.now() - from) * 1_000;
  }
  const cpuUs = cpuSince(cpu) / calls;
  const meanUs = times.reduce((sum, time) => sum + time, 0) / calls;
  times.sort();
  const at = (share: number) => times[Math.floor(share * (calls - 1))] ?? Number.NaN;
  return { name, cpuUs, meanUs, p50Us: at(0.5), p99Us: at(0.99) };
}

/** Returns microseconds. */
function cpuSince(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return user + system;
}

/** Returns the work for a call of each key in use, in random order. */
function worksOf({ authenticate, license, requests }: Parts, limits: Limits, keys: number) {
  const order = Uint32Array.from({ length: CALLS }, () => Math.floor(Math.random() * keys));
  const headersOf = (call: number) => requests[order[call % CALLS] ?? 0] ?? new Headers();
  const address = () => "127.0.0.1";
  const method = "POST";
  const knowKey = (call: number, now: number) => {
    const caller = authenticate("caller", { method, headers: headersOf(call), address, now });
    if (caller instanceof Promise || caller.kind !== "key") throw new Error("the key is unknown");
    return caller;
  };
  const callers = requests.map((_, index) => {
    const headers = requests[index] ?? new Headers();
    return authenticate("caller", { method, headers, address, now: clock.now() }) as KeyCaller;
  });
  const askLicense = () => {
    if (license.isInvalid()) throw new Error("the license is invalid");
    return license.graceWarning();
  };
  const spend = ({ keyId, limits: own }: KeyCaller, now: number) => {
    if (own === null) throw new Error("the key has no limits");
    const id = nextId(now);
    const tokens = { inputTokens: INPUT_TOKENS, outputTokens: OUTPUT_TOKENS };
    const admission = limits.admit({ id, keyId, limits: own, startedAt: now, ...tokens });
    const settle = (admitted: Admission) => admitted.settle(INPUT_TOKENS + OUTPUT_TOKENS / 2);
    return admission instanceof Promise ? admission.then(settle) : settle(admission);
  };
  const callerOf = (call: number) => callers[order[call % CALLS] ?? 0] as KeyCaller;
  return {
    nothing: () => undefined,
    key: (call: number) => knowKey(call, clock.now()),
    license: askLicense,
    limits: (call: number) => spend(callerOf(call), clock.now()),
    together: (call: number) => {
      const now = clock.now();
      const caller = knowKey(call, now);
      askLicense();
      return spend(caller, now);
    },
  };
}

async function measureMemory(parts: Parts): Promise<readonly Figures[]> {
  const limits = await parts.openLimits();
  const works = worksOf(parts, limits, KEYS_IN_USE);
  const figures = [
    await measure("empty loop", CALLS, works.nothing),
    await measure("key", CALLS, works.key),
    await measure("license", CALLS, works.license),
    await measure("limits", CALLS, works.limits),
    await measure("together", CALLS, works.together),
  ];
  await limits.close();
  return figures;
}

/**
 * Measures the limits in Redis. Sequential calls wait for a round trip each; concurrent ones show the cost per call in
 * this process and Redis.
 */
async function measureRedis(parts: Parts, url: string): Promise<readonly Figures[]> {
  const limits = await parts.openLimits(url);
  const { together } = worksOf(parts, limits, REDIS_KEYS);
  const alone = await measure("together, Redis", REDIS_CALLS, together);
  const from = performance.now();
  const cpu = process.cpuUsage();
  for (let call = 0; call < REDIS_CALLS; call += REDIS_CALLS_AT_ONCE) {
    await Promise.all(Array.from({ length: REDIS_CALLS_AT_ONCE }, (_, at) => together(call + at)));
  }
  const meanUs = ((performance.now() - from) / REDIS_CALLS) * 1_000;
  await limits.close();
  const cpuUs = cpuSince(cpu) / REDIS_CALLS;
  const name = `together, Redis, ${REDIS_CALLS_AT_ONCE} at once`;
  return [alone, { name, cpuUs, meanUs, p50Us: Number.NaN, p99Us: Number.NaN }];
}

function print(figures: readonly Figures[]): void {
  const cell = (value: number) => (Number.isNaN(value) ? "" : value.toFixed(2)).padStart(10);
  const line = (name: string, ...cells: string[]) => `${name.padEnd(32)}${cells.join("")}\n`;
  const runtime = process.versions["bun"] === undefined ? "Node" : "Bun";
  const heads = ["processor", "mean", "p50", "p99"].map((head) => head.padStart(10));
  process.stdout.write(line(`µs a call on ${runtime}`, ...heads));
  for (const { name, cpuUs, meanUs, p50Us, p99Us } of figures) {
    process.stdout.write(line(name, cell(cpuUs), cell(meanUs), cell(p50Us), cell(p99Us)));
  }
}

const folder = mkdtempSync(join(tmpdir(), "access-"));
const database = await openEmbedded({
  dataFolder: undefined,
  archive: embeddedArchive(),
  waitMs: 10_000,
  limitMs: () => 60_000,
  log,
});
await migrate(database);
const parts = await openParts(database, folder);
const figures = await measureMemory(parts);
const redis = await startRedisServer();
print(redis === undefined ? figures : [...figures, ...(await measureRedis(parts, redis.url))]);
await redis?.remove();
await database.close();
rmSync(folder, { recursive: true });

const spentUs = figures.at(-1)?.cpuUs ?? Number.NaN;
const isReached = spentUs < GOAL_US;
process.stdout.write(`goal: together below ${GOAL_US} µs: ${isReached ? "reached" : "missed"}\n`);
process.exit(process.argv.includes("--check") && !isReached ? 1 : 0);

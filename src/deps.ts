import packageJson from "../package.json" with { type: "json" };
import type { CredentialHashes, UserAccess } from "./access/access.ts";
import { auditSettings } from "./access/audit/audit-settings.ts";
import { type Authenticate, createAuthenticate } from "./access/authenticate.ts";
import { type FirstSecrets, firstStart } from "./access/first-start.ts";
import { hashCredentialUnder } from "./access/hash-credential.ts";
import { type ApiKeys, openApiKeys } from "./access/keys/known/api-keys.ts";
import { openInstallation } from "./access/open-installation.ts";
import { openSecret } from "./access/secret.ts";
import { createLoginTurns } from "./access/sessions/login-turns.ts";
import { createPasswords } from "./access/sessions/passwords.ts";
import { openSessions } from "./access/sessions/sessions.ts";
import { loadModelsFile, type ModelOverrides } from "./backends/models/models-file.ts";
import { createRegistry, type Registry } from "./backends/registry.ts";
import type { Settings } from "./config/settings.ts";
import type { Database } from "./db/database.ts";
import { openReplicaGuard, type ReplicaGuard } from "./db/locks/replica-guard.ts";
import { migrate } from "./db/migrate.ts";
import { openDatabase } from "./db/open-db.ts";
import { type AnswerGateway, openAnswerMemory } from "./gateway/answer-memory.ts";
import type { EmbeddingGateway } from "./gateway/embed.ts";
import { createFailureLog } from "./gateway/failure-log.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { type GatedCalls, openGatedCalls } from "./gateway/overload/call-gate.ts";
import type { TranscriptionGateway } from "./gateway/transcribe.ts";
import type { Clock } from "./lib/clock.ts";
import { inFolderOf } from "./lib/in-folder-of.ts";
import type { Log } from "./lib/log.ts";
import { createRequestIds } from "./lib/request-id.ts";
import type { TestClock } from "./lib/test-clock.ts";
import { type License, openLicense } from "./license/license.ts";
import { openVerificationKey } from "./license/verification-key.ts";
import type { Limits } from "./limits/limits.ts";
import { openLimits } from "./limits/open-limits.ts";
import { collectAlertFacts } from "./operations/alerts/collect-alert-facts.ts";
import { type Alerts, openAlerts } from "./operations/alerts/open-alerts.ts";
import { refuseUnfinishedRestore } from "./operations/backup/restore/unfinished-restore.ts";
import { serveBackups } from "./operations/backup/serve-backups.ts";
import type { ReadinessProbes } from "./operations/health.ts";
import { createFigures, type Figures } from "./operations/metrics/figures.ts";
import { type Metrics, openMetrics } from "./operations/metrics/open-metrics.ts";
import { openClock } from "./operations/open-clock.ts";
import { openTracing } from "./operations/tracing/open-tracing.ts";
import type { Tracing } from "./operations/tracing/tracing.ts";
import { pruneEvents } from "./queue/end-jobs.ts";
import { createInternalEvents, type InternalEvents } from "./queue/internal-events.ts";
import {
  openWatchedFolders,
  type WatchedFolders,
} from "./queue/watched-folders/open-watched-folders.ts";
import { type OpenUsageJournal, openUsageJournal } from "./usage/journal/open-usage-journal.ts";
import {
  createDailyReconciliation,
  type DailyReconciliation,
} from "./usage/sums/daily-reconciliation.ts";
import { type LimitRefusals, openLimitRefusals } from "./usage/sums/limit-refusals.ts";
import { openUsageUpkeep, type UsageUpkeep } from "./usage/sums/usage-upkeep.ts";
import type { UsageJournal } from "./usage/usage-record.ts";

/** What the edge stands on. */
export interface Deps extends GatedCalls {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  /** Of the package. */
  readonly version: string;
  readonly gateway: Gateway & EmbeddingGateway & TranscriptionGateway & AnswerGateway;
  readonly authenticate: Authenticate;
  /** What the verbs of users, keys and the audit log stand on. */
  readonly access: UserAccess;
  readonly license: License;
  readonly limits: Limits;
  readonly refusals: LimitRefusals;
  readonly usageUpkeep: UsageUpkeep;
  readonly usageReconciliation: DailyReconciliation;
  /** What is counted while the service works. */
  readonly figures: Figures;
  readonly metrics: Metrics;
  readonly alerts: Pick<Alerts, "check">;
  /** What parts of the gateway tell each other. */
  readonly events: InternalEvents;
  readonly watchedFolders: WatchedFolders;
  /** Deletes events that were delivered or given up long enough ago. */
  readonly pruneEvents: () => Promise<void>;
  readonly readiness: ReadinessProbes;
  readonly nextRequestId: (nowMs: number) => string;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortController;
  /** Undefined unless requests are traced. */
  readonly tracing: Tracing | undefined;
  /** Resolves when every record of usage written so far is on the disk's platter. */
  readonly syncJournal: () => Promise<void>;
  /** Moves usage to the database for at most `journalDrainMs`, then lets everything go. */
  readonly close: (journalDrainMs: number) => Promise<void>;
}

/**
 * The composition root: opens the store, brings it up to date, and builds every part once.
 *
 * @param onFirstSecrets told what this start has made up, as soon as it is in the database: to be shown once, also when
 * the start fails afterwards.
 */
export async function buildDeps(
  settings: Settings,
  log: Log,
  onFirstSecrets: (secrets: FirstSecrets) => void = () => undefined,
): Promise<Deps> {
  await inFolderOf("DATA_DIR", () => refuseUnfinishedRestore(settings));
  const overrides = await loadModelsFile(settings.MODELS_FILE);
  const { version } = packageJson;
  const tracing = await openTracing(settings, { log, version });
  const clock = openClock(settings, log);
  const database = await inFolderOf("DATA_DIR", () => openDatabase(settings, log));
  try {
    const guard = await openReplicaGuard(settings, log);
    try {
      const given = { settings, log, overrides, clock, guard, version, tracing, onFirstSecrets };
      return await buildOn(database, given);
    } catch (thrown) {
      await guard.close();
      throw thrown;
    }
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

interface Given {
  readonly settings: Settings;
  readonly log: Log;
  readonly overrides: ModelOverrides;
  readonly clock: TestClock;
  readonly guard: ReplicaGuard;
  readonly version: string;
  readonly tracing: Tracing | undefined;
  readonly onFirstSecrets: (secrets: FirstSecrets) => void;
}

async function buildOn(
  database: Database,
  { settings, log, overrides, clock, guard, version, tracing, onFirstSecrets }: Given,
): Promise<Deps> {
  const store = await openStore(database, { settings, clock, log, onFirstSecrets });
  const { keys, hashes, license, installation } = store;
  const sessions = openSessions({ database, clock, hashSession: hashes.hashSession, log });
  const parts = { settings, database, clock, log };
  const registry = createRegistry({ settings, overrides, log, clock });
  const { db } = database;
  const figures = createFigures(clock);
  const { deliveries } = figures;
  const facts = collectAlertFacts({ db, engine: registry.backends[0] });
  const alerts = openAlerts({ ...parts, db, facts, deliveries });
  const limits = await openLimits({ ...parts, guard, installation, observer: alerts.monthlyUse });
  const usageUpkeep = await openUsageUpkeep(parts);
  const refusals = openLimitRefusals({ db, log });
  const journal = await openJournal({ ...parts, limits });
  limits.start(journal.caughtUp);
  guard.onHeldAgain(() => countAnew(journal, limits));
  registry.models.start();
  const stopping = new AbortController();
  const calls = openGatedCalls({ settings, log, timeoutMs: timeoutMsOf(settings) });
  const usage = { usageUpkeep, usageReconciliation: createDailyReconciliation(parts) };
  const watched = { registry, journal, limits, license, ...calls, figures, ...usage };
  const metrics = openMetrics({ ...parts, ...watched, version });
  const { OUTBOX_BACKOFF_SCALE: scale, OUTBOX_TRY_TIMEOUT_MS: tryTimeoutMs } = settings;
  const events = createInternalEvents({ db, clock, log, scale, tryTimeoutMs, deliveries });
  events.start();
  const watchedFolders = openWatchedFolders({ ...parts, db, onFired: events.wake });
  const backups = await serveBackups({ ...parts, productVersion: version });

  return {
    settings,
    log,
    clock,
    version,
    gateway: buildGateway({ ...parts, ...watched, refusals }),
    ...calls,
    authenticate: createAuthenticate({ keys, sessions }),
    access: buildAccess(store, { settings, database, clock }),
    license,
    limits,
    refusals,
    ...usage,
    figures,
    metrics,
    alerts,
    events,
    watchedFolders,
    pruneEvents: () => pruneEvents(database.db, clock.now()),
    readiness: openProbes({ database, journal, registry, limits, stopping }),
    nextRequestId: createRequestIds(),
    stopping,
    tracing,
    syncJournal: journal.sync,
    async close(journalDrainMs) {
      for (const part of [clock, calls.callGate, metrics, sessions]) part.close();
      // Side by side: a database that does not answer keeps each of them waiting.
      await Promise.all([
        journal.drain(journalDrainMs),
        refusals.close(journalDrainMs),
        keys.close(),
        license.close(),
        registry.close(),
        tracing?.close(),
        alerts.close(),
        events.close(),
        watchedFolders.close(),
        backups.close(),
      ]);
      await limits.close();
      await guard.close();
      await database.close();
    },
  };
}

function openJournal(options: Parameters<typeof openUsageJournal>[0]): Promise<OpenUsageJournal> {
  const setting = options.settings.JOURNAL_DIR === undefined ? "DATA_DIR" : "JOURNAL_DIR";
  return inFolderOf(setting, () => openUsageJournal(options));
}

function buildAccess(
  { keys, license, hashes }: Store,
  { settings, database, clock }: Pick<UserAccess, "database" | "clock"> & Pick<Given, "settings">,
): UserAccess {
  return {
    database,
    clock,
    keys,
    maxUsers: license.maxUsers,
    passwords: createPasswords(),
    inLoginTurn: createLoginTurns(),
    sessionHours: settings.SESSION_LIFETIME_HOURS,
    ...hashes,
  };
}

interface ProbedParts extends Pick<Deps, "stopping"> {
  readonly limits: { readonly isAvailable: () => boolean };
  readonly database: Database;
  readonly journal: Pick<OpenUsageJournal, "canRecord">;
  readonly registry: Registry;
}

function openProbes(parts: ProbedParts): ReadinessProbes {
  const { database, journal, registry, limits, stopping } = parts;
  return {
    // One that has no room still answers; calls go on as long as the journal has some.
    db: async () => (await database.ping()) && (await journal.canRecord()),
    // A server whose schema is not up to date does not start.
    migrations: () => true,
    llm: registry.models.reachable,
    limits: limits.isAvailable,
    stopping: () => stopping.signal.aborted,
  };
}

/** How long a call may take as a whole. */
function timeoutMsOf({ GATEWAY_REQUEST_TIMEOUT, LLM_REQUEST_TIMEOUT }: Settings): number {
  return (GATEWAY_REQUEST_TIMEOUT ?? LLM_REQUEST_TIMEOUT) * 1_000;
}

/** Another process may have counted for itself meanwhile. */
async function countAnew(
  journal: Pick<OpenUsageJournal, "flush">,
  limits: Pick<Limits, "recount">,
): Promise<void> {
  await journal.flush();
  await limits.recount?.();
}

interface GatewayParts
  extends Pick<Deps, "settings" | "log" | "clock" | "limits" | "refusals" | "figures"> {
  readonly registry: Registry;
  readonly journal: UsageJournal;
}

function buildGateway(parts: GatewayParts): Deps["gateway"] {
  const { settings, log, clock, registry, journal, limits, refusals, figures } = parts;
  return {
    models: registry.models,
    embeddings: registry.embeddings,
    speech: registry.speech,
    answers: openAnswerMemory(settings, clock),
    journal,
    limits,
    refusals: {
      count(refusal) {
        figures.refusals.count(refusal);
        refusals.count(refusal);
      },
    },
    figures: figures.calls,
    clock,
    failures: createFailureLog(log, clock),
    defaultMaxOutputTokens: settings.DEFAULT_MAX_OUTPUT_TOKENS,
    fallbacks: settings.MODEL_FALLBACKS,
  };
}

interface Store {
  readonly keys: ApiKeys;
  readonly hashes: CredentialHashes;
  readonly license: License;
  /** A text that no other installation has. */
  readonly installation: string;
}

/** Brings the store up to date and sees to it that there is a key to call with. */
async function openStore(
  database: Database,
  given: Pick<Given, "settings" | "clock" | "log" | "onFirstSecrets">,
): Promise<Store> {
  const { settings, clock, log, onFirstSecrets } = given;
  await migrate(database);
  const secret = await inFolderOf("DATA_DIR", () => openSecret(settings));
  const { installedAt } = await openInstallation(database, secret, clock);
  const verificationKey = openVerificationKey(settings);
  const parts = { database, settings, secret, clock, log };
  const license = await openLicense({ ...parts, verificationKey, installedAt });
  const hashApiKey = hashCredentialUnder(secret, "api-keys");
  const hashes = {
    hashApiKey,
    hashBiKey: hashCredentialUnder(secret, "bi-keys"),
    hashSession: hashCredentialUnder(secret, "sessions"),
  };
  onFirstSecrets(await firstStart({ database, settings, hashApiKey, log }));
  await auditSettings({ database, settings, secret });
  const keys = await openApiKeys({ database, hashApiKey, log });
  const installation = `${secret.fingerprint} ${installedAt}`;
  return { keys, hashes, license, installation };
}

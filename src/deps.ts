import packageJson from "../package.json" with { type: "json" };
import { type ApiKeys, openApiKeys } from "./access/api-keys.ts";
import { authenticate } from "./access/authenticate.ts";
import { firstStart } from "./access/first-start.ts";
import { hashApiKeyUnder } from "./access/hash-api-key.ts";
import { evaluationState, type LicenseState } from "./access/license-state.ts";
import { openInstallation } from "./access/open-installation.ts";
import { openSecret } from "./access/secret.ts";
import { loadModelsFile, type ModelOverrides } from "./backends/models-file.ts";
import { createRegistry } from "./backends/registry.ts";
import type { Settings } from "./config/settings.ts";
import type { Caller } from "./core/caller.ts";
import type { Database } from "./db/database.ts";
import { migrate } from "./db/migrate.ts";
import { openDatabase } from "./db/open-db.ts";
import type { EmbeddingGateway } from "./gateway/embed.ts";
import { createFailureLog } from "./gateway/failure-log.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { openUsageJournal } from "./gateway/journal/open-usage-journal.ts";
import { createOpenCalls, type OpenCalls } from "./gateway/open-calls.ts";
import type { TranscriptionGateway } from "./gateway/transcribe.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { JsonObject } from "./lib/json.ts";
import type { Log } from "./lib/log.ts";
import { createRequestIds } from "./lib/request-id.ts";
import type { ReadinessProbes } from "./operations/health.ts";

/** What the edge stands on. */
export interface Deps {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  /** Of the package. */
  readonly version: string;
  readonly gateway: Gateway & EmbeddingGateway & TranscriptionGateway;
  readonly openCalls: OpenCalls;
  /** Throws a `ServiceError` unless the headers carry a key that may call. `now` in Unix milliseconds. */
  readonly authenticate: (headers: Headers, now: number) => Caller;
  readonly license: () => LicenseState & JsonObject;
  readonly readiness: ReadinessProbes;
  readonly nextRequestId: (nowMs: number) => string;
  /** A key made by this start, to be shown once. */
  readonly issuedKey: string | undefined;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortController;
  /** Moves usage to the database for at most `journalDrainMs`, then lets everything go. */
  readonly close: (journalDrainMs: number) => Promise<void>;
}

/** The composition root: opens the store, brings it up to date, and builds every part once. */
export async function buildDeps(settings: Settings, log: Log): Promise<Deps> {
  const overrides = await loadModelsFile(settings.MODELS_FILE);
  const database = await openDatabase(settings, log);
  try {
    return await buildOn(database, settings, log, overrides);
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

async function buildOn(
  database: Database,
  settings: Settings,
  log: Log,
  overrides: ModelOverrides,
): Promise<Deps> {
  const clock = systemClock;
  const { keys, installedAt, issuedKey } = await openStore(database, settings, log);
  const journal = await openUsageJournal({ settings, database, log, clock });
  const registry = createRegistry({ settings, overrides, log, clock });
  registry.models.start();
  const stopping = new AbortController();
  const timeoutSeconds = settings.GATEWAY_REQUEST_TIMEOUT ?? settings.LLM_REQUEST_TIMEOUT;

  return {
    settings,
    log,
    clock,
    version: packageJson.version,
    gateway: {
      models: registry.models,
      embeddings: registry.embeddings,
      speech: registry.speech,
      journal,
      clock,
      failures: createFailureLog(log, clock),
      defaultMaxOutputTokens: settings.DEFAULT_MAX_OUTPUT_TOKENS,
      fallbacks: settings.MODEL_FALLBACKS,
    },
    openCalls: createOpenCalls(timeoutSeconds * 1000),
    authenticate: (headers, now) => authenticate(headers, keys, now),
    license: () => evaluationState(installedAt, clock.now()),
    readiness: {
      db: database.ping,
      // A server whose schema is not up to date does not start.
      migrations: () => true,
      llm: registry.models.reachable,
      stopping: () => stopping.signal.aborted,
    },
    nextRequestId: createRequestIds(),
    issuedKey,
    stopping,
    async close(journalDrainMs) {
      keys.close();
      await registry.close();
      await journal.drain(journalDrainMs);
      await database.close();
    },
  };
}

/** Brings the store up to date and sees to it that there is a key to call with. */
async function openStore(
  database: Database,
  settings: Settings,
  log: Log,
): Promise<{ keys: ApiKeys; installedAt: number; issuedKey: string | undefined }> {
  await migrate(database);
  const secret = await openSecret(settings);
  const { installedAt } = await openInstallation(database, secret);
  const hashApiKey = hashApiKeyUnder(secret);
  const { issuedKey } = await firstStart({ database, settings, hashApiKey });
  const keys = await openApiKeys({ database, hashApiKey, log });
  return { keys, installedAt, issuedKey };
}

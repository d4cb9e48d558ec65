import { z } from "zod";
import { alertSettings } from "./alert-settings.ts";
import { assistantSettings } from "./assistant-settings.ts";
import { cloudSettings } from "./cloud-settings.ts";
import { consoleSettings } from "./console-settings.ts";
import { dataSettings } from "./data-settings.ts";
import { monitoringSettings } from "./monitoring-settings.ts";
import {
  apiKey,
  databaseUrl,
  egressEntries,
  fallbackModels,
  flag,
  fraction,
  hostNames,
  httpUrl,
  httpUrls,
  milliseconds,
  name,
  number,
  positive,
  redisUrl,
  trustedProxies,
  vendorKey,
  webOrigins,
  words,
} from "./setting-types.ts";
import { signInSettings } from "./sign-in-settings.ts";
import { workflowSettings } from "./workflow-settings.ts";

/**
 * Every setting: its environment variable, its type, its default and one line of documentation. An absent or empty one
 * takes its default.
 */
export const settingsSchema = z.object({
  HOST: z.string().default("0.0.0.0").describe("Address to listen on; `dev` uses 127.0.0.1."),
  PORT: number
    .min(0)
    .max(65_535)
    .default(8080)
    .describe("Port to listen on; 0 selects a free port."),
  ALLOWED_HOSTS: hostNames
    .prefault("")
    .describe("Comma list of host names this server answers to; empty allows any."),
  CORS_ORIGINS: webOrigins
    .prefault("")
    .describe(
      "Comma list of origins whose pages may call this server from a browser, such as https://app.example.com; * allows any, empty allows no origin.",
    ),
  TRUST_PROXY: trustedProxies
    .prefault("0")
    .describe(
      "Proxies whose X-Forwarded-For is trusted for the client's address: their number, or a comma list of their addresses and CIDR ranges; 0 trusts no proxy.",
    ),
  DATA_DIR: z.string().default("./data").describe("Folder of everything the service writes."),
  DATABASE_URL: databaseUrl
    .optional()
    .describe("PostgreSQL 15 or newer; unset uses the embedded database under DATA_DIR."),
  DB_POOL_MAX: positive
    .default(10)
    .describe(
      "Connections to PostgreSQL for callers; the gateway itself uses up to eleven more, and BI keys have their own.",
    ),
  DB_POOL_WAIT_MS: milliseconds
    .default(2_000)
    .describe("Longest wait for the database before a call answers 503."),
  APP_SECRET: z
    .string()
    .min(16, "must have at least 16 characters")
    .optional()
    .describe(
      "Secret that keys are hashed with; unset generates one and keeps it in DATA_DIR/secret.",
    ),
  ADMIN_PASSWORD: z
    .string()
    .min(8, "must have at least 8 characters")
    .max(256, "must have at most 256 characters")
    .optional()
    .describe(
      "Password of the user admin, set at the first start; unset generates one and shows it once.",
    ),
  SESSION_LIFETIME_HOURS: positive
    .max(8_760)
    .default(12)
    .describe("Hours after which a login ends."),
  ...signInSettings,
  BOOTSTRAP_API_KEY: apiKey
    .optional()
    .describe("An API key to create at start, unlimited, owned by the administrator."),
  BOOTSTRAP_API_KEY_PASSTHROUGH: flag
    .prefault("0")
    .describe("1 gives that key passthrough, which coding agents need with OpenAI's models."),
  REDIS_URL: redisUrl
    .optional()
    .describe(
      "Redis or Valkey that holds the limits of several replicas; unset allows one replica.",
    ),
  INSTANCE_ID: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/)
    .optional()
    .describe(
      "Beginning of the names of this replica's journal folders, to tell replicas apart; unset is gateway.",
    ),
  LLM_BACKEND: z
    .enum(["vllm", "ollama"])
    .default("ollama")
    .describe("Kind of the local engine: vllm (any OpenAI-compatible server) or ollama."),
  LLM_BASE_URL: httpUrls
    .optional()
    .describe(
      "Address of the local engine, or a comma list of several that serve the same models; defaults to http://127.0.0.1:8000 (vllm) or http://127.0.0.1:11434 (ollama).",
    ),
  LLM_API_KEY: vendorKey.describe("Bearer token for the local engine."),
  LLM_REQUEST_TIMEOUT: positive
    .max(86_400)
    .default(600)
    .describe("Seconds a call to an engine may take."),
  LLM_CONTEXT_LENGTH: positive
    .default(32_768)
    .describe("Context length in tokens that is requested from Ollama, at most the model's own."),
  MODELS_FILE: name
    .optional()
    .describe("JSON file with the capabilities of single models; see the README."),
  MODEL_FALLBACKS: fallbackModels
    .prefault("")
    .describe("Comma list of up to 8 models to try, in this order, when one cannot answer."),
  ...cloudSettings,
  EMBEDDING_BASE_URL: httpUrl
    .optional()
    .describe("Address of the embedding server; defaults to the local engine."),
  EMBEDDING_API_KEY: vendorKey.describe(
    "Bearer token for EMBEDDING_BASE_URL; LLM_API_KEY is sent only to the local engine.",
  ),
  EMBEDDING_MODEL: name
    .optional()
    .describe("Embedding model for a missing or unknown name; unset uses the engine's first."),
  SPEECH_BASE_URL: httpUrl
    .optional()
    .describe(
      "Address of the OpenAI-compatible transcription server; defaults to the local engine.",
    ),
  SPEECH_API_KEY: vendorKey.describe(
    "Bearer token for SPEECH_BASE_URL; LLM_API_KEY is sent only to the local engine.",
  ),
  EGRESS_ALLOW: egressEntries
    .prefault("")
    .describe(
      "Comma list of private hosts, addresses or CIDR ranges of clients' images, tool servers, saved databases and what workflows call.",
    ),
  GATEWAY_REQUEST_TIMEOUT: positive
    .max(86_400)
    .optional()
    .describe(
      "Seconds a client's call may take; defaults to LLM_REQUEST_TIMEOUT, and to twice that with MODEL_FALLBACKS.",
    ),
  GATEWAY_RETRIES: number
    .min(0)
    .max(5)
    .default(1)
    .describe("Retries of a refused or overloaded engine before the first byte."),
  DEFAULT_CHAT_MODEL: z
    .string()
    .min(1)
    .optional()
    .describe("Model for a missing or unknown name; unset uses the first local chat model."),
  DEFAULT_MAX_OUTPUT_TOKENS: positive
    .default(8_192)
    .describe("Output limit in tokens when the client sets none."),
  STREAM_IDLE_TIMEOUT_MS: milliseconds
    .default(300_000)
    .describe("Silence of the engine that ends a call."),
  STREAM_KEEPALIVE_MS: milliseconds
    .default(8_000)
    .describe("Silence after which a stream gets a keepalive."),
  SLOW_CLIENT_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("How long a client may stop reading before its stream ends."),
  // Must stay within a timer's range together with what main.ts adds.
  DRAIN_TIMEOUT_MS: milliseconds
    .max(86_400_000)
    .default(30_000)
    .describe("How long open streams may continue after SIGTERM."),
  GATEWAY_MAX_BODY_BYTES: positive
    .default(32 * 1024 * 1024)
    .describe(
      "Largest JSON body of a call to a model, and to /mcp up to 4 MiB; other paths have limits of their own.",
    ),
  GATEWAY_MAX_AUDIO_BYTES: positive
    .default(25 * 1024 * 1024)
    .describe("Largest body of a transcription."),
  RESPONSES_MEMORY_MB: number
    .min(0)
    .max(65_536)
    .default(64)
    .describe(
      "Megabytes of answers of /v1/responses that are kept for an hour, in memory only; 0 keeps nothing.",
    ),
  BODIES_IN_HAND_MB: positive
    .max(1_048_576)
    .default(256)
    .describe(
      "MiB of request bodies held at once, over all calls; a call without room answers 503 before its body is read.",
    ),
  MAX_JSON_DEPTH: positive.max(1_000).default(128).describe("Deepest nesting of a JSON body."),
  MAX_SSE_EVENT_BYTES: positive
    .default(8 * 1024 * 1024)
    .describe("Largest single event an engine may send."),
  JOURNAL_DIR: z
    .string()
    .optional()
    .describe("Folder of the usage journal; defaults to DATA_DIR/journal."),
  JOURNAL_FSYNC: z
    .enum(["off", "group", "wait"])
    .default("group")
    .describe(
      "When usage is flushed to the disk: off never forces it, group does so in groups after the answers, wait before each answer ends.",
    ),
  LICENSE_FILE: name
    .optional()
    .describe("License file, read at start; defaults to DATA_DIR/license.lic."),
  LICENSE_PUBLIC_KEY: name
    .optional()
    .describe(
      "Key that replaces the built-in one for verifying licenses, only with ALLOW_LICENSE_PUBLIC_KEY; base64url.",
    ),
  ALLOW_LICENSE_PUBLIC_KEY: flag
    .prefault("0")
    .describe(
      "1 lets LICENSE_PUBLIC_KEY replace the built-in key, for development and tests; `dev` sets it.",
    ),
  LICENSE_GRACE_DAYS: number
    .min(0)
    .max(14)
    .default(14)
    .describe("Days that everything continues to work after a license's expiry."),
  LICENSE_WARN_DAYS: positive
    .max(3_650)
    .optional()
    .describe("Days before the expiry at which warnings begin; unset warns only after it."),
  LICENSE_RECHECK_INTERVAL_SEC: positive
    .max(86_400)
    .default(3_600)
    .describe("Seconds between two checks of the license and the clock."),
  ...alertSettings,
  ...assistantSettings,
  ...workflowSettings,
  ...dataSettings,
  OUTBOX_BACKOFF_SCALE: fraction
    .positive()
    .max(10)
    .default(1)
    .describe("Factor of the pauses between attempts to deliver an event; below 1 for tests."),
  OUTBOX_TRY_TIMEOUT_MS: milliseconds
    .min(1_000)
    .max(300_000)
    .default(15_000)
    .describe("Time limit of one attempt to deliver an event."),
  ALLOW_TEST_CLOCK: flag
    .prefault("0")
    .describe("1 lets TEST_CLOCK_FILE move the clock, for tests; refused under a real license."),
  TEST_CLOCK_FILE: name
    .optional()
    .describe(
      "File with the seconds to add to the clock, only with ALLOW_TEST_CLOCK; `60 elapsed` lets time pass too.",
    ),
  // Each day is a partition. A query over all of them takes six locks per day, and PostgreSQL has room for a few
  // thousand.
  USAGE_RETENTION_DAYS: positive
    .max(730)
    .default(90)
    .describe("Days that single usage rows are kept; daily sums are kept permanently."),
  WATCH_DIRS: words
    .prefault("")
    .describe(
      "Comma list of folders whose files fire file.uploaded and file.deleted when they are created, changed or removed.",
    ),
  WATCH_INTERVAL_MS: milliseconds
    .default(2_000)
    .describe(
      "Pause between two scans of a watched folder; a folder with very many files makes it longer.",
    ),
  WATCH_SETTLE_MS: milliseconds
    .default(5_000)
    .describe(
      "How long the size and time of a watched file must be unchanged before it is reported; network file systems need 4000 or more.",
    ),
  WATCH_ANSWER_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("Longest wait for an answer of a watched folder before it counts as unavailable."),
  ...monitoringSettings,
  ...consoleSettings,
  GATEWAY_DOCS_ENABLED: flag
    .prefault("1")
    .describe(
      "Show the references /v1/docs and /api/docs, with /v1/openapi.json and /api/openapi.json.",
    ),
  LOG_LEVEL: z
    .enum(["fatal", "error", "warn", "info", "debug", "silent"])
    .default("info")
    .describe(
      "Least severe log line written: fatal, error, warn, info or debug; silent writes none.",
    ),
  DEV_API_KEY: apiKey
    .optional()
    .describe("Set by `dev`: the key it prints. It replaces the key of the previous run."),
});

export type Settings = z.output<typeof settingsSchema>;

import { z } from "zod";
import { alertSettings } from "./alert-settings.ts";
import { cloudSettings } from "./cloud-settings.ts";
import {
  apiKey,
  egressEntries,
  flag,
  fraction,
  hostNames,
  httpUrl,
  httpUrls,
  milliseconds,
  name,
  number,
  positive,
  trustedProxies,
  vendorKey,
  webOrigins,
  words,
} from "./setting-types.ts";

/**
 * Every setting: its name in the environment, its type, its default, one line of documentation. One that is absent or
 * empty takes its default.
 */
export const settingsSchema = z.object({
  HOST: z.string().default("0.0.0.0").describe("Address to listen on; `dev` uses 127.0.0.1."),
  PORT: number.min(0).max(65_535).default(8080).describe("Port to listen on; 0 takes a free one."),
  ALLOWED_HOSTS: hostNames
    .prefault("")
    .describe("Comma list of host names this server answers to; empty answers to any."),
  CORS_ORIGINS: webOrigins
    .prefault("")
    .describe(
      "Comma list of origins whose pages may call this server from a browser, such as https://app.example.com; * is any, empty is none.",
    ),
  TRUST_PROXY: trustedProxies
    .prefault("0")
    .describe(
      "Proxies whose X-Forwarded-For tells the client's address: how many stand in front, or a comma list of their addresses and CIDR ranges; 0 believes none.",
    ),
  DATA_DIR: z.string().default("./data").describe("Folder of everything the service writes."),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe("PostgreSQL 15 or newer; unset uses the embedded database under DATA_DIR."),
  DB_POOL_MAX: positive
    .default(10)
    .describe("Connections to PostgreSQL for callers; the gateway itself takes up to five more."),
  DB_POOL_WAIT_MS: milliseconds
    .default(2_000)
    .describe("Longest wait for the database before a call answers 503."),
  APP_SECRET: z
    .string()
    .min(16, "must have at least 16 characters")
    .optional()
    .describe("Secret under which keys are hashed; unset keeps one in DATA_DIR/secret."),
  ADMIN_PASSWORD: z
    .string()
    .min(8, "must have at least 8 characters")
    .max(256, "must have at most 256 characters")
    .optional()
    .describe(
      "Password of the user admin, set at the first start; unset makes one up and prints it once.",
    ),
  SESSION_LIFETIME_HOURS: positive
    .max(8_760)
    .default(12)
    .describe("Hours after which a login ends."),
  BOOTSTRAP_API_KEY: apiKey
    .optional()
    .describe("An API key to create at start, unlimited, owned by the administrator."),
  BOOTSTRAP_API_KEY_PASSTHROUGH: flag
    .prefault("0")
    .describe("1 gives that key passthrough, as coding agents need it with OpenAI's models."),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be an address such as redis://127.0.0.1:6379" })
    .optional()
    .describe(
      "Redis or Valkey that holds the limits of several replicas; unset allows one replica.",
    ),
  INSTANCE_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .optional()
    .describe("Name of this replica; unset makes one up."),
  LLM_BACKEND: z
    .enum(["vllm", "ollama"])
    .default("ollama")
    .describe("Kind of the local engine: vllm (any OpenAI-compatible server) or ollama."),
  LLM_BASE_URL: httpUrls
    .optional()
    .describe(
      "Address of the local engine, or a comma list of several that serve the same models; defaults to http://127.0.0.1:8000 (vllm) or http://127.0.0.1:11434 (ollama).",
    ),
  LLM_API_KEY: z.string().min(1).optional().describe("Bearer token for the local engine."),
  LLM_REQUEST_TIMEOUT: positive
    .max(86_400)
    .default(600)
    .describe("Seconds a call to an engine may take."),
  LLM_CONTEXT_LENGTH: positive
    .default(32_768)
    .describe("Tokens of context Ollama is asked to hold, at most what the model has."),
  MODELS_FILE: name
    .optional()
    .describe("JSON file that says of single models what they can do; see the README."),
  MODEL_FALLBACKS: words
    .prefault("")
    .describe("Comma list of models to try, in this order, when the one asked for cannot answer."),
  ...cloudSettings,
  EMBEDDING_BASE_URL: httpUrl
    .optional()
    .describe("Address of the server that embeds; defaults to the local engine."),
  EMBEDDING_API_KEY: vendorKey.describe(
    "Bearer token for EMBEDDING_BASE_URL; the local engine's key goes to the local engine alone.",
  ),
  EMBEDDING_MODEL: name
    .optional()
    .describe("Embedding model for a missing or unknown name; unset takes the engine's first."),
  SPEECH_BASE_URL: httpUrl
    .optional()
    .describe(
      "Address of the OpenAI-compatible server that transcribes; defaults to the local engine.",
    ),
  SPEECH_API_KEY: vendorKey.describe(
    "Bearer token for SPEECH_BASE_URL; the local engine's key goes to the local engine alone.",
  ),
  EGRESS_ALLOW: egressEntries
    .prefault("")
    .describe(
      "Comma list of private hosts, addresses or CIDR ranges that addresses given by clients may point to.",
    ),
  GATEWAY_REQUEST_TIMEOUT: positive
    .max(86_400)
    .optional()
    .describe("Seconds a client's call may take; defaults to LLM_REQUEST_TIMEOUT."),
  GATEWAY_RETRIES: number
    .min(0)
    .max(5)
    .default(1)
    .describe("Retries of a refused or overloaded engine before the first byte."),
  DEFAULT_CHAT_MODEL: z
    .string()
    .min(1)
    .optional()
    .describe("Model for a missing or unknown name; unset takes the first local chat model."),
  DEFAULT_MAX_OUTPUT_TOKENS: positive
    .default(8_192)
    .describe("Output tokens asked for when the client names no limit."),
  STREAM_IDLE_TIMEOUT_MS: milliseconds
    .default(300_000)
    .describe("Silence of the engine that ends a call."),
  STREAM_KEEPALIVE_MS: milliseconds
    .default(8_000)
    .describe("Silence after which a stream gets a keepalive."),
  SLOW_CLIENT_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("How long a client may stop reading before its stream ends."),
  // With what main.ts adds to it, a timer has to hold it.
  DRAIN_TIMEOUT_MS: milliseconds
    .max(86_400_000)
    .default(30_000)
    .describe("How long open streams may go on after SIGTERM."),
  GATEWAY_MAX_BODY_BYTES: positive.default(32 * 1024 * 1024).describe("Largest JSON body."),
  GATEWAY_MAX_AUDIO_BYTES: positive
    .default(25 * 1024 * 1024)
    .describe("Largest body of a transcription."),
  RESPONSES_MEMORY_MB: number
    .min(0)
    .max(65_536)
    .default(64)
    .describe(
      "Megabytes of answers of /v1/responses that are remembered for an hour, in memory only; 0 remembers none.",
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
      "When usage reaches the disk's platter: never forced, in groups behind the answers, or before each answer ends.",
    ),
  LICENSE_FILE: name
    .optional()
    .describe("License file, read at start; defaults to DATA_DIR/license.lic."),
  LICENSE_PUBLIC_KEY: name
    .optional()
    .describe(
      "Key that licenses are verified with instead of the built-in one, with ALLOW_LICENSE_PUBLIC_KEY only; base64url.",
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
    .describe("Days that everything goes on after a license's expiry."),
  LICENSE_WARN_DAYS: positive
    .max(3_650)
    .optional()
    .describe("Days before the expiry at which a warning begins; unset warns only afterwards."),
  LICENSE_RECHECK_INTERVAL_SEC: positive
    .max(86_400)
    .default(3_600)
    .describe("Seconds between two looks at the license and the clock."),
  ...alertSettings,
  OUTBOX_BACKOFF_SCALE: fraction
    .positive()
    .max(10)
    .default(1)
    .describe("Factor of the pauses between tries to deliver an event; below 1 for tests."),
  OUTBOX_TRY_TIMEOUT_MS: milliseconds
    .min(1_000)
    .max(300_000)
    .default(15_000)
    .describe("Longest time of one try to deliver an event."),
  ALLOW_TEST_CLOCK: flag
    .prefault("0")
    .describe("1 lets TEST_CLOCK_FILE move the clock, for tests; refused under a real license."),
  TEST_CLOCK_FILE: name
    .optional()
    .describe(
      "File with the seconds to add to the clock, with ALLOW_TEST_CLOCK only; `60 elapsed` lets time pass too.",
    ),
  // Each day is a partition: a query over all of them takes six locks a day, and PostgreSQL has room for some thousand.
  USAGE_RETENTION_DAYS: positive
    .max(730)
    .default(90)
    .describe("Days that single usage rows are kept; sums by day stay."),
  WATCH_DIRS: words
    .prefault("")
    .describe(
      "Comma list of folders whose files fire file.uploaded and file.deleted when they come, change or go.",
    ),
  WATCH_INTERVAL_MS: milliseconds
    .default(2_000)
    .describe(
      "Pause between two looks at a watched folder; one of very many files makes it longer.",
    ),
  WATCH_SETTLE_MS: milliseconds
    .default(5_000)
    .describe(
      "How long the size and time of a watched file must stay the same before it counts; network file systems need 4000 or more.",
    ),
  WATCH_ANSWER_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("Longest wait for an answer of a watched folder before it counts as away."),
  METRICS_ENABLED: flag.prefault("0").describe("1 serves figures for a scraper at /metrics."),
  METRICS_TOKEN: z
    .string()
    .min(16, "must have at least 16 characters")
    .optional()
    .describe(
      "Bearer token that /metrics asks for, of 16 characters or more; unset lets anybody read it.",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe("Address of an OpenTelemetry collector (OTLP over HTTP); unset traces nothing."),
  OTEL_EXPORTER_OTLP_HEADERS: name
    .optional()
    .describe("Headers for the collector, as name=value in a comma list."),
  OTEL_SERVICE_NAME: name
    .default("inference-gateway")
    .describe("Name under which traces are shown."),
  GATEWAY_DOCS_ENABLED: flag.prefault("1").describe("Show /v1/docs and /v1/openapi.json."),
  LOG_LEVEL: z
    .enum(["fatal", "error", "warn", "info", "debug", "silent"])
    .default("info")
    .describe("Least severe log line written."),
  DEV_API_KEY: apiKey
    .optional()
    .describe("Set by `dev`: the key it prints. It replaces the one of the run before."),
});

/** The settings as the program uses them. */
export type Settings = z.output<typeof settingsSchema>;

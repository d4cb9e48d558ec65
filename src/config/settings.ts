import { z } from "zod";

/** Every setting: its name in the environment, its type, its default, one line of documentation. */
const positive = z.coerce.number().int().positive();
const milliseconds = positive.max(2_147_483_647);
const flag = z
  .enum(["1", "0", "true", "false"])
  .transform((word) => word === "1" || word === "true");
const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ""));
const words = z.string().transform((list) =>
  list
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean),
);

const apiKey = z
  .string()
  .regex(/^sk-[\x21-\x7e]{17,509}$/, "must start with sk- and have 20 to 512 characters");

/** A setting that is absent or empty takes its default. */
export const settingsSchema = z.object({
  HOST: z.string().default("0.0.0.0").describe("Address to listen on; `dev` uses 127.0.0.1."),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .describe("Port to listen on; 0 takes a free one."),
  ALLOWED_HOSTS: words
    .prefault("")
    .transform((names) => names.map((name) => name.toLowerCase()))
    .describe("Comma list of host names this server answers to; empty answers to any."),
  DATA_DIR: z.string().default("./data").describe("Folder of everything the service writes."),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe("PostgreSQL 15 or newer; unset uses the embedded database under DATA_DIR."),
  DB_POOL_MAX: positive.default(10).describe("Connections to PostgreSQL."),
  DB_POOL_WAIT_MS: milliseconds
    .default(2_000)
    .describe("Longest wait for the database before a call answers 503."),
  APP_SECRET: z
    .string()
    .min(16)
    .optional()
    .describe("Secret under which keys are hashed; unset keeps one in DATA_DIR/secret."),
  BOOTSTRAP_API_KEY: apiKey
    .optional()
    .describe("An API key to create at start, unlimited, owned by the administrator."),
  INSTANCE_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .optional()
    .describe("Name of this replica; unset makes one up."),
  LLM_BACKEND: z
    .enum(["vllm", "ollama"])
    .default("ollama")
    .describe("Kind of the local engine: vllm (any OpenAI-compatible server) or ollama."),
  LLM_BASE_URL: httpUrl
    .optional()
    .describe(
      "Address of the local engine; defaults to http://127.0.0.1:8000 (vllm) or http://127.0.0.1:11434 (ollama).",
    ),
  LLM_API_KEY: z.string().min(1).optional().describe("Bearer token for the local engine."),
  LLM_REQUEST_TIMEOUT: positive
    .max(86_400)
    .default(600)
    .describe("Seconds a call to an engine may take."),
  LLM_CONTEXT_LENGTH: positive
    .default(32_768)
    .describe("Tokens of context Ollama is asked to hold, at most what the model has."),
  GATEWAY_REQUEST_TIMEOUT: positive
    .max(86_400)
    .optional()
    .describe("Seconds a client's call may take; defaults to LLM_REQUEST_TIMEOUT."),
  GATEWAY_RETRIES: z.coerce
    .number()
    .int()
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
  DRAIN_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("How long open streams may go on after SIGTERM."),
  GATEWAY_MAX_BODY_BYTES: positive.default(32 * 1024 * 1024).describe("Largest JSON body."),
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

/** Names of earlier releases. They are ignored; the start says so once. */
export const RETIRED_SETTINGS: readonly RegExp[] = [
  /^MAX_PDF_PAGES$/,
  /^CLOUD_DEFAULT_MAX_TOKENS$/,
  /^SESSION_RAG_/,
  /^RAG_DEFAULT_/,
  /^BOT_RAG_TOP_K$/,
  /^RAG_GROUNDING_INSTRUCTION$/,
];

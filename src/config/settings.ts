import { z } from "zod";

/** Every setting: its name in the environment, its type, its default, one line of documentation. */
const number = z.coerce
  .number({ error: ({ code }) => (code === "invalid_type" ? "must be a number" : undefined) })
  .int();
const positive = number.positive();
const milliseconds = positive.max(2_147_483_647);
const flag = z
  .enum(["1", "0", "true", "false"])
  .transform((word) => word === "1" || word === "true");
const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an address such as http://127.0.0.1:8000" })
  .transform((url) => url.replace(/\/+$/, ""));
const httpUrls = z
  .string()
  .transform((list) => list.split(",").map((url) => url.trim()))
  .pipe(z.array(httpUrl).min(1));
const words = z.string().transform((list) =>
  list
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean),
);

const name = z.string().min(1);
const vendorKey = name.optional();

const apiKey = z
  .string()
  .regex(/^sk-[\x21-\x7e]{17,509}$/, "must start with sk- and have 20 to 512 characters");

/** A setting that is absent or empty takes its default. */
export const settingsSchema = z.object({
  HOST: z.string().default("0.0.0.0").describe("Address to listen on; `dev` uses 127.0.0.1."),
  PORT: number.min(0).max(65_535).default(8080).describe("Port to listen on; 0 takes a free one."),
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
  BOOTSTRAP_API_KEY_PASSTHROUGH: flag
    .prefault("0")
    .describe("1 gives that key passthrough, as coding agents need it with OpenAI's models."),
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
  OPENAI_API_KEY: vendorKey.describe("Key for OpenAI; without it none of its models is listed."),
  OPENAI_BASE_URL: httpUrl
    .default("https://api.openai.com/v1")
    .describe("Address of OpenAI's interface, with its version."),
  OPENAI_MODELS: words.prefault("").describe("Comma list of OpenAI's chat models to offer."),
  OPENAI_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that OpenAI is sent, such as stop or seed."),
  ANTHROPIC_API_KEY: vendorKey.describe(
    "Key for Anthropic; without it none of its models is listed.",
  ),
  ANTHROPIC_BASE_URL: httpUrl
    .default("https://api.anthropic.com")
    .describe("Address of Anthropic's interface, without its version."),
  ANTHROPIC_MODELS: words.prefault("").describe("Comma list of Anthropic's models to offer."),
  ANTHROPIC_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that Anthropic is sent, such as stop."),
  GEMINI_API_KEY: vendorKey.describe("Key for Gemini; without it none of its models is listed."),
  GEMINI_BASE_URL: httpUrl
    .default("https://generativelanguage.googleapis.com/v1beta")
    .describe("Address of Gemini's interface, with its version."),
  GEMINI_MODELS: words.prefault("").describe("Comma list of Gemini's chat models to offer."),
  GEMINI_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that Gemini is sent, such as stop or seed."),
  COMPATIBLE_API_KEY: vendorKey.describe(
    "Key for the OpenAI-compatible cloud; without it none of its models is listed.",
  ),
  COMPATIBLE_BASE_URL: httpUrl
    .default("https://api.mistral.ai/v1")
    .describe(
      "Address of the OpenAI-compatible cloud, with its version: Mistral, xAI, DeepSeek, Groq, OpenRouter and others.",
    ),
  COMPATIBLE_VENDOR: z
    .enum(["mistral", "groq", "other"])
    .optional()
    .describe(
      "Whose habits the OpenAI-compatible cloud has: mistral, groq or other; unset goes by the name of its host.",
    ),
  COMPATIBLE_MODELS: words
    .prefault("")
    .describe("Comma list of the OpenAI-compatible cloud's chat models to offer."),
  COMPATIBLE_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that the OpenAI-compatible cloud is sent."),
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
  EGRESS_ALLOW: words
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
  DRAIN_TIMEOUT_MS: milliseconds
    .default(30_000)
    .describe("How long open streams may go on after SIGTERM."),
  GATEWAY_MAX_BODY_BYTES: positive.default(32 * 1024 * 1024).describe("Largest JSON body."),
  GATEWAY_MAX_AUDIO_BYTES: positive
    .default(25 * 1024 * 1024)
    .describe("Largest body of a transcription."),
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

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import type { EngineName } from "../../../simulator/options.ts";
import type { Script } from "../../../simulator/script.ts";
import type { Backend, Model } from "../../../src/backends/backend.ts";
import type { Cloud } from "../../../src/backends/models/trait-table.ts";
import { fitOutput } from "../../../src/backends/rules/fit-output.ts";
import { createOllama } from "../../../src/backends/vendors/ollama.ts";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { EFFORTS } from "../../../src/core/chat/effort.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/lib/json/json.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { chatRequest, collect, MODEL, never, upstreamAt } from "../support.ts";
import { cloudAt, cloudModel } from "../vendors/cloud-calls.ts";

interface Engine {
  readonly engine: EngineName;
  readonly models: readonly string[];
  /** What follows the simulator's address. */
  readonly version?: string;
  readonly cloud?: Cloud;
}

const ENGINES: readonly Engine[] = [
  { engine: "vllm", models: ["sim-chat", "sim-thinker"] },
  { engine: "ollama", models: ["sim-chat", "sim-thinker"] },
  {
    engine: "openai",
    cloud: "openai",
    version: "/v1",
    models: ["gpt-4o", "o3", "gpt-5.2", "gpt-6", "gpt-5-pro"],
  },
  {
    engine: "anthropic",
    cloud: "anthropic",
    models: ["claude-haiku-4-5", "claude-opus-4-1", "claude-opus-4-8", "claude-opus-5-5"],
  },
  {
    engine: "gemini",
    cloud: "google",
    version: "/v1beta",
    models: ["gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro"],
  },
  {
    engine: "compatible",
    cloud: "compatible",
    version: "/v1",
    models: ["grok-4", "deepseek-reasoner", "openrouter/auto"],
  },
];

/** Every name by which some server takes a limit of the answer, or more than one answer. */
const LIMITS = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "max_new_tokens",
  "maxOutputTokens",
  "num_predict",
  "n_predict",
  "min_tokens",
] as const;
const COUNTS = ["n", "best_of", "candidateCount"] as const;

/** A client's fields that ask for more by every name, at the top and where Ollama has its options. */
const HOSTILE: JsonObject = {
  ...Object.fromEntries(LIMITS.map((name) => [name, 90_000])),
  ...Object.fromEntries(COUNTS.map((name) => [name, 5])),
  options: { num_predict: 90_000, num_ctx: 90_000 },
  thinking: { type: "enabled", budget_tokens: 90_000 },
};

/** All values of a member, at whatever depth. */
function valuesOf(name: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesOf(name, item));
  if (!isJsonObject(value)) return [];
  const own = Object.hasOwn(value, name) ? [value[name] ?? null] : [];
  return [...own, ...Object.values(value).flatMap((member) => valuesOf(name, member))];
}

/** The limits that a call tells its engine. */
function limitsOf({ body }: LedgerEntry): readonly JsonValue[] {
  const call = JSON.parse(body ?? "") as JsonValue;
  for (const name of COUNTS) expect([name, valuesOf(name, call)]).toEqual([name, []]);
  return LIMITS.filter((name) => name !== "min_tokens").flatMap((name) => valuesOf(name, call));
}

function isCall({ method, path }: LedgerEntry): boolean {
  return method === "POST" && !/tokenize|ount_?[tT]okens|\/show$/.test(path);
}

describe.each(ENGINES)("An answer of $engine", ({ engine, models, version = "", cloud }) => {
  let simulator: TestSimulator;
  beforeAll(async () => {
    simulator = await startSimulator({ engine });
  });
  afterEach(() => simulator.reset());
  afterAll(() => simulator.stop());

  function backendOf(): Backend {
    const upstream = upstreamAt(simulator.url + version);
    if (engine === "vllm") return createVllm(upstream);
    if (engine === "ollama") return createOllama(upstream, 32_768);
    const headers = { ...upstream.headers, "x-api-key": "k", "x-goog-api-key": "k" };
    // An operator may let every field through that clients send.
    const forward = Object.keys(HOSTILE).filter((name) => name !== "options");
    return cloudAt(cloud as Cloud, simulator.url, { upstream: { ...upstream, headers }, forward });
  }

  function modelOf(id: string): Model {
    return cloud === undefined
      ? { ...MODEL, id, backend: engine, thinking: id !== "sim-chat" }
      : cloudModel(cloud, id);
  }

  /** Asks as the pipeline does, and tells the calls that the engine got. A refusal is as good as an answer here. */
  async function ask(id: string, request: ChatRequest, ...scripts: Script[]) {
    const backend = backendOf();
    const model = modelOf(id);
    const options = { signal: never(), defaultMaxOutputTokens: 8_192 };
    simulator.reset();
    simulator.script(...scripts);
    const fitted = await fitOutput(request, { backend, model }, options);
    await collect(backend.chat(fitted.request, model, options)).catch(() => undefined);
    return simulator.ledger().filter(isCall);
  }

  function leastOf(id: string): number {
    return backendOf().leastOutputTokens?.(modelOf(id)) ?? 1;
  }

  it.each(models)("%s has no more tokens than are reserved for it", async (id) => {
    for (const reserved of [leastOf(id), 100, 1_025, 5_000]) {
      for (const request of requestsUnder(reserved)) expectWithin(await ask(id, request), reserved);
    }
  });

  it.each(models)("%s has no more of them at a second try", async (id) => {
    for (const message of refusalsOf(id)) {
      const request = chatRequest({ effort: "high", reservedOutputTokens: 200, parameters: {} });
      const body = { error: { message, type: "invalid_request_error", code: null } };
      expectWithin(await ask(id, request, { respond: { status: 400, body } }), 200);
    }
  });

  it.each(models)("%s is left as it was where nothing is reserved", async (id) => {
    const [entry] = await ask(id, chatRequest({ stream: false, parameters: {} }));
    expect(limitsOf(entry as LedgerEntry)).toEqual(
      engine === "gemini" ? [] : [Math.min(8_192, modelOf(id).maxOutputTokens ?? 8_192)],
    );
  });
});

function requestsUnder(reservedOutputTokens: number): readonly ChatRequest[] {
  const requests: ChatRequest[] = [];
  for (const maxOutputTokens of [undefined, 3, 1_000_000]) {
    for (const effort of [undefined, ...EFFORTS]) {
      for (const extra of [undefined, HOSTILE]) {
        const parameters = { maxOutputTokens, extra };
        requests.push(chatRequest({ effort, parameters, reservedOutputTokens }));
      }
    }
  }
  return requests;
}

/** What makes engines of one kind or another be asked again, otherwise. */
function refusalsOf(model: string): readonly string[] {
  return [
    "reasoning_effort is not supported by this model",
    "chat_template is not supported for Mistral tokenizers",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    `"${model}" does not support thinking`,
    "Extra inputs are not permitted",
    "missing `reasoning_content` in the assistant's turn",
    "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (4000 in the messages, 200 in the completion).",
    "prompt is too long: 4200 tokens > 4096 maximum",
  ];
}

function expectWithin(calls: readonly LedgerEntry[], most: number): void {
  expect(calls.length).toBeGreaterThan(0);
  for (const entry of calls) {
    const limits = limitsOf(entry);
    expect([limits.length, entry.body]).toEqual([1, entry.body]);
    expect(Number(limits[0]), entry.body).toBeLessThanOrEqual(most);
  }
}
